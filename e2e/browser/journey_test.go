//go:build browser

package browser

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"warranty.example/svc/e2e/lab"
	"warranty.example/svc/internal/testenv"
)

// receipt writes a small PDF file.
func receipt(t testing.TB, name string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte("%PDF-1.4\n1 0 obj\n<< /Type /Catalog >>\nendobj\ntrailer\n<< /Root 1 0 R >>\n%%EOF\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestJourney follows a warranty from registration to transfer, with each user in a browser of
// their own.
func TestJourney(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	ada, seller, buyer := s.visitor(t), s.person(t, halden), s.person(t, nora)
	product := fmt.Sprint("Espresso machine ", time.Now().UnixNano())
	email := fmt.Sprintf("ada%d@people.example", time.Now().UnixNano())

	// Ada creates an account and verifies the address.
	ada.mustOpen(t, "/warranties") // leads to sign-in
	ada.click(t, `a[href^="/register"]`)
	ada.fill(t, "#name", "Ada Byron", "#email", email, "#password", lab.Password)
	ada.press(t, "Create account")
	ada.mustShow(t, "Verify your email address", email)
	code, err := s.Mailed(email, "Confirm your email address")
	if err != nil {
		t.Fatal(err)
	}
	ada.fill(t, "#code", strings.ToLower(code))
	ada.press(t, "Verify")
	ada.mustOpen(t, "/settings/profile")
	ada.mustShow(t, "Verified")

	// She creates a warranty with a keyboard shortcut and uploads the receipt.
	ada.leads(t, keys("n"))
	ada.showAllFields(t)
	ada.fill(t, "#product_name", product, "#start_date", today(-30), "#end_date", today(700), "#category", "Appliances", "#serial_number", "EM-4711",
		"#seller_name", "Halden Electronics", "#seller_email", haldenSells, "#description", "With a grinder.\nTwo years.")
	ada.press(t, "Save warranty")
	ada.mustShow(t, "Warranty created.", product, "EM-4711", "In force", "With a grinder.")
	record := strings.SplitN(ada.path(t), "?", 2)[0]
	reference := eval[string](t, ada, `document.querySelector('a[href^="/verify/"]').pathname.split("/").pop()`)
	ada.click(t, `a[href^="/documents/new?warranty_id="]`)
	ada.fill(t, "#type", "receipt", "#file", receipt(t, "receipt.pdf"))
	ada.press(t, "Upload")
	ada.mustShow(t, "Document uploaded.", "receipt.pdf")
	ada.mustOpen(t, "/")
	ada.mustShow(t, "Ada Byron uploaded a document\n"+product, "Ada Byron created the warranty\n"+product, "just now · web")
	ada.mustOpen(t, record)

	// The seller confirms that it sold it.
	seller.mustOpen(t, "/confirmations")
	seller.mustShow(t, "To confirm", product, "Ada Byron")
	seller.press(t, "Confirm "+product)
	if strings.Contains(seller.text(t), product) {
		t.Error("what was confirmed still waits")
	}

	// She files a claim, and the seller approves it.
	ada.press(t, "File a claim")
	ada.fill(t, "#type", "repair", "#incident_date", today(-2), "#description", "It leaks from below.")
	ada.press(t, "File claim")
	ada.mustShow(t, "Claim filed.", "Submitted", "It leaks from below.")
	claim := strings.SplitN(ada.path(t), "?", 2)[0]
	seller.mustOpen(t, "/claims?status=submitted")
	seller.open(t, eval[string](t, seller, fmt.Sprintf(`[...document.querySelectorAll("tbody tr")].find(r => r.innerText.includes(%q)).querySelector("a[href^='/claims/']").pathname`, product)))
	if got := seller.path(t); got != claim {
		t.Fatalf("the seller is at %s and the claim at %s", got, claim)
	}
	seller.fill(t, "#body", "A known fault of this series.")
	seller.press(t, "Approve claim")
	seller.mustShow(t, "Approved", "A known fault of this series.")
	ada.mustOpen(t, claim)
	ada.mustShow(t, "Approved", "A known fault of this series.", "Halden Electronics")

	// The list updates while she types, and its address holds the search.
	ada.mustOpen(t, "/warranties")
	ada.do(t, chromedp.Focus(chromedp.CSS("#q")), keys(strings.ToLower(product)))
	ada.until(t, `location.search.includes("espresso") && document.querySelectorAll("#rows tbody tr").length === 1`)
	ada.do(t, keys("xyz"))
	ada.until(t, `document.querySelector("#rows").innerText.includes("No warranties match")`)
	ada.mustBeQuiet(t)

	// She sells it: the new owner accepts the transfer with the code.
	ada.mustOpen(t, record)
	eval[bool](t, ada, `(document.querySelector("[name=documents]").checked = true)`)
	ada.offer(t, nora)
	ada.mustShow(t, "Transfer offered", nora, "Documents that go along: 1.")
	offered := eval[string](t, ada, `document.querySelector("#code").textContent`)
	buyer.mustOpen(t, "/take")
	buyer.fill(t, "#code", offered)
	buyer.press(t, "Continue")
	buyer.mustShow(t, product, "A person, not a business", "receipt.pdf")
	buyer.click(t, `form[action="/take/confirm"] button`)
	buyer.mustOpen(t, record)
	buyer.mustShow(t, product, "receipt.pdf", "became the owner")
	buyer.mustOpen(t, record+"/edit")
	// Ada recorded it herself, so she keeps nothing.
	if status := ada.open(t, record); status != http.StatusNotFound {
		t.Errorf("the previous owner gets %d", status)
	}

	// Anyone can verify it. The form accepts any spelling of the reference and detects a wrong
	// character.
	passerBy := s.visitor(t)
	passerBy.mustOpen(t, "/verify")
	mistyped := []byte(reference)
	mistyped[5] = map[bool]byte{true: 'X', false: 'Y'}[mistyped[5] != 'X']
	passerBy.fill(t, "#reference", string(mistyped))
	if status := passerBy.press(t, "Check"); status != http.StatusUnprocessableEntity {
		t.Errorf("a mistyped reference: %d", status)
	}
	passerBy.mustShow(t, "This reference number has a typing error")
	spelled := strings.NewReplacer("-", " ", "0", "o", "1", "l").Replace(strings.ToLower(strings.TrimPrefix(reference, "WR-")))
	passerBy.fill(t, "#reference", "  "+spelled)
	passerBy.press(t, "Check")
	passerBy.mustShow(t, "Not ended yet, according to its owner", "Confirmed by", product, reference)
	for _, private := range []string{"Nora", "leaks", "EM-4711", "receipt.pdf"} {
		if text := passerBy.text(t); strings.Contains(text, private) {
			t.Errorf("the public page shows %q:\n%s", private, text)
		}
	}
	passerBy.mustBeQuiet(t, http.StatusUnprocessableEntity)

	ada.mustBeQuiet(t, http.StatusNotFound)
	tokenStory(t, s, ada)
	ada.mustBeQuiet(t)
	seller.mustBeQuiet(t)
	buyer.mustBeQuiet(t)
}

// tokenStory generates a token, uses it, checks that the use is shown, and rotates and revokes it.
func tokenStory(t *testing.T, s *site, ada *tab) {
	t.Helper()
	run := func(secret string) (string, error) {
		cmd := exec.Command(lab.Svc(), "warranties", "list")
		cmd.Env = []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "SVC_API_KEY=" + secret, "SVC_BASE_URL=" + s.URL + "/api/v1",
		}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	mustRun := func(secret string) {
		t.Helper()
		if out, err := run(secret); err != nil {
			t.Fatalf("svc: %v\n%s", err, out)
		}
	}
	mustNotRun := func(secret string) {
		t.Helper()
		if out, err := run(secret); err == nil {
			t.Fatalf("svc could use an invalid token:\n%s", out)
		}
	}
	name := "laptop"

	ada.leads(t, keys("g"), keys("s"))
	ada.leads(t, chromedp.Click(chromedp.CSS(`main a[href="/settings/api"]`)))
	ada.do(t, chromedp.Click(chromedp.CSS(`.head [data-open="#new"]`)), chromedp.WaitVisible(chromedp.CSS("dialog[open] #name")))
	ada.fill(t, "#name", name, `input[value="claims:read"]`, "true", `input[name="expires_in_days"][value="30"]`, "true")
	ada.click(t, "dialog[open] .btn.primary")
	first := eval[string](t, ada, `document.querySelector("#secret").textContent`)
	ada.mustShow(t, "Copy your token now", "Waiting for the first request")
	if strings.Contains(ada.path(t), first) {
		t.Error("the secret is in the address")
	}
	mustRun(first)
	ada.until(t, `document.querySelector("#first").innerText.includes("Received")`)
	ada.mustShow(t, "GET /api/v1/warranties")

	// The settings show its use, but never the secret.
	ada.mustOpen(t, "/settings/api")
	ada.mustShow(t, "1 of 20 active tokens", name, "just now")
	if strings.Contains(eval[string](t, ada, "document.documentElement.outerHTML"), first) {
		t.Error("the secret is shown a second time")
	}

	// Rotating replaces the secret.
	ada.do(t, chromedp.Click(chromedp.CSS(`[data-open^="#rotate-"]`)), chromedp.WaitVisible(chromedp.CSS("dialog[open]")))
	ada.click(t, "dialog[open] .btn.primary")
	second := eval[string](t, ada, `document.querySelector("#secret").textContent`)
	if second == first {
		t.Fatal("rotated to the same secret")
	}
	mustNotRun(first)
	mustRun(second)
	ada.until(t, `document.querySelector("#first").innerText.includes("Received")`)

	ada.mustOpen(t, "/settings/api")
	ada.do(t, chromedp.Click(chromedp.CSS(`[data-open^="#revoke-"]`)), chromedp.WaitVisible(chromedp.CSS("dialog[open]")), keys(kb.Escape))
	ada.until(t, `!document.querySelector("dialog[open]")`) // cancelled
	mustRun(second)
	ada.do(t, chromedp.Click(chromedp.CSS(`[data-open^="#revoke-"]`)), chromedp.WaitVisible(chromedp.CSS("dialog[open]")))
	ada.click(t, "dialog[open] .btn.danger")
	ada.mustShow(t, "Token revoked.", "Revoked", "0 of 20 active tokens")
	mustNotRun(second)
	testenv.Wait(t, "the requests are listed", func() bool {
		ada.mustOpen(t, "/settings/api/requests")
		return strings.Count(ada.text(t), "GET /api/v1/warranties") >= 3
	})
}

// today returns the date in a number of days.
func today(days int) string { return time.Now().UTC().AddDate(0, 0, days).Format(time.DateOnly) }
