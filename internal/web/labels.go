package web

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"warranty.example/svc/internal/paper"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// What labels are for.
const (
	outsideLabels = "outside" // reference and verification
	insideLabels  = "inside"  // the code of the hand-over
)

// Formats of labels with a name. All others are the sizes of rolls.
const (
	wholeSheet = "a4"      // A4 sheets of 3 by 8 labels, without margins
	gapSheet   = "a4-gaps" // the same with margins and gaps
	ownSheet   = "a4-own"  // the same with margins and gaps of the form
	usualRoll  = "62x29"
)

// rolls are the sizes of labels on rolls, in millimeters.
var rolls = [][2]float64{{50, 25}, {62, 29}, {89, 36}, {100, 50}}

// ownMargins are the fields of ownSheet: top and left margin, and gaps between columns and rows.
var ownMargins = []string{"top", "left", "gap_x", "gap_y"}

const maxLabels = 1000

// labelsPage holds labels to print, and their form.
type labelsPage struct {
	form
	Formats []option
	Places  []option // where the first label is

	Count, Pages int
	Roll         bool
	Preview      template.HTML // the first page
	// Skipped are the records without a label, and why.
	Skipped []skippedLabel
}

// Codes returns the codes of the labels for the inside.
func (p labelsPage) Codes() []string { return p.Values["code"] }

// option is a choice of a select.
type option struct{ Value, Text string }

// tag is a record with a label. Code is that of the hand-over, for the inside.
type tag struct {
	warranty.Warranty
	Code string
}

type skippedLabel struct{ Reference, Why string }

// labels shows the form that prints labels.
func (web *Web) labels(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return web.showLabels(w, r, who, form{Values: url.Values{
		"references": {strings.Join(r.URL.Query()["reference"], "\n")},
		"size":       {usualRoll},
		"kind":       {outsideLabels},
		"once":       {web.Service.NewID().String()},
	}})
}

func (web *Web) showLabels(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
	v := view.Page{Title: web.t(r, "labels.title"), Nav: "warranties", Who: who, Body: web.labelsForm(web.reader(r), f)}
	return web.show(w, r, f.status, "labels", v)
}

// labelsForm returns the choices of the form.
func (web *Web) labelsForm(words view.Reader, f form) labelsPage {
	p := labelsPage{form: f, Formats: []option{
		{Value: wholeSheet, Text: words.Text("labels.sheet", "70 × 37")},
		{Value: gapSheet, Text: words.Text("labels.sheet_gaps", words.Text("labels.gap_size"))},
		{Value: ownSheet, Text: words.Text("labels.sheet_own")},
	}}
	for _, size := range rolls {
		p.Formats = append(p.Formats, option{
			Value: rollName(size), Text: words.Text("labels.roll", int(size[0]), int(size[1])),
		})
	}
	for i := range 24 {
		column := words.Text([]string{"labels.left", "labels.middle", "labels.right"}[i%3])
		place := words.Text("labels.place", i+1, i/3+1, column)
		p.Places = append(p.Places, option{Value: strconv.Itoa(i + 1), Text: place})
	}
	return p
}

func rollName(size [2]float64) string { return fmt.Sprintf("%gx%g", size[0], size[1]) }

// printLabels shows the labels as they print. Those for the inside have new codes: older slips stop working.
func (web *Web) printLabels(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	grid, first, tags, skipped, err := web.readLabels(r.Context(), web.reader(r), who, f)
	if err != nil {
		if !web.setErrors(w, r, &f, err) {
			return err
		}
		return web.showLabels(w, r, who, f)
	}
	body := web.labelsForm(web.reader(r), f)
	body.Skipped, body.Count, body.Roll = skipped, len(tags), grid.PerPage() == 1
	f.Values.Del("code")
	var references []string
	for _, t := range tags {
		references = append(references, string(t.ReferenceNumber))
		if t.Code != "" {
			f.Values.Add("code", t.Code)
		}
	}
	f.Values.Set("references", strings.Join(references, "\n"))
	if len(tags) > 0 {
		look, err := web.Service.Store.Brand(r.Context(), who.Account.ID)
		if err != nil {
			return err
		}
		sheets := web.labelSheets(web.paperReader(r), who, look.Domain, tags, grid, first)
		body.Pages, body.Preview = len(sheets), sheets[0].SVG(web.t(r, "paper.preview"))
	}
	v := view.Page{Title: web.t(r, "labels.title"), Nav: "warranties", Who: who, NoIndex: true, Body: body}
	return web.show(w, r, http.StatusOK, "labels-print", v)
}

// labelsFile serves labels as PDF. Those for the inside have the codes that the page before showed.
func (web *Web) labelsFile(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	if f.Value("kind") == insideLabels && !f.Values.Has("code") {
		return errForm
	}
	grid, first, tags, _, err := web.readLabels(r.Context(), web.reader(r), who, f)
	if err != nil {
		if !web.setErrors(w, r, &f, err) {
			return err
		}
		return web.showLabels(w, r, who, f)
	}
	done, err := web.Service.PaperTurn(r.Context(), who)
	if err != nil {
		return err
	}
	defer done()
	look, err := web.Service.Store.Brand(r.Context(), who.Account.ID)
	if err != nil {
		return err
	}
	words := web.paperReader(r)
	body, err := paper.PDF(web.labelSheets(words, who, look.Domain, tags, grid, first), web.printFile(words, words.Text("labels.title")))
	if err != nil {
		return err
	}
	sendPDF(w, body, "labels.pdf", f.Has("save", "true"))
	return nil
}

