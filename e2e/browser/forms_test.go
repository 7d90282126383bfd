//go:build browser

package browser

import (
	"testing"

	"warranty.example/svc/e2e/lab"
)

// TestButtonPressedTwice clicks a submit button three times: the form is sent once.
func TestButtonPressedTwice(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	b := s.visitor(t)
	b.signIn(t, s.account(t, "hasty"), lab.Password)
	b.openNew(t)
	b.fill(t, "#product_name", "Hasty kettle", "#start_date", "2024-01-01", "#end_date", "2099-12-31")
	b.press(t, "Save warranty")
	b.mustOpen(t, "/claims/new")
	b.fill(t, "#incident_date", "2025-01-01", "#description", "It leaks from the lid.")
	sent := eval[int](t, b, `(button => {
		let sent = 0;
		addEventListener("submit", event => { if (!event.defaultPrevented) sent++ });
		for (let i = 0; i < 3; i++) button.click();
		return sent;
	})(document.querySelector("main form .btn.primary"))`)
	if sent != 1 {
		t.Errorf("the form was sent %d times", sent)
	}
	b.until(t, `location.search === "?done=filed" && document.readyState === "complete"`)
	b.mustOpen(t, "/claims")
	if n := eval[int](t, b, `document.querySelectorAll("tbody tr").length`); n != 1 {
		t.Errorf("%d claims were filed", n)
	}
	b.mustBeQuiet(t)
}
