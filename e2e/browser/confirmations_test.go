//go:build browser

package browser

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"warranty.example/svc/e2e/lab"
)

// TestManyConfirmationsInTheBrowser declines some of what waits for a seller, takes it back, and confirms the page.
func TestManyConfirmationsInTheBrowser(t *testing.T) {
	t.Parallel()
	s := openUndrawn(t)
	session := s.session(t, nora, s.passwords[nora])
	for i := range 3 {
		s.Want(t, 201, lab.Call{Method: "POST", Path: "/api/v1/warranties", Secret: session, Body: map[string]string{
			"product_name": fmt.Sprint("Confirmed lamp ", i), "seller_email": haldenSells, "start_date": "2026-01-01", "end_date": "2099-01-01"}})
	}
	b := s.person(t, halden)
	b.mustOpen(t, "/confirmations")
	waiting := eval[int](t, b, `document.querySelectorAll("[name=selected]").length`)
	for i := range 2 {
		b.do(t, chromedp.Click(chromedp.CSS(fmt.Sprintf(`tbody tr:nth-of-type(%d) [name=selected]`, i+1))))
	}
	b.press(t, "Decline selected")
	b.mustShow(t, "2 of 2 warranties declined.", "You can undo this until")
	b.mustPassAxeAt(t, "declined", 390, 1440)
	b.snap(t, "confirmations-declined", 390, 1440)
	b.press(t, "Undo")
	b.mustShow(t, "2 of 2 warranties changed back.")
	if got := eval[int](t, b, `document.querySelectorAll("[name=selected]").length`); got != waiting {
		t.Errorf("%d wait after the undo, not %d", got, waiting)
	}
	b.press(t, fmt.Sprintf("Confirm all %d on this page", waiting))
	b.mustShow(t, fmt.Sprintf("%[1]d of %[1]d warranties confirmed.", waiting), "Emails are sent then.", "Nothing is waiting for you.")
	b.snap(t, "confirmations-confirmed", 390, 1440)
	b.press(t, "Undo")
	b.mustShow(t, fmt.Sprintf("%[1]d of %[1]d warranties changed back.", waiting))
}
