// Package svc_test tests the module as a whole: which packages may import which, and
// that the documents match the code.
package svc_test

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "warranty.example/svc"

// arrows lists the packages of this module that a package may import. A package without
// a line fails the test: add a line here and a sentence in ARCHITECTURE.md.
var arrows = map[string]string{
	"warranty": "internal/locales",
	"api":      "warranty",
	"client":   "api warranty",

	"internal/config":       "internal/files internal/limit internal/listen internal/mail internal/netaddr internal/store/engine",
	"internal/listen":       "",
	"internal/certs":        "internal/store warranty",
	"internal/netaddr":      "",
	"internal/man":          "",
	"internal/locales":      "",
	"internal/plural":       "",
	"internal/version":      "",
	"internal/terminal":     "",
	"internal/credentials":  "api warranty",
	"internal/signin":       "api client internal/credentials warranty",
	"internal/limit":        "internal/netaddr",
	"internal/mail":         "internal/locales internal/netaddr internal/plural warranty",
	"internal/files":        "internal/netaddr internal/picture warranty",
	"internal/find":         "warranty",
	"internal/store":        "internal/find internal/store/engine internal/store/lists warranty",
	"internal/store/lists":  "internal/find internal/store/engine warranty",
	"internal/store/engine": "internal/netaddr warranty",
	"internal/archive":      "internal/files internal/store internal/store/engine warranty",
	"internal/picture":      "",
	"internal/service":      "api internal/files internal/identity internal/limit internal/mail internal/picture internal/store warranty",
	"internal/rest":         "api warranty",
	"internal/skills":       "",
	"internal/mcp":          "api internal/skills warranty",
	"internal/sheet":        "api warranty",
	"internal/pages":        "warranty",
	"internal/cli":          "api client internal/credentials internal/man internal/pages internal/sheet internal/signin internal/terminal warranty",
	"internal/describe":     "api internal/skills warranty",
	"internal/paper":        "",
	"internal/upload":       "api internal/service warranty",
	"internal/outbound":     "internal/netaddr",
	"internal/identity":     "internal/netaddr warranty",
	"internal/oauth":        "api internal/netaddr internal/rest internal/service warranty",
	"internal/jobs":         "internal/pages internal/service internal/sheet internal/store warranty",
	"internal/web/view":     "api internal/locales internal/paper internal/plural internal/service warranty",
	"internal/web":          "api internal/describe internal/find internal/jobs internal/pages internal/paper internal/service internal/sheet internal/upload internal/web/view warranty",
	"internal/server":       "api internal/describe internal/jobs internal/limit internal/mcp internal/netaddr internal/oauth internal/rest internal/service internal/upload internal/web warranty",
	"internal/demo":         "internal/mail internal/service internal/store warranty",
	"internal/operate":      "internal/archive internal/certs internal/config internal/files internal/identity internal/listen internal/mail internal/outbound internal/service internal/store internal/terminal internal/version warranty",

	"cmd/svcd":    "internal/certs internal/config internal/demo internal/jobs internal/limit internal/listen internal/man internal/operate internal/server internal/service internal/version",
	"cmd/svc":     "internal/cli internal/version",
	"cmd/svc-mcp": "api client internal/credentials internal/describe internal/mcp internal/signin internal/version warranty", // describe makes the tools' schemas

	// Packages for tests. The lines above keep other packages from importing them.
	"internal/testenv":               "",
	"internal/identity/identitytest": "",
	"internal/openapitest":           "",
	"internal/servertest":            "api internal/describe internal/files internal/identity internal/jobs internal/limit internal/openapitest internal/server internal/service internal/store internal/testenv warranty",
}

// homes lists the packages that may import a library. A name includes all packages below
// it. Tests may import any library.
var homes = map[string]string{
	"database/sql":                        "internal/servertest",
	"github.com/jackc/pgx/v5":             "internal/store/engine internal/servertest internal/testenv",
	"github.com/ncruces/go-sqlite3":       "internal/store/engine internal/servertest",
	"github.com/redis/go-redis/v9":        "internal/limit",
	"github.com/go-json-experiment":       "api",
	"github.com/minio/minio-go/v7":        "internal/files",
	"filippo.io/age":                      "internal/archive",
	"github.com/wneessen/go-mail":         "internal/mail",
	"github.com/google/go-cmp":            "internal/servertest",
	"pgregory.net/rapid":                  "internal/testenv",
	"github.com/santhosh-tekuri":          "internal/openapitest",
	"github.com/modelcontextprotocol":     "internal/mcp internal/server", // the server asks for the versions of the protocol
	"github.com/prometheus/client_golang": "internal/server",
	"github.com/go-webauthn":              "internal/identity",
	"github.com/coreos/go-oidc":           "internal/identity",
	"golang.org/x/term":                   "internal/terminal",
	"golang.org/x/oauth2":                 "internal/identity internal/signin",
	"golang.org/x/sys":                    "internal/credentials",
	"github.com/itchyny/gojq":             "internal/cli",
	"github.com/BurntSushi/toml":          "internal/config",
	"rsc.io/qr":                           "internal/paper internal/web/view",
	"codeberg.org/go-pdf/fpdf":            "internal/paper",
	"golang.org/x/image":                  "internal/paper internal/picture",
}

// noDatabase are the programs that use the service over HTTP and must not link databases.
var (
	noDatabase = []string{"cmd/svc", "cmd/svc-mcp"}
	databases  = []string{"database/sql", "github.com/jackc", "github.com/ncruces", "modernc.org", "zombiezen.com", module + "/internal/store"}
)

// listed is a package in the output of go list.
type listed struct {
	ImportPath string
	Standard   bool
	GoFiles    []string
	Imports    []string
	Deps       []string
}

