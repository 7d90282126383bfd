//go:build browser

package browser

import (
	"testing"

	"warranty.example/svc/e2e/lab"
)

// TestNewWarrantyOnAPhone adds a warranty with its receipt in one form, on every width, with script and without.
func TestNewWarrantyOnAPhone(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	scripted := s.visitor(t)
	scripted.signIn(t, s.account(t, "newcomer"), lab.Password)
	for name, b := range map[string]*tab{"script": scripted, "no-script": scripted.withoutScript(t)} {
		for _, width := range []int64{390, 768, 1024, 1440} {
			b.look(t, "light", width)
			b.mustOpen(t, "/warranties/new")
			if name == "script" && eval[string](t, b, `document.activeElement.id`) != "product_name" {
				t.Errorf("the first field does not have the focus at %d", width)
			}
			b.fill(t, "#product_name", "Washing machine", "[name=length][value='36']", "true", "[name=file]", receipt(t, "receipt.pdf"))
			b.mustNotScrollSideways(t, width)
			b.snap(t, "new-"+name, width)
			b.press(t, "Save warranty")
			b.mustShow(t, "Warranty created.", "Washing machine", "receipt.pdf")
			b.mustNotScrollSideways(t, width)
			b.snap(t, "created-"+name, width)
		}
	}
	scripted.mustBeQuiet(t)
}