// labelSheets lays out labels. Those of what the account issued have its domain, if that is verified.
func (web *Web) labelSheets(
	words view.Reader, who warranty.Principal, domain *string, tags []tag, grid paper.Grid, first int,
) []paper.Sheet {
	list := make([]paper.Label, len(tags))
	for i, t := range tags {
		l := paper.Label{
			Product: t.ProductName, Help: words.Text("labels.help"), Number: string(t.ReferenceNumber), Link: t.VerifyURL,
		}
		if t.SerialNumber != nil {
			l.Serial = words.Text("labels.serial") + " " + *t.SerialNumber
		}
		if domain != nil && t.Roles.Has(warranty.Issuer) {
			l.From, l.Name = *domain, who.Account.Name
		}
		if t.Code != "" {
			l.Help, l.Number, l.Link = words.Text("labels.register", web.takeHost()), t.Code, web.PublicURL+"/take#"+t.Code
		}
		list[i] = l
	}
	return paper.Labels(list, grid, first, words.Text("labels.lost", paper.Lost))
}

// readLabels reads the form: the grid, the position of the first label, and the records. Every wrong value is an error.
func (web *Web) readLabels(ctx context.Context, words view.Reader, who warranty.Principal, f form) (
	grid paper.Grid, first int, tags []tag, skipped []skippedLabel, err error,
) {
	if f.resumed {
		return grid, 0, nil, nil, errResumed
	}
	grid, first, fault := readGrid(words, f)
	records, err := web.labelled(ctx, words, who, f)
	if err = allFaults(fault, err, nil); err != nil {
		return grid, 0, nil, nil, err
	}
	switch {
	case f.Value("kind") != insideLabels:
		for _, record := range records {
			tags = append(tags, tag{Warranty: record})
		}
	case f.Values.Has("code"):
		tags, err = web.codedTags(ctx, words, who, f.Values["code"], records)
	default:
		tags, skipped, err = web.insideTags(service.AsOneForm(ctx), words, who, f, records)
	}
	return grid, first, tags, skipped, err
}

// readGrid reads the format, and the position of the first label on sheets.
func readGrid(words view.Reader, f form) (grid paper.Grid, first int, err error) {
	var margins [4]float64
	var c warranty.Checks
	switch size := f.Value("size"); size {
	case wholeSheet:
		margins = [4]float64{.5, 0, 0, 0}
	case gapSheet:
		margins = [4]float64{12.9, 7.25, 2.5, 0}
	case ownSheet:
		for i, name := range ownMargins {
			margins[i] = 0
			typed := strings.Replace(strings.TrimSpace(f.Value(name)), ",", ".", 1)
			if typed == "" {
				continue
			}
			if margins[i], err = strconv.ParseFloat(typed, 64); err != nil || !(margins[i] >= 0 && margins[i] <= 100) {
				c.Add(name, "invalid", "%s", words.Text("labels.not_mm"))
			}
		}
		if err := c.Err(); err != nil {
			return grid, 0, err
		}
	default:
		for _, roll := range rolls {
			if rollName(roll) == size {
				return paper.Roll(roll[0], roll[1]), 1, nil
			}
		}
		return grid, 0, errForm
	}
	if grid, err = paper.A4Sheet(margins[0], margins[1], margins[2], margins[3]); err != nil {
		c.Add("top", "out_of_range", "%s", words.Text("labels.too_small"))
		return grid, 0, c.Err()
	}
	first = 1
	if typed := f.Value("first"); typed != "" {
		if first, err = strconv.Atoi(typed); err != nil || first < 1 || first > grid.PerPage() {
			return grid, 0, errForm
		}
	}
	return grid, first, nil
}

// labelled returns the records of the references in a form, in order. Every wrong one is an error.
func (web *Web) labelled(
	ctx context.Context, words view.Reader, who warranty.Principal, f form,
) ([]warranty.Warranty, error) {
	var c warranty.Checks
	refuse := func(message string) ([]warranty.Warranty, error) {
		c.Add("references", "invalid", "%s", message)
		return nil, c.Err()
	}
	if !slices.Contains([]string{outsideLabels, insideLabels}, f.Value("kind")) {
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

// codedTags returns records with the codes that they have on a page.
func (web *Web) codedTags(
	ctx context.Context, words view.Reader, who warranty.Principal, codes []string, records []warranty.Warranty,
) (tags []tag, err error) {
	if len(codes) != len(records) {
		return nil, errForm
	}
	for i, record := range records {
		if err := web.checkCode(ctx, words, who, record.ID, codes[i]); err != nil {
			return nil, err
		}
		tags = append(tags, tag{record, codes[i]})
	}
	return tags, nil
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
		case errors.As(err, &refusal) &&
			(refusal.Code == warranty.RoleNotAllowed || refusal.Code == warranty.InvalidTransition):
			skipped = append(skipped, skippedLabel{string(record.ReferenceNumber), words.Message(refusal.Text())})
		case err != nil:
			return nil, nil, err
		case offer.Code == nil:
			skipped = append(skipped, skippedLabel{string(record.ReferenceNumber), words.Text("labels.shown_before")})
		default:
			tags = append(tags, tag{record, *offer.Code})
		}
	}
	return tags, skipped, nil
}
