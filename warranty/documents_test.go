package warranty_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"warranty.example/svc/warranty"
)

func upload(name string) warranty.UploadDocument {
	return warranty.UploadDocument{WarrantyID: warranty.WarrantyKey{ID: must(warranty.ParseID(sampleID))}, Type: warranty.Receipt, FileName: name}
}

func TestUploadCheck(t *testing.T) {
	in := warranty.UploadDocument{}
	expectFaults(t, in.Check(), "warranty_id required", "type required", "file required")
	for name, code := range map[string]string{
		"receipt.pdf":                    "",
		"Rechnung März 2026 (2).pdf":     "",
		"領収書.jpg":                        "",
		"no ending":                      "",
		"a.b.c.pdf":                      "",
		strings.Repeat("é", 200):         "",
		strings.Repeat("é", 201):         "too_long",
		"../../etc/passwd":               "invalid_name",
		`..\windows\system.ini`:          "invalid_name",
		"C:autoexec.bat":                 "invalid_name",
		"..":                             "invalid_name",
		".htaccess":                      "invalid_name",
		"receipt.pdf.":                   "invalid_name",
		`a".pdf`:                         "invalid_name",
		"a<b>.pdf":                       "invalid_name",
		"a|b.pdf":                        "invalid_name",
		"what?.pdf":                      "invalid_name",
		"*.pdf":                          "invalid_name",
		"a\nContent-Type: text/html.pdf": "forbidden_character",
		"a\x00.pdf":                      "forbidden_character",
		"\u202efdp.exe":                  "forbidden_character",
	} {
		t.Run(name, func(t *testing.T) {
			in := upload(name)
			got := faults(t, in.Check())
			if code == "" && got != nil || code != "" && !slices.Contains(got, "file "+code) {
				t.Errorf("%q: %v, want %q", name, got, code)
			}
		})
	}
}

func TestNameFor(t *testing.T) {
	for name, tc := range map[string]struct{ name, kind, want string }{ // "" means rejected
		"fits":               {"receipt.pdf", "application/pdf", "receipt.pdf"},
		"fits, capitals":     {"RECEIPT.PDF", "application/pdf", "RECEIPT.PDF"},
		"fits, other ending": {"photo.jpeg", "image/jpeg", "photo.jpeg"},
		"no ending":          {"receipt", "application/pdf", "receipt.pdf"},
		"no ending, photo":   {"photo", "image/jpeg", "photo.jpg"},
		"no ending, webp":    {"photo", "image/webp", "photo.webp"},
		"no ending, text":    {"terms", "text/plain", "terms.txt"},
		"dot in a sentence":  {"Mr. Smith's receipt", "image/png", "Mr. Smith's receipt.png"},
		"says otherwise":     {"photo.png", "image/jpeg", ""},
		"a program":          {"receipt.exe", "text/plain", ""},
		"a page":             {"receipt.html", "text/plain", ""},
		"a page in disguise": {"receipt.pdf.svg", "application/pdf", ""},
	} {
		t.Run(name, func(t *testing.T) {
			in := upload(tc.name)
			err := in.NameFor(tc.kind)
			if tc.want == "" {
				expectFaults(t, err, "file wrong_ending")
				return
			}
			expectFaults(t, err)
			if in.FileName != tc.want {
				t.Errorf("named %q, want %q", in.FileName, tc.want)
			}
		})
	}
}

// TestDocumentJSON compares the fields with the contract, section 6. None of them is a
// path or URL of the file.
func TestDocumentJSON(t *testing.T) {
	want := strings.Fields("id warranty_id claim_id warranty file_name type content_type size_bytes sha256 created_at web_url")
	slices.Sort(want)
	if diff := cmp.Diff(want, keys(t, warranty.Document{})); diff != "" {
		t.Errorf("fields (-contract +got):\n%s", diff)
	}
}
