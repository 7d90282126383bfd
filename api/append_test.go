package api

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// TestAppendedJSONIsTheSame compares appendWarranty with reflection. It fails if a field
// is missing there.
func TestAppendedJSONIsTheSame(t *testing.T) {
	testenv.Property(t, func(t *rapid.T) {
		page := warranty.Page[warranty.Warranty]{Data: rapid.SliceOfN(rapid.Custom(anyWarranty), 0, 3).Draw(t, "data"),
			Pagination: warranty.Pagination{Page: rapid.Int().Draw(t, "page"), Limit: 20, Total: rapid.Int64().Draw(t, "total"),
				TotalPages: 7}}
		same(t, page)
		for _, w := range page.Data {
			same(t, w)
		}
	})
}

func same(t *rapid.T, v any) {
	ours, err := AppendJSON([]byte("x"), v)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := reflectJSON([]byte("x"), v)
	if err != nil {
		t.Fatal(err)
	}
	if string(ours) != string(theirs) {
		t.Fatalf("by hand:    %s\nreflection: %s", ours, theirs)
	}
}

func anyWarranty(t *rapid.T) warranty.Warranty {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", `"\/`, "\x00\x1f\x7f\u2028\u2029", "<script>&amp;", "日本 🧰", "\b\f\n\r\t"}))
	optional := func(name string) *string { return rapid.Ptr(text, true).Draw(t, name) }
	instant := func(name string) time.Time {
		return time.UnixMicro(rapid.Int64Range(0, 4e15).Draw(t, name)).UTC()
	}
	w := warranty.Warranty{ReferenceNumber: warranty.Reference(text.Draw(t, "reference")), ProductName: text.Draw(t, "product"), Description: optional("description"),
		SerialNumber: optional("serial"), Category: optional("category"), Supplier: optional("supplier"), SellerName: optional("seller"), SellerEmail: optional("email"),
		StartDate: warranty.FromEpochDay(rapid.Int64Range(-10000, 2932896).Draw(t, "start")), EndDate: warranty.FromEpochDay(rapid.Int64Range(-10000, 2932896).Draw(t, "end")),
		Status: warranty.Status(text.Draw(t, "status")), DaysRemaining: rapid.Ptr(rapid.Int(), true).Draw(t, "days"),
		ClaimCount: rapid.Ptr(rapid.Int64(), true).Draw(t, "claims"),
		Roles:      anyRoles(t), VerifyURL: text.Draw(t, "url"), WebURL: text.Draw(t, "page"), ClaimURL: text.Draw(t, "claim"), UploadURL: text.Draw(t, "upload"), CreatedAt: instant("created"), UpdatedAt: instant("updated"),
		Version: 3, Replay: true}
	copy(w.ID[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
	return w
}

// anyRoles generates roles, including unknown ones.
func anyRoles(t *rapid.T) warranty.Roles {
	roles := warranty.RolesOf(rapid.Int64Range(0, 7).Draw(t, "roles"))
	for _, name := range rapid.SliceOfN(rapid.SampledFrom([]warranty.Role{"auditor", `"`, "a,b", "<é>"}), 0, 2).Draw(t, "unknown roles") {
		roles = roles.With(name)
	}
	return roles
}

func BenchmarkAppendPage(b *testing.B) {
	text := "Bosch Serie 6 washing machine"
	page := warranty.Page[warranty.Warranty]{Data: make([]warranty.Warranty, 50)}
	for i := range page.Data {
		page.Data[i] = warranty.Warranty{ProductName: text, Category: &text, SerialNumber: &text, StartDate: 800000,
			EndDate: 800700, Status: warranty.Active, CreatedAt: time.Now(), UpdatedAt: time.Now()}
	}
	for name, fn := range map[string]func([]byte, any) ([]byte, error){"hand": AppendJSON, "reflection": reflectJSON} {
		b.Run(name, func(b *testing.B) {
			buffer := make([]byte, 0, 1<<16)
			for b.Loop() {
				if _, err := fn(buffer, page); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