// known caches the output of go list by its arguments.
var known = map[string]map[string]listed{}

// list returns the packages that go list prints, by their path in the module.
func list(t *testing.T, flags ...string) map[string]listed {
	t.Helper()
	key := strings.Join(flags, " ")
	if known[key] == nil {
		known[key] = goList(t, flags...)
	}
	return known[key]
}

func goList(t *testing.T, flags ...string) map[string]listed {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Standard,GoFiles,Imports,Deps"}, flags...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	packages := map[string]listed{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages[inside(p.ImportPath)] = p
	}
}

// inside returns a package's path in the module; other import paths are unchanged.
func inside(importPath string) string {
	if importPath == module {
		return "."
	}
	return strings.TrimPrefix(importPath, module+"/")
}

// below reports whether a package is the named one or below it.
func below(importPath, name string) bool {
	return importPath == name || strings.HasPrefix(importPath, name+"/")
}

func TestImportsGoDown(t *testing.T) {
	for name, p := range list(t, "./...") {
		if len(p.GoFiles) == 0 { // only tests, like this package
			continue
		}
		allowed, listed := arrows[name]
		if !listed {
			t.Errorf("%s has no line in arrows", name)
			continue
		}
		for _, imported := range p.Imports {
			if below(imported, module) && !slices.Contains(strings.Fields(allowed), inside(imported)) {
				t.Errorf("%s imports %s; it may import: %s", name, inside(imported), allowed)
			}
		}
	}
}

// TestArrowsHaveNoCircle checks the table itself: Go refuses import cycles, but not
// cycles of allowed imports.
func TestArrowsHaveNoCircle(t *testing.T) {
	left := maps.Clone(arrows)
	for removed := true; removed; {
		removed = false
		for name, allowed := range left {
			if !slices.ContainsFunc(strings.Fields(allowed), func(to string) bool { _, ok := left[to]; return ok }) {
				delete(left, name)
				removed = true
			}
		}
	}
	for name, allowed := range left {
		t.Errorf("%s is in a cycle, or above one: it may import %s", name, allowed)
	}
	for name, allowed := range arrows {
		for _, to := range strings.Fields(allowed) {
			if _, ok := arrows[to]; !ok {
				t.Errorf("%s may import %s, which has no line in arrows", name, to)
			}
		}
	}
}

func TestLibrariesStayAtHome(t *testing.T) {
	for name, p := range list(t, "./...") {
		for _, imported := range p.Imports {
			for library, home := range homes {
				if below(imported, library) && !slices.Contains(strings.Fields(home), name) {
					t.Errorf("%s imports %s; only these packages may: %s", name, imported, home)
				}
			}
		}
	}
}

// TestOnlyTestsDoNotSync: no program opens a database whose acknowledged writes a power cut may lose.
func TestOnlyTestsDoNotSync(t *testing.T) {
	callers := 0
	for name, p := range list(t, "./...") {
		for _, file := range p.GoFiles {
			text, err := os.ReadFile(path.Join(name, file))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(text), "OpenUnsynced(") || name == "internal/store" {
				continue
			}
			if callers++; name != "internal/servertest" {
				t.Errorf("%s calls OpenUnsynced, which is for tests", name)
			}
		}
	}
	if callers == 0 {
		t.Error("internal/servertest does not call OpenUnsynced: the check does not work")
	}
}

func TestVocabularyUsesTheStandardLibraryAlone(t *testing.T) {
	for name, p := range list(t, "-deps", "./warranty") {
		if name != "warranty" && name != "internal/locales" && !p.Standard {
			t.Errorf("warranty depends on %s", name)
		}
	}
}

func TestClientsLinkNoDatabase(t *testing.T) {
	for _, program := range noDatabase {
		if _, err := os.Stat(path.Join(program, "main.go")); errors.Is(err, os.ErrNotExist) {
			continue // does not exist
		}
		for _, dependency := range list(t, "./"+program)[program].Deps {
			for _, database := range databases {
				if below(dependency, database) {
					t.Errorf("%s links %s", program, dependency)
				}
			}
		}
	}
	// The server does link databases, so the check works.
	if !slices.ContainsFunc(list(t, "./cmd/svcd")["cmd/svcd"].Deps, func(d string) bool { return below(d, databases[0]) }) {
		t.Error("svcd links no database: the check does not work")
	}
}

// TestOnlyTestsWeakenPasswords checks that no program sets the cost of passwords, which is a field of
// Service for tests.
func TestOnlyTestsWeakenPasswords(t *testing.T) {
	users := []string{"internal/service", "internal/servertest"}
	seen := 0
	for name, p := range list(t, "./...") {
		for _, file := range p.GoFiles {
			text := read(t, path.Join(name, file))
			if !strings.Contains(text, "PasswordCost") {
				continue
			}
			if seen++; !slices.Contains(users, name) {
				t.Errorf("%s in %s uses PasswordCost", file, name)
			}
		}
	}
	if seen == 0 {
		t.Error("no file uses PasswordCost: the check does not work")
	}
}

// TestPropertiesAreRepeatable checks that tests of properties go through testenv, which gives them a fixed seed in CI: luck
// must not decide whether a change lands.
func TestPropertiesAreRepeatable(t *testing.T) {
	direct, seen := "rapid."+"Check(", 0
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") {
			return err
		}
		switch text := read(t, name); {
		case !strings.Contains(text, direct):
		case name == filepath.Join("internal", "testenv", "long.go"):
			seen++
		default:
			t.Errorf("%s calls %s) instead of testenv.Property", name, direct)
		}
		return nil
	})
	if err != nil || seen == 0 {
		t.Errorf("the check does not work: %v", err)
	}
}
