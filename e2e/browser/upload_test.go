//go:build browser

package browser

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"warranty.example/svc/e2e/lab"
)

// TestUploadShowsHowFarItIs uploads over a slow connection and checks the progress bar.
func TestUploadShowsHowFarItIs(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	b := s.visitor(t)
	b.signIn(t, s.account(t, "uploader"), lab.Password)
	b.openNew(t)
	b.fill(t, "#product_name", "Slow kettle", "#start_date", "2024-01-01", "#end_date", "2099-12-31")
	b.press(t, "Save warranty")
	large := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(large, bytes.Repeat([]byte("Bought in May.\n"), 200_000), 0o600); err != nil {
		t.Fatal(err)
	}
	b.mustOpen(t, "/documents/new")
	b.fill(t, "#file", large)
	b.line(t, 500_000)
	b.do(t, chromedp.Click(chromedp.CSS("main form .btn.primary")))
	b.until(t, `(p => p?.checkVisibility() && p.value > 0 && p.value < p.max)(document.querySelector("progress"))`)
	if !eval[bool](t, b, `document.querySelector("main form .btn.primary").disabled`) {
		t.Error("the button is not disabled")
	}
	b.line(t, -1)
	b.until(t, `location.search === "?done=uploaded" && document.readyState === "complete"`)
	b.mustShow(t, "Document uploaded.", "notes.txt", "2.9 MiB")
	b.mustBeQuiet(t)

	// A refused upload is shown on the form, which can be sent again.
	b.mustOpen(t, "/documents/new")
	b.fill(t, "#file", receipt(t, "receipt.exe"))
	b.do(t, chromedp.Click(chromedp.CSS("main form .btn.primary")))
	b.until(t, `!!document.querySelector("main form .wrong")`)
	b.fill(t, "#file", receipt(t, "receipt.pdf"))
	b.press(t, "Upload")
	b.mustShow(t, "Document uploaded.", "receipt.pdf")
	if got := b.path(t); !strings.HasPrefix(got, "/warranties/") {
		t.Errorf("the upload led to %s", got)
	}
	b.mustBeQuiet(t, 422)
}

// line limits the upload throughput of the tab, in bytes per second.
func (b *tab) line(t testing.TB, bytes float64) {
	t.Helper()
	slow := network.EmulateNetworkConditionsByRuleParams{
		MatchedNetworkConditions: []*network.Conditions{{DownloadThroughput: -1, UploadThroughput: bytes}},
	}
	if _, err := chromedp.Call(b.ctx, network.EmulateNetworkConditionsByRule, slow); err != nil {
		t.Fatal(err)
	}
}
