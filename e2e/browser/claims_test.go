//go:build browser

package browser

import (
	"testing"
)

// TestClaimsAreConversationsInTheBrowser replies as the owner and decides as the business, and looks at both pages
// and the list at every width.
func TestClaimsAreConversationsInTheBrowser(t *testing.T) {
	t.Parallel()
	s := openUndrawn(t)
	nora, halden := s.person(t, nora), s.person(t, halden)
	const claim = `td a[href^="/claims/"]`
	open := func(b *tab, list string) {
		t.Helper()
		b.mustOpen(t, list)
		b.mustOpen(t, eval[string](t, b, "document.querySelector('"+claim+"').pathname"))
	}
	open(nora, "/claims?status=info_requested")
	nora.mustShow(t, "Waiting for you", "Please send a photo of the serial plate.", "Send reply")
	path := nora.path(t)
	nora.snap(t, "claim-owner", 390, 768, 1024, 1440)
	nora.press(t, "Send reply")
	nora.mustShow(t, "Write a message.")
	nora.fill(t, "#body", "It is on the back.", "#file", photo(t, "serial-plate.png", 90))
	nora.until(t, `document.querySelector("#file").parentElement.textContent.includes("serial-plate.png")`) // the input is invisible
	nora.press(t, "Send reply")
	nora.mustShow(t, "Message sent.", "It is on the back.", "serial-plate.png", "Under review", "Back under review")
	halden.mustOpen(t, path)
	halden.mustShow(t, "Your decision", "It is on the back.", "Customer", "Nora", "Approve claim", "Ask for information", "Reject claim")
	halden.snap(t, "claim-business", 390, 768, 1024, 1440)
	halden.press(t, "Reject claim")
	halden.mustShow(t, "Write why you reject it.")
	halden.fill(t, "#body", "Not a fault of the product.")
	halden.press(t, "Reject claim")
	halden.mustShow(t, "Rejected", "Not a fault of the product.")
	nora.mustOpen(t, path)
	nora.mustShow(t, "Rejected", "Appeal")
	halden.mustOpen(t, "/claims?queue=waiting_for_us")
	halden.snap(t, "claims", 390, 768, 1024, 1440)
	halden.mustOpen(t, "/")
	halden.mustShow(t, "Today", "Review")
	halden.snap(t, "overview", 390, 768, 1024, 1440)
}
