package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// Choices of the form that prints labels.
const (
	smallLabels = "small" // 62 by 29 mm, one per page
	sheetLabels = "sheet" // A4, 3 by 8

	outsideLabels = "outside" // reference and verification
	insideLabels  = "inside"  // the code of the hand-over
)

const (
	maxLabels = 500
	perSheet  = 24
)

// labelsPage holds the labels to print.
type labelsPage struct {
	Size, Kind string
	Sheets     [][]tag
	Count      int64
	// Skipped are the records without a label, and why.
	Skipped  []skippedLabel
	TakeHost string
}

// Class returns the class of a page of labels in labels.css.
func (p labelsPage) Class() string {
	if p.Size == sheetLabels {
		return "print-a4"
	}
	return "print-roll"
}

// tag is a label. Code is that of the hand-over, for the inside.
type tag struct {
	warranty.Warranty
	Code, URL string
}

type skippedLabel struct{ Reference, Why string }

// labels shows the form that prints labels.
func (web *Web) labels(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	values := url.Values{
		"references": {strings.Join(r.URL.Query()["reference"], "\n")},
		"size":       {smallLabels},
		"kind":       {outsideLabels},
		"once":       {web.Service.NewID().String()},
	}
	return web.showLabels(w, r, who, form{Values: values})
}

func (web *Web) showLabels(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
	v := view.Page{Title: web.t(r, "labels.title"), Nav: "warranties", Who: who, Body: f}
	return web.show(w, r, f.status, "labels", v)
}

// printLabels shows the labels to print. Those for the inside have new codes: older slips stop working.
func (web *Web) printLabels(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	body := labelsPage{Size: f.Value("size"), Kind: f.Value("kind"), TakeHost: web.takeHost()}
	records, err := web.labelled(r.Context(), web.reader(r), who, f)
	var tags []tag
	switch {
	case err != nil:
	case body.Kind == insideLabels:
		tags, body.Skipped, err = web.insideTags(service.AsOneForm(r.Context()), web.reader(r), who, f, records)
	default:
		for _, record := range records {
			tags = append(tags, tag{Warranty: record, URL: record.VerifyURL})
		}
	}
	if err != nil {
		if !web.setErrors(w, r, &f, err) {
			return err
		}
		return web.showLabels(w, r, who, f)
	}
	size := 1
	if body.Size == sheetLabels {
		size = perSheet
	}
	body.Count, body.Sheets = int64(len(tags)), slices.Collect(slices.Chunk(tags, size))
	v := view.Page{Title: web.t(r, "labels.title"), Who: who, NoIndex: true, Body: body}
	return web.render(w, r, http.StatusOK, "labels-print", "paper", v)
}

// labelled returns the records of the references in a form, in order. Every wrong one is an error.
func (web *Web) labelled(ctx context.Context, words view.Reader, who warranty.Principal, f form) ([]warranty.Warranty, error) {
	if f.resumed {
		return nil, errResumed
	}
	var c warranty.Checks
	refuse := func(message string) ([]warranty.Warranty, error) {
		c.Add("references", "invalid", "%s", message)
		return nil, c.Err()
	}
	if !slices.Contains([]string{smallLabels, sheetLabels}, f.Value("size")) ||
		!slices.Contains([]string{outsideLabels, insideLabels}, f.Value("kind")) {
		return nil, errForm
	}
	typed := strings.FieldsFunc(f.Value("references"), func(r rune) bool { return strings.ContainsRune(" ,;\t\r\n", r) })
	switch {
	case len(typed) == 0:
		return refuse(words.Text("labels.missing"))
	case len(typed) > maxLabels:
		return refuse(words.Text("labels.too_many", maxLabels))
	}
	var records []warranty.Warranty
	var unknown []string
	for _, text := range typed {
		key, err := warranty.ParseWarrantyKey(text)
		var record warranty.Warranty
		if err == nil {
			record, err = web.Service.GetWarranty(ctx, who, warranty.GetWarranty{ID: key})
		} else {
			err = warranty.ErrNotFound
		}
		switch {
		case errors.Is(err, warranty.ErrNotFound):
			unknown = append(unknown, text)
		case err != nil:
			return nil, err
		default:
			records = append(records, record)
		}
	}
	if len(unknown) > 0 {
		const most = 10
		if len(unknown) > most {
			unknown = append(unknown[:most], "…")
		}
		return refuse(words.Text("labels.unknown", strings.Join(unknown, ", ")))
	}
	return records, nil
}

// insideTags offers each record with a new code. Records that cannot be handed over are skipped, and so are
// those whose codes this form has already shown.
func (web *Web) insideTags(
	ctx context.Context, words view.Reader, who warranty.Principal, f form, records []warranty.Warranty,
) (tags []tag, skipped []skippedLabel, err error) {
	once := f.once()
	for i, record := range records {
		in := warranty.OfferHandover{ID: warranty.WarrantyKey{ID: record.ID}}
		if once != nil {
			key := fmt.Sprintf("%s#%d", *once, i)
			in.IdempotencyKey = &key
		}
		offer, err := web.Service.OfferHandover(ctx, who, in)
		var refusal *warranty.Error
		switch {
		case errors.As(err, &refusal) && (refusal.Code == warranty.RoleNotAllowed || refusal.Code == warranty.InvalidTransition):
			skipped = append(skipped, skippedLabel{string(record.ReferenceNumber), words.Message(refusal.Text())})
		case err != nil:
			return nil, nil, err
		case offer.Code == nil:
			skipped = append(skipped, skippedLabel{string(record.ReferenceNumber), words.Text("labels.shown_before")})
		default:
			tags = append(tags, tag{Warranty: record, Code: *offer.Code, URL: *offer.TakeURL})
		}
	}
	return tags, skipped, nil
}
