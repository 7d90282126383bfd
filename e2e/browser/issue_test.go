//go:build browser

package browser

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// shopkeeper signs in the admin of a new organization with a product.
func (s *site) shopkeeper(t testing.TB, name string) *tab {
	t.Helper()
	b, _, _ := s.member(t, name)
	b.found(t, "Halden Electronics")
	b.product(t)
	return b
}

// product adds a product.
func (b *tab) product(t testing.TB) {
	t.Helper()
	b.mustOpen(t, "/products/new")
	b.fill(t, "#name", "Tessel induction hob T64", "#length", "2", "#gtin", "2000000064116")
	if status := b.press(t, "Add product"); status != http.StatusOK {
		t.Fatalf("got %d\n%s", status, b.describe())
	}
}

// sell issues the product.
func (b *tab) sell(t testing.TB, serial string) int {
	t.Helper()
	b.mustOpen(t, "/products")
	b.click(t, `a[href^="/issue?product="]`)
	b.fill(t, "#serial_number", serial)
	return b.press(t, "Issue warranty")
}

// label shows the label of the newest warranty for a roll.
func (b *tab) label(t testing.TB, kind string) int {
	t.Helper()
	b.mustOpen(t, "/warranties")
	reference := eval[string](t, b, `document.querySelector("main").innerText.match(/WR-[0-9A-Z-]{19}/)[0]`)
	b.mustOpen(t, "/labels?reference="+reference)
	b.fill(t, "#size", "62x29", fmt.Sprintf("[name=kind][value=%s]", kind), "true")
	return b.press(t, "Preview")
}

// decode reads the QR codes of a page with a decoder that is not ours.
func (b *tab) decode(t testing.TB) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, pagePatience)
	defer cancel()
	taken, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		t.Fatal(err)
	}
	shown, _, err := image.Decode(bytes.NewReader(taken))
	if err != nil {
		t.Fatal(err)
	}
	var read []string
	boxes := eval[[]struct{ X, Y, Width, Height float64 }](t, b, `[...document.querySelectorAll(".paper")].filter(q => q.checkVisibility()).map(q => q.getBoundingClientRect().toJSON())
		.map(({x, y, width, height}) => ({X: x, Y: y, Width: width, Height: height}))`)
	for _, box := range boxes {
		at := image.Rect(int(box.X), int(box.Y), int(box.X+box.Width), int(box.Y+box.Height))
		part := image.NewRGBA(image.Rect(0, 0, 4*at.Dx(), 4*at.Dy()))
		for y := range part.Rect.Dy() {
			for x := range part.Rect.Dx() {
				part.Set(x, y, shown.At(at.Min.X+x/4, at.Min.Y+y/4))
			}
		}
		text, err := readQR(part)
		if err != nil {
			t.Fatalf("a QR code at %v cannot be read: %v", at, err)
		}
		read = append(read, text)
	}
	return read
}

// TestQRCodesOnScreen reads the QR codes of the slip, in both themes, and of a label from their previews.
func TestQRCodesOnScreen(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	b := s.shopkeeper(t, "paper")
	value := func(js string) string { return eval[string](t, b, js) }
	for i, scheme := range []string{"light", "dark"} {
		b.sell(t, fmt.Sprint("T64-", i))
		b.look(t, scheme, 1280)
		want := []string{s.URL + "/take#" + value(`document.querySelector(".onetime").innerText.trim()`)}
		if got := b.decode(t); !slices.Equal(got, want) {
			t.Errorf("the slip has %q, want %q", got, want)
		}
	}
	for kind, js := range map[string]string{
		"outside": `"/verify/" + document.querySelector("[name=references]").value`,
		"inside":  `"/take#" + document.querySelector("[name=code]").value`,
	} {
		if status := b.label(t, kind); status != http.StatusOK {
			t.Fatalf("got %d\n%s", status, b.describe())
		}
		if got, want := b.decode(t), s.URL+value(js); !slices.Equal(got, []string{want}) {
			t.Errorf("the label for the %s has %q, want %q", kind, got, want)
		}
	}
	b.mustBeQuiet(t)
}

const focused = `document.activeElement.id`

// TestTheTillByKeyboard issues with the keyboard alone: the product is kept, Enter goes from the serial number
// to the email and issues there, and the same serial number is a question.
func TestTheTillByKeyboard(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	b := s.shopkeeper(t, "tillkeys")
	b.mustOpen(t, "/products")
	b.click(t, `a[href^="/issue?product="]`)
	for i, serial := range []string{"T64-1", "T64-2"} {
		b.until(t, focused+` === "serial_number"`)
		b.do(t, keys(serial+kb.Enter))
		b.until(t, focused+` === "customer_email"`)
		if status := b.leads(t, keys(kb.Enter)); status != http.StatusOK {
			t.Fatalf("got %d\n%s", status, b.describe())
		}
		b.mustShow(t, "Give this to your customer", "The code is shown only now.", serial)
		b.until(t, `document.activeElement.innerText === "Print slip"`)
		if i == 0 {
			b.leads(t, keys(kb.Tab+kb.Enter)) // Next sale
			b.mustShow(t, "2 years from today", "Issued today")
		}
	}
	b.mustOpen(t, "/issue")
	b.until(t, focused+` === "serial_number"`)
	b.do(t, keys("T64-2"+kb.Enter))
	if status := b.leads(t, keys("kim@people.example"+kb.Enter)); status != http.StatusConflict {
		t.Fatalf("got %d\n%s", status, b.describe())
	}
	b.mustShow(t, "You issued this serial number on "+time.Now().UTC().Format("2 Jan 2006"))
	if status := b.leads(t, keys(kb.Tab+kb.Tab+kb.Enter)); status != http.StatusOK { // Issue again
		t.Fatalf("got %d\n%s", status, b.describe())
	}
	b.mustShow(t, "Warranty issued", "kim@people.example")
	b.mustBeQuiet(t, http.StatusConflict)
}

// TestTheTillWithoutScript issues, prints and emails without scripts, and goes back to a form that was sent.
func TestTheTillWithoutScript(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	b := s.shopkeeper(t, "tillplain").withoutScript(t)
	b.mustOpen(t, "/issue?product=")
	b.click(t, `a[href^="/issue?product="]:not(.btn)`)
	b.fill(t, "#serial_number", "T64-1")
	b.press(t, "Issue warranty")
	b.mustShow(t, "Give this to your customer")
	b.press(t, "Next sale")
	b.fill(t, "#serial_number", "T64-2", "#customer_email", "kim@people")
	b.press(t, "Issue warranty")
	if got := eval[string](t, b, `document.querySelector("#serial_number").value + document.querySelector("#customer_email").value`); got != "T64-2kim@people" {
		t.Errorf("the form has %q", got)
	}
	b.fill(t, "#customer_email", "kim@people.example")
	b.press(t, "Issue warranty")
	b.mustShow(t, "Warranty issued", "kim@people.example")
	b.press(t, "Show warranty")
	b.mustShow(t, "Hand-over", "Emailed to kim@people.example")
	b.press(t, "New slip")
	b.mustShow(t, "Give this to your customer")
}
