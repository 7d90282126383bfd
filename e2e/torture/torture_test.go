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

// some are those that every run of the tests looks for.
var some = []string{"file-sync", "access-row", "total", "revoke-late"}

var every = flag.Bool("plants", false, "look for every planted fault, not only for some")

// TestPlantedFaultsAreFound builds faults into the service: the harness must find
// each one, and call it what it is.
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
		if p.scenario == "" || !*every && !slices.Contains(some, p.name) {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			s := scenarios[slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == p.scenario })]
			if lacks := missing(s.needs...); len(lacks) > 0 || s.root && os.Geteuid() != 0 {
				t.Skipf("%s needs root and %v", s.name, s.needs)
			}
			if s.shape.postgres {
				testenv.Postgres(t) // is there one
			}
			b := &bench{svcd: planted, config: filepath.Join(root, "docs/haproxy.cfg"), scratch: folder, env: []string{"SVC_PLANTED=" + p.name}, figures: newFigures()}
			b.disk = b.scratch
			var found []finding
			for try := uint64(0); try < 6 && len(found) == 0; try++ {
				if found, err = b.hunt(t.Context(), s, 1+try, 4); err != nil {
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
			t.Errorf("%s: found %s: %s: %s, and not %s", p.what, found[0].what, found[0].subject, found[0].detail, strings.Join(p.finds, " or "))
		})
	}
}

// scratch is a folder that PostgreSQL's user can reach, too.
func scratch(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "torture")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) }) // what is left is in a temporary folder
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	return folder
}
