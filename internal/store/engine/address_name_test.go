package engine

import "testing"

// TestConnectionsHaveAName: pg_stat_activity shows svcd, unless the URL names the application.
func TestConnectionsHaveAName(t *testing.T) {
	for url, want := range map[string]string{
		"postgres://svc@db/svc":                       "svcd",
		"postgres://svc@db/svc?application_name=shop": "shop",
	} {
		config, err := ParsePostgres(url)
		if err != nil {
			t.Fatal(err)
		}
		if got := config.ConnConfig.RuntimeParams["application_name"]; got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
}
