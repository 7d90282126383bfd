package operate

import (
	"io/fs"
	"testing"
)

// TestPermissionsOfTheServiceUser decides by owner, group and others, as the system does.
func TestPermissionsOfTheServiceUser(t *testing.T) {
	u := serviceUser{owner: owner{100, 200}, groups: []int{200, 201}}
	for _, c := range []struct {
		of         owner
		mode, want fs.FileMode
		may        bool
	}{
		{owner{100, 0}, 0o600, mayChange, true},
		{owner{100, 0}, 0o400, mayChange, false},
		{owner{100, 200}, 0o066, mayChange, false}, // the owner's bits decide
		{owner{0, 201}, 0o640, mayRead, true},
		{owner{0, 201}, 0o640, mayChange, false},
		{owner{0, 201}, 0o604, mayRead, false}, // the group's bits decide
		{owner{0, 0}, 0o644, mayRead, true},
		{owner{0, 0}, 0o600, mayRead, false},
		{owner{0, 0}, 0o755, mayUse, false},
		{owner{0, 0}, 0o711, mayEnter, true},
	} {
		if got := u.may(c.of, c.mode, c.want); got != c.may {
			t.Errorf("%v %o %o: %v", c.of, c.mode, c.want, got)
		}
	}
}

func TestPathsAreQuotedForAShell(t *testing.T) {
	for path, want := range map[string]string{
		"/srv/svcd": "/srv/svcd", "/srv/my data": "'/srv/my data'", "/a'b": `'/a'\''b'`, "/a;b": "'/a;b'",
	} {
		if got := quoteArg(path); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
}
