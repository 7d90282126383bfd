package cli

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// newer is a service with statuses, roles, types, scopes, fields and codes that this
// client does not know.
func newer(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	list := func(record string) { fmt.Fprint(w, page(record)) }
	name := `"warranty_id":"` + id + `","warranty":{"id":"` + id +
		`","reference_number":"WR-7K2M-9QXT-4D8P-HV3A","product_name":"Kettle"}`
	switch r.URL.Path {
	case "/api/v1/warranties", "/api/v1/warranties/" + id:
		record := strings.NewReplacer(`"active"`, `"frozen"`, `["owner","issuer"]`, `["owner","auditor"]`,
			`"days_remaining":411`, `"days_remaining":null,"colour":"red"`).Replace(record(`"Kettle"`))
		if strings.HasSuffix(r.URL.Path, id) {
			fmt.Fprint(w, `{"data":`+record+`}`)
			return
		}
		list(record)
	case "/api/v1/claims":
		list(`{"id":"` + id + `","claim_number":"CL-1",` + name + `,"type":"loan","description":"d",
			"incident_date":"2026-01-01","status":"escalated","status_reason":null,"resolution":"voucher","resolution_note":null,
			"replacement_serial_number":null,"created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z",
			"resolved_at":null}`)
	case "/api/v1/documents":
		list(`{"id":"` + id + `",` + name +
			`,"claim_id":null,"file_name":"f.glb","type":"hologram","content_type":"model/gltf","size_bytes":1,` +
			`"sha256":"","created_at":"2026-01-01T00:00:00Z"}`)
	case "/api/v1/auth/status":
		fmt.Fprint(w, `{"data":{"user":{"id":"`+id+`","name":"Ada","email":"a@b.example","email_verified":true,
			"created_at":"2026-01-01T00:00:00Z"},"credential":"oauth","token":null,
			"scopes":["warranties:read","reports:read"],"rate_limit_per_minute":100,"expires_at":"2027-01-01T00:00:00Z"}}`)
	default:
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprint(w,
			`{"type":"x","title":"Teapot","status":418,"code":"short_and_stout","detail":"Use a kettle.","request_id":"r-1"}`)
	}
}

// TestNewerServiceIsShownAsItIs (C8) prints unknown values in every output format.
func TestNewerServiceIsShownAsItIs(t *testing.T) {
	for command, wants := range map[string][]string{
		"warranties list":      {"frozen"},
		"warranties get " + id: {"frozen", "auditor"},
		"warranties export":    {"frozen", "owner auditor"},
		"claims list":          {"escalated", "loan"},
		"documents list":       {"hologram"},
		"auth status":          {"oauth", "reports:read"},
	} {
		for _, form := range []string{"table", "json", "csv", "ndjson"} {
			t.Run(command+" "+form, func(t *testing.T) {
				if command == "warranties export" && form == "table" {
					t.Skip("exports have no table format")
				}
				d := newHarness(t, http.HandlerFunc(newer))
				d.columns = 200
				d.want(exitOK, append(strings.Fields(command), "-o", form)...)
				for _, want := range wants {
					if form == "json" || form == "ndjson" {
						want = strings.ReplaceAll(want, "owner auditor", `["owner","auditor"]`)
					}
					if !strings.Contains(d.stdout, want) {
						t.Errorf("%s is not in %s", want, d.stdout)
					}
				}
				if strings.HasSuffix(form, "json") && strings.HasPrefix(command, "warranties") &&
					!strings.Contains(d.stdout, `"colour":"red"`) {
					t.Errorf("the unknown field is not in %s", d.stdout)
				}
			})
		}
	}
	d := newHarness(t, http.HandlerFunc(newer))
	d.terminal = true
	d.want(exitUsage, "claims", "get", id)
	if !strings.Contains(d.stderr, "Teapot. Use a kettle.") || !strings.Contains(d.stderr, "short_and_stout") ||
		strings.Contains(d.stderr, "Try again") {
		t.Errorf("unknown code: %q", d.stderr)
	}
}
