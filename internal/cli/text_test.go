package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"warranty.example/svc/internal/testenv"
)

// hostile has texts that control terminals or mislead readers.
var hostile = []string{
	"\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\x1b]8;;http://evil\x07link\x1b]8;;\x07", "\x1b[2J\x1b[H",
	"\x1bP1$r\x1b\\", "\x1b_apc\x1b\\", "\x1b[?1049h",
	"\u009b31mC1", "\u009d0;title\u009c", "\u0090dcs", "a\x00b", "a\x07b", "a\bb", "a\x7fb", "a\rb", "a\nb", "a\tb",
	"a\vb", "a\fb", "\u0085nel",
	"\u202Egnp.exe", "\u202Dx", "\u2066x\u2069", "\u200Ehidden", "\u200Fhidden", "\u061Cx", "\u200Bzero", "\uFEFFbom",
	"\u2028line", "\u2029par", "\u2060x", "\u00ADsoft",
	"\U000E0001tag\U000E0041", "\xff\xfe", "\xc2", "\xed\xa0\x80", "ok \xf0\x9f",
}

func TestShownTextActsOnNothing(t *testing.T) {
	check := func(t *rapid.T, s string) {
		if got := safeLine(s); !utf8.ValidString(got) || strings.ContainsFunc(got, isUnsafe) {
			t.Fatalf("safeLine(%q) = %q", s, got)
		}
		got := safeLines(s)
		if !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool { return r != '\n' && isUnsafe(r) }) {
			t.Fatalf("safeLines(%q) = %q", s, got)
		}
	}
	testenv.Property(t, func(t *rapid.T) {
		check(t, rapid.OneOf(rapid.String(), rapid.SampledFrom(hostile),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "text"))
	})
	for s, want := range map[string]string{
		"plain": "plain", "Grüße, 你好, فارسی\u200cها": "Grüße, 你好, فارسی\u200cها", "👩\u200d🚀": "👩\u200d🚀",
		"\x1b[31m": `\x1b[31m`, "\u009b": `\u009b`, "\u202Ex": `\u202ex`, "a\xffb": `a\xffb`, "\uFFFD": "\uFFFD",
		"a\nb\tc": "a b c",
	} {
		if got := safeLine(s); got != want {
			t.Errorf("safeLine(%q) = %q, want %q", s, got, want)
		}
	}
}

func TestPlainJSONMeansTheSame(t *testing.T) {
	testenv.Property(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.SampledFrom(hostile)).Draw(t, "text")
		s = strings.ToValidUTF8(s, "?")
		var b strings.Builder
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(map[string]string{"text": s}); err != nil {
			t.Fatal(err)
		}
		plain := compactJSON([]byte(b.String()))
		if strings.ContainsFunc(string(plain), isUnsafe) {
			t.Fatalf("%q", plain)
		}
		var back map[string]string
		if err := json.Unmarshal(plain, &back); err != nil || back["text"] != s {
			t.Fatalf("%q came back as %q, %v", s, back["text"], err)
		}
	})
	if same := `{"a":"Grüße \u001b"}`; string(compactJSON([]byte(same))) != same {
		t.Error("safe JSON was changed")
	}
}

func TestFitIsExact(t *testing.T) {
	testenv.Property(t, func(t *rapid.T) {
		s := safeLine(rapid.String().Draw(t, "text"))
		columns := rapid.IntRange(1, 40).Draw(t, "columns")
		if got := width(fit(s, columns)); got != columns {
			t.Fatalf("fit(%q, %d) is %d wide", s, columns, got)
		}
	})
	for s, want := range map[string]int{"abc": 3, "你好": 4, "é": 1, "e\u0301": 1, "👍": 2, "●━": 2, "한국": 4} {
		if got := width(s); got != want {
			t.Errorf("%q is %d wide, want %d", s, got, want)
		}
	}
}

// TestRecordTextReachesNoTerminal prints hostile records in every format: tables,
// details, JSON, CSV and errors.
func TestRecordTextReachesNoTerminal(t *testing.T) {
	for _, text := range hostile {
		quoted, err := json.Marshal(strings.ToValidUTF8(text, "\u009b"))
		if err != nil {
			t.Fatal(err)
		}
		raw := strings.ToValidUTF8(text, "\u009b") // a hostile service does not escape
		unescaped := `"` + strings.Map(func(r rune) rune {
			if r < ' ' || r == '"' || r == '\\' {
				return -1
			}
			return r
		}, raw) + `"`
		for _, product := range []string{string(quoted), unescaped} {
			list := newHarness(t, answers(200, page(record(product))))
			one := newHarness(t, answers(200, `{"data":`+record(product)+`}`))
			refused := newHarness(t, answers(422, `{"type":"x","title":`+product+`,"status":422,`+
				`"code":"validation_failed","detail":`+product+`,"errors":[{"field":`+product+`,"code":"x",`+
				`"message":`+product+`}],"request_id":`+product+`}`))
			for _, d := range []*harness{list, one, refused} {
				for _, d.terminal = range []bool{true, false} {
					d.env["NO_COLOR"] = "1"
					for _, args := range [][]string{{}, {"--pretty"}, {"-o", "json"}, {"-o", "ndjson"}, {"-o", "table"}} {
						command := []string{"warranties", "list"}
						if d == one {
							command = []string{"warranties", "get", id}
						}
						d.svc(append(command, args...)...)
						for _, out := range []string{d.stdout, d.stderr} {
							if bad := strings.IndexFunc(out, func(r rune) bool { return r != '\n' && isUnsafe(r) }); bad >= 0 {
								t.Fatalf("%s of %q %v writes %q", command[1], text, args, out)
							}
						}
					}
				}
			}
			if len(list.stdout) == 0 || len(refused.stderr) == 0 {
				t.Fatal("nothing was written")
			}
		}
	}
}
