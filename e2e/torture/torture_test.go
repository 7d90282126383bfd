package main

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"warranty.example/svc/internal/testenv"
)

// some are the planted faults that test runs look for: the first one in every run, and the others in a long one.
var some = []string{"access-row", "revoke-late"}

var every = flag.Bool("plants", false, "look for every planted fault instead of a selection")

// TestPlantedFaultsAreFound builds faults into the service. The harness must find each
// one, with the correct kind of finding.
func TestPlantedFaultsAreFound(t *testing.T) {
	folder := scratch(t)
	planted := filepath.Join(folder, "svcd")
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if err := buildPlanted(root, folder, planted); err != nil {
		t.Fatal(err)
	}
	for _, p := range plants {
		if p.scenario == "" || !*every && !slices.Contains(some[:testenv.Times(1, len(some))], p.name) {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			s := scenarios[slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == p.scenario })]
			if lacks := missing(s.needs...); len(lacks) > 0 || s.root && os.Geteuid() != 0 {
				t.Skipf("%s needs root and %v", s.name, s.needs)
			}
			if s.shape.postgres {
				testenv.Postgres(t) // skips the test without PostgreSQL
			}
			h := &harness{
				svcd:    planted,
				config:  filepath.Join(root, "docs/haproxy.cfg"),
				scratch: folder,
				disk:    folder,
				env:     []string{"SVC_PLANTED=" + p.name},
				figures: newFigures(),
			}
			var found []finding
			for try := uint64(0); try < 6 && len(found) == 0; try++ {
				if found, err = h.search(t.Context(), s, 1+try, 4); err != nil {
					t.Fatal(err)
				}
			}
			if len(found) == 0 {
				t.Fatalf("%s: nothing was found", p.what)
			}
			for _, f := range found {
				if slices.Contains(p.finds, f.what) {
					return
				}
			}
			t.Errorf("%s: found %s: %s: %s, want %s",
				p.what, found[0].what, found[0].subject, found[0].detail, strings.Join(p.finds, " or "))
		})
	}
}

// scratch returns a folder that PostgreSQL's user can access.
func scratch(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "torture")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) }) // temporary files
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	return folder
}
