//go:build browser

package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestDailyWork does what professionals do every day: filters as chips, saved views, columns, saved replies and
// assignment, at every width, with and without scripts. It is not parallel: another test decides the claim.
func TestDailyWork(t *testing.T) {
	s := openUndrawn(t)
	clerk := s.person(t, ivar)
	clerk.mustOpen(t, "/")
	clerk.switchTo(t, "Brandt Home Appliances")
	claim := func() string {
		clerk.mustOpen(t, "/claims?sort=-created_at")
		return clerk.links(t, `td a[href^="/claims/"]`)[0]
	}()
	for i, width := range []int64{390, 768, 1024, 1440} {
		b, scripts := clerk, "with scripts"
		if i%2 == 1 {
			b, scripts = clerk.withoutScript(t), "without scripts"
		}
		b.look(t, "light", width)
		b.workWithList(t, fmt.Sprintf("Oven %d", width))
		b.workWithReplies(t, claim, fmt.Sprintf("Thanks %d", width))
		b.mustBeQuiet(t)
		t.Logf("%d px %s", width, scripts)
	}
}

func (b *tab) openDetails(t testing.TB, summary string) {
	t.Helper()
	b.do(t, chromedp.Click(fmt.Sprintf(`//details[not(@open)]/summary[normalize-space()=%q]`, summary), chromedp.NodeVisible))
}

// workWithList filters the list, removes a filter, saves a view, uses and deletes it, and chooses columns.
func (b *tab) workWithList(t testing.TB, view string) {
	t.Helper()
	b.mustOpen(t, "/warranties?status=active&category=Appliances&sort=end_date")
	b.openDetails(t, "Saved views")
	b.fill(t, "#view-name", view)
	b.press(t, "Save view")
	b.mustShow(t, view, "Category: Appliances")
	b.click(t, `.chip[href*="status=active"]:not([href*="category"])`)
	if at := b.path(t); strings.Contains(at, "category") || !strings.Contains(at, "sort=end_date") {
		t.Errorf("without the chip: %s", at)
	}
	b.press(t, view)
	if at := b.path(t); !strings.Contains(at, "category=Appliances") || !strings.Contains(at, "status=active") {
		t.Errorf("the view leads to %s", at)
	}
	b.openDetails(t, "Columns")
	b.fill(t, `[name=column][value=supplier]`, "true")
	b.press(t, "Show columns")
	const columns = `[...document.querySelectorAll("table.warranties th")].map(h => h.textContent).join()`
	if shown := eval[string](t, b, columns); !strings.Contains(shown, "Supplier") {
		t.Errorf("columns: %s", shown)
	}
	b.openDetails(t, "Columns")
	b.fill(t, `[name=column][value=supplier]`, "false")
	b.press(t, "Show columns")
	if shown := eval[string](t, b, columns); strings.Contains(shown, "Supplier") {
		t.Errorf("columns: %s", shown)
	}
	b.openDetails(t, "Saved views")
	b.press(t, "Delete "+view)
	if strings.Contains(b.text(t), view) {
		t.Errorf("the view is still there\n%s", b.describe())
	}
}

// workWithReplies assigns a claim, saves a reply, inserts it into a message that is not sent, and deletes it.
func (b *tab) workWithReplies(t testing.TB, claim, title string) {
	t.Helper()
	b.mustOpen(t, "/settings/replies")
	b.fill(t, "#title", title, "#body", "We received "+title+".")
	b.press(t, "Save reply")
	b.mustOpen(t, claim)
	me := eval[string](t, b, `[...document.querySelectorAll("#user_id option")].find(o => o.textContent.includes("you")).value`)
	b.fill(t, "#user_id", me)
	b.click(t, `form[action*="/assignee"] button`)
	if chosen := eval[string](t, b, `document.querySelector("#user_id").value`); chosen != me {
		t.Errorf("assigned to %q", chosen)
	}
	if !eval[bool](t, b, `document.querySelector("#body").checkVisibility()`) {
		b.do(t, chromedp.Click(chromedp.CSS("details.card > summary")))
	}
	b.openDetails(t, "Saved replies")
	option := eval[string](t, b, fmt.Sprintf(`[...document.querySelectorAll("[name=reply] option")].find(o => o.textContent === %q).value`, title))
	b.fill(t, "[name=reply]", option)
	b.press(t, "Insert")
	if text := eval[string](t, b, `document.querySelector("#body").value`); text != "We received "+title+"." {
		t.Errorf("the message is %q", text)
	}
	b.fill(t, "#user_id", "")
	b.click(t, `form[action*="/assignee"] button`)
	b.mustOpen(t, "/settings/replies")
	b.openDetails(t, title)
	b.leads(t, chromedp.Click(fmt.Sprintf(`//details[summary[normalize-space()=%q]]//button[normalize-space()="Delete"]`, title), chromedp.NodeVisible))
	if strings.Contains(b.text(t), title) {
		t.Errorf("the reply is still there\n%s", b.describe())
	}
}
