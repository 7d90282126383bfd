package e2e

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"warranty.example/svc/e2e/lab"
	"warranty.example/svc/internal/config"
)

// TestScripts runs testdata/*.txtar. In addition to testscript's commands they have:
//
//	serve [flags]           starts svcd in $WORK on $url and waits until it is ready;
//	                        it writes server.out and server.log; without flags, its
//	                        database has the schema
//	setup                   makes the first administrator with the link that svcd printed
//	terminate               SIGTERM; svcd must exit with status 0
//	crash                   kill -9
//	exits N command…        runs a command that must exit with status N
//	http STATUS METHOD PATH [Header:value…] [JSON or @FILE]
//	                        calls the service; stdout is the body, stderr the headers.
//	                        $names in the request are expanded.
//	want PATH VALUE         compares a value of the last body: want data.0.status active
//	save NAME PATH          saves a value of the last body as $NAME
//	capture NAME REGEXP FILE  saves the first group of a match in a file as $NAME
//	mailed NAME EMAIL SUBJECT  saves the code in an email to an address as $NAME
//	parses [json|ndjson|csv] [FILE]  checks the format of the last stdout or of a file;
//	                        JSON, on one line, becomes the body for want and save
//	pretend STATUS MEDIA-TYPE FILE   starts a service on $pretend that always sends this response
//	terminal N [-cols=C] [-after=REGEXP [-hidden] -type=FILE] command…  is exits in a terminal
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{Dir: "testdata", RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			tb := env.T().(testing.TB)
			address := lab.FreeAddress(tb)
			env.Setenv("PATH", lab.Binaries+string(os.PathListSeparator)+os.Getenv("PATH"))
			env.Setenv("SVC_LISTEN", address)
			env.Setenv("url", "http://"+address)
			s := &script{dir: env.WorkDir, t: tb}
			env.Values[scriptKey{}] = s
			env.Defer(s.end)
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"serve":     command(serve),
			"setup":     command(func(ts *testscript.TestScript, s *script, _ []string) { ts.Check(s.running(ts).SetUp()) }),
			"terminate": command(func(ts *testscript.TestScript, s *script, _ []string) { ts.Check(s.running(ts).Stop()) }),
			"crash":     command(func(ts *testscript.TestScript, s *script, _ []string) { s.running(ts).Kill() }),
			"exits":     command(exits),
			"http":      command(request),
			"want":      command(want),
			"save":      command(save),
			"capture":   command(capture),
			"mailed":    command(mailed),
			"parses":    command(parses),
			"pretend":   command(pretend),
			"terminal":  command(terminal),
		}})
}

// script is the state of one script.
type script struct {
	t      testing.TB
	dir    string
	server *lab.Process
	last   lab.Answer
}

type scriptKey struct{}

func command(do func(*testscript.TestScript, *script, []string)) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg {
			ts.Fatalf("this command cannot be negated")
		}
		do(ts, ts.Value(scriptKey{}).(*script), args)
	}
}

func (s *script) end() {
	if s.server != nil {
		s.server.Kill()
	}
}

func (s *script) running(ts *testscript.TestScript) *lab.Process {
	if s.server == nil {
		ts.Fatalf("no server was started")
	}
	return s.server
}

func serve(ts *testscript.TestScript, s *script, args []string) {
	s.end()
	var env []string
	for _, setting := range config.Table() {
		if v := ts.Getenv(setting.Env); v != "" {
			env = append(env, setting.Env+"="+v)
		}
	}
	if len(args) == 0 && ts.Getenv("SVC_DATA")+ts.Getenv("SVC_DATABASE")+ts.Getenv("SVC_DEMO") == "" {
		ts.Check(lab.Migrated(s.t, s.dir))
	}
	var err error
	s.server, err = lab.Launch(s.dir, env, append([]string{lab.Svcd()}, args...)...)
	ts.Check(err)
}

func exits(ts *testscript.TestScript, _ *script, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: exits N command…")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit status %d, want %s", code, args[0])
	}
}

func request(ts *testscript.TestScript, s *script, args []string) {
	if len(args) < 3 {
		ts.Fatalf("usage: http STATUS METHOD PATH [Header:value…] [JSON or @FILE]")
	}
	c := lab.Call{Method: args[1], Path: args[2], Header: map[string]string{}}
	for _, arg := range args[3:] {
		file, isFile := strings.CutPrefix(arg, "@")
		name, value, isHeader := strings.Cut(arg, ":")
		switch {
		case isFile:
			c.Body = os.Expand(ts.ReadFile(file), ts.Getenv)
		case strings.HasPrefix(arg, "{"):
			c.Body = os.Expand(arg, ts.Getenv)
		case isHeader:
			c.Header[name] = strings.TrimSpace(value)
		default:
			ts.Fatalf("%q is not a header, JSON or @FILE", arg)
		}
	}
	var err error
	s.last, err = s.running(ts).Try(c)
	ts.Check(err)
	fmt.Fprintln(ts.Stdout(), s.last.Body)
	writeHeader(ts, s.last.Header)
	if strconv.Itoa(s.last.Status) != args[0] {
		ts.Fatalf("status %d, want %s", s.last.Status, args[0])
	}
}

func writeHeader(ts *testscript.TestScript, h http.Header) {
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, value := range h[name] {
			fmt.Fprintf(ts.Stderr(), "%s: %s\n", name, value)
		}
	}
}

func want(ts *testscript.TestScript, s *script, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: want PATH VALUE")
	}
	got, err := s.last.At(args[0])
	ts.Check(err)
	if got != args[1] {
		ts.Fatalf("%s is %q, want %q", args[0], got, args[1])
	}
}

func save(ts *testscript.TestScript, s *script, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: save NAME PATH")
	}
	v, err := s.last.At(args[1])
	ts.Check(err)
	ts.Setenv(args[0], v)
}

func capture(ts *testscript.TestScript, _ *script, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: capture NAME REGEXP FILE")
	}
	found := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile(args[2]))
	if len(found) != 2 {
		ts.Fatalf("%s does not match %s", args[2], args[1])
	}
	ts.Setenv(args[0], found[1])
}

func mailed(ts *testscript.TestScript, s *script, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: mailed NAME EMAIL SUBJECT")
	}
	code, err := s.running(ts).Mailed(args[1], args[2])
	ts.Check(err)
	ts.Setenv(args[0], code)
}
