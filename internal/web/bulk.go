package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"warranty.example/svc/internal/jobs"
	"warranty.example/svc/internal/pages"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// maxBulk is the number of warranties that one form can change.
const maxBulk = 5000

// Actions on the selected warranties of the list that change nothing. The others are those of jobs.
const (
	bulkExport = "export"
	bulkLabels = "labels"
)

// Banner returns the kind of the banner with the result of a change of many warranties.
func (p jobPage) Banner() view.Banner {
	switch {
	case p.State == warranty.JobFailed, p.Bulk.Changed == 0, p.State == warranty.JobUndone && p.ChangedBack == 0:
		return view.Banner{Kind: view.Failure}
	case len(p.Bulk.Groups) > 0 && p.State != warranty.JobUndone, len(p.Bulk.Kept) > 0, p.UndoStopped():
		return view.Banner{Kind: view.Info}
	}
	return view.Banner{Kind: view.Success}
}

// bulkForm is the page that lists what an action on the selected warranties will do, and asks for what it needs.
type bulkForm struct {
	form
	Action  string
	Count   int64               // of the selected warranties
	Will    int64               // those that the action changes
	Others  int64               // of them, those of another owner
	Offered int64               // of them, those with an open offer
	Rows    []warranty.Warranty // the first of them
	Stay    []jobs.BulkGroup    // why others stay as they are
	Filter  url.Values          // of the list
}

// bulkRows is how many warranties the page of an action lists.
const bulkRows = 10

// More returns how many warranties the action changes that are not listed.
func (f bulkForm) More() int64 { return f.Will - int64(len(f.Rows)) }

// Back returns the list that the form was opened from.
// OverLimit returns the number of offers that an address gets in a day, if there are more.
func (f bulkForm) OverLimit() int64 {
	if f.Action != jobs.HandOver || f.Will <= service.PerStranger {
		return 0
	}
	return service.PerStranger
}

func (f bulkForm) Back() string { return listPath(f.Filter) }

// bulk performs an action on the selected warranties of the list. For a change, it first shows what it will do.
func (web *Web) bulk(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	all, action := f.Value("all") != "", f.Value("action")
	if all && action == bulkExport {
		return web.exportWarranties(w, r, who)
	}
	once, _ := warranty.ParseID(f.Value("once"))
	if job, err := web.Jobs.Job(r.Context(), who, once); err == nil && job.Kind == jobs.BulkKind {
		return web.awaitBulk(w, r, who, job) // the form was sent twice
	}
	ids, records, err := web.selected(r.Context(), web.reader(r), who, f, all)
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		return warranty.Refuse(warranty.ValidationFailed, "%s", web.t(r, "bulk.none"))
	}
	switch action {
	case bulkExport:
		return web.exportSelected(w, r, who, ids)
	case bulkLabels:
		return web.labelSelected(w, r, who, ids)
	case jobs.SetCategory, jobs.Void, jobs.Cancel, jobs.HandOver, jobs.Delete:
	default:
		return errForm
	}
	if err := who.Account.Require(warranty.Member); err != nil {
		return err
	}
	seen := digestOf(who.Account.ID, ids)
	if f.Values.Has("value") {
		wrong := web.bulkValue(web.reader(r), f, action)
		switch {
		case f.resumed:
			f.Wrong = web.t(r, "form.resumed")
		case f.Value("seen") != seen:
			f.status, f.Wrong = http.StatusConflict, web.t(r, "bulk.selection_changed")
		case wrong != "":
			f.status, f.Errors = http.StatusUnprocessableEntity, map[string]string{"value": wrong}
		default:
			in := jobs.Bulk{Action: action, Value: strings.TrimSpace(f.Value("value")), IDs: ids}
			return web.startBulk(w, r, who, once, in)
		}
	}
	f.Values.Set("seen", seen)
	if once.IsZero() {
		f.Values.Set("once", web.Service.NewID().String())
	}
	body := bulkForm{form: f, Action: action, Count: int64(len(ids)), Filter: queryOf(f.Values)}
	if err := web.planBulk(r.Context(), who, &body, ids, records); err != nil {
		return err
	}
	v := view.Page{Title: web.t(r, "bulk."+action), Nav: "warranties", Who: who, Body: body}
	return web.show(w, r, f.status, "bulk", v)
}

// digestOf is of what a person saw selected in an account, so that nothing else is changed.
func digestOf(account warranty.ID, ids []warranty.ID) string {
	sorted := slices.SortedFunc(slices.Values(ids), func(a, b warranty.ID) int { return slices.Compare(a[:], b[:]) })
	h := sha256.New()
	h.Write(account[:])
	for _, id := range sorted {
		h.Write(id[:])
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// planBulk finds what an action will do with the selected warranties, as far as it is known before. Those of ids without a
// record are gone.
func (web *Web) planBulk(
	ctx context.Context, who warranty.Principal, body *bulkForm, ids []warranty.ID, records []warranty.Warranty,
) (err error) {
	var claimed map[warranty.ID]bool
	if body.Action == jobs.Delete {
		if claimed, err = web.Service.Store.WithOpenClaim(ctx, who.Account.ID, ids); err != nil {
			return err
		}
	}
	for range len(ids) - len(records) {
		body.Stay = jobs.AddTo(body.Stay, "", jobs.Gone, warranty.Text{})
	}
	for _, record := range records {
		if reason, text, stays := jobs.Stays(body.Action, body.Value("value"), record, claimed[record.ID]); stays {
			body.Stay = jobs.AddTo(body.Stay, string(record.ReferenceNumber), reason, text)
			continue
		}
		if body.Will++; len(body.Rows) < bulkRows {
			body.Rows = append(body.Rows, record)
		}
		if !record.Roles.Has(warranty.Owner) {
			body.Others++
		}
		if record.Offer.Open(web.Service.Now()) {
			body.Offered++
		}
	}
	return nil
}

// bulkValue returns why the value of an action is invalid, or "".
func (web *Web) bulkValue(words view.Reader, f form, action string) string {
	value := strings.TrimSpace(f.Value("value"))
	var in interface{ Check() error }
	switch action {
	case jobs.SetCategory:
		in = &warranty.UpdateWarranty{Category: &value}
	case jobs.Void, jobs.Cancel:
		status := warranty.Status(action)
		in = &warranty.UpdateWarranty{Status: &status, StatusReason: value}
		if value == "" {
			return words.Text("bulk.reason_missing")
		}
	case jobs.HandOver:
		in = &warranty.OfferHandover{CustomerEmail: value}
		if value == "" {
			return words.Text("bulk.email_missing")
		}
	default:
		return ""
	}
	refusal := new(warranty.Error)
	if err := in.Check(); errors.As(err, &refusal) && len(refusal.Fields) > 0 {
		return words.Message(refusal.Fields[0].Text())
	}
	return ""
}

// selected returns the ids of a form, or of everything that its filter selects, and the warranties that are not gone.
func (web *Web) selected(
	ctx context.Context, words view.Reader, who warranty.Principal, f form, all bool,
) (ids []warranty.ID, records []warranty.Warranty, err error) {
	tooMany := func(most int) error {
		return warranty.Refuse(warranty.ValidationFailed, "%s", words.Text("bulk.too_many", most))
	}
	if all {
		list := func(ctx context.Context, in warranty.ListWarranties) (warranty.Page[warranty.Warranty], error) {
			return web.Service.ListWarranties(ctx, who, in)
		}
		err := pages.Each(ctx, list, filterOf(f.Values),
			func(page warranty.Page[warranty.Warranty], fresh []int) error {
				for _, i := range fresh {
					ids, records = append(ids, page.Data[i].ID), append(records, page.Data[i])
				}
				if len(ids) > maxBulk {
					return tooMany(maxBulk)
				}
				return nil
			})
		return ids, records, err
	}
	for _, text := range f.Values["id"] {
		id, err := warranty.ParseID(text)
		if err != nil {
			return nil, nil, errForm
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
		if len(ids) > warranty.MaxLimit {
			return nil, nil, tooMany(warranty.MaxLimit)
		}
	}
	err = web.records(ctx, who, ids, func(record warranty.Warranty) error {
		records = append(records, record)
		return nil
	})
	return ids, records, err
}

// records returns warranties by their ids, without those that are gone.
func (web *Web) records(
	ctx context.Context, who warranty.Principal, ids []warranty.ID, each func(warranty.Warranty) error,
) error {
	for _, id := range ids {
		record, err := web.Service.GetWarranty(ctx, who, warranty.GetWarranty{ID: warranty.WarrantyKey{ID: id}})
		if errors.Is(err, warranty.ErrNotFound) {
			continue
		}
		if err == nil {
			err = each(record)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// labelSelected shows the form that prints labels with the references of warranties.
func (web *Web) labelSelected(w http.ResponseWriter, r *http.Request, who warranty.Principal, ids []warranty.ID) error {
	var references []string
	if err := web.records(r.Context(), who, ids[:min(len(ids), maxLabels+1)], func(record warranty.Warranty) error {
		references = append(references, string(record.ReferenceNumber))
		return nil
	}); err != nil {
		return err
	}
	return web.showLabels(w, r, who, form{Values: url.Values{
		"references": {strings.Join(references, "\n")},
		"size":       {wholeSheet},
		"kind":       {outsideLabels},
		"once":       {web.Service.NewID().String()},
	}})
}

// Bounds of the wait for a small job, whose result is then shown above the list.
const (
	bulkWait  = 2 * time.Second
	bulkEvery = 50 * time.Millisecond
)

// startBulk starts a job that changes warranties, and waits a moment for its end.
func (web *Web) startBulk(
	w http.ResponseWriter, r *http.Request, who warranty.Principal, once warranty.ID, in jobs.Bulk,
) error {
	job, err := web.Jobs.StartOnce(r.Context(), who, once, jobs.BulkKind, in, int64(len(in.IDs)))
	if err != nil {
		return err
	}
	return web.awaitBulk(w, r, who, job)
}

// awaitBulk waits a moment for the end of a job, and leads to its result.
func (web *Web) awaitBulk(w http.ResponseWriter, r *http.Request, who warranty.Principal, job warranty.Job) (err error) {
	next := "/jobs/" + job.ID.String()
	if job.Total > warranty.MaxLimit {
		return redirect(w, r, next)
	}
	for until := time.Now().Add(bulkWait); time.Now().Before(until); {
		select {
		case <-r.Context().Done():
			return r.Context().Err()
		case <-time.After(bulkEvery):
		}
		if job, err = web.Jobs.Job(r.Context(), who, job.ID); err != nil {
			return err
		}
		if !job.State.Open() {
			return redirect(w, r, resultPath(r.PostForm, job))
		}
	}
	return redirect(w, r, next)
}

// resultPath returns the list that a form was sent from, with the result of the job that it started.
func resultPath(sent url.Values, job warranty.Job) string {
	if jobs.Decides(jobs.HeadOf(job.Result).Action) {
		return "/confirmations?job=" + job.ID.String()
	}
	query := queryOf(sent)
	query.Set("job", job.ID.String())
	return "/warranties?" + query.Encode()
}

// bulkOf returns the result of a job that changed warranties.
// It is nil if there is none.
func (web *Web) bulkOf(r *http.Request, who warranty.Principal, text string) (*jobPage, error) {
	id, wrong := warranty.ParseID(text)
	if wrong != nil {
		id = warranty.ID{} // no job has it
	}
	j, err := web.Jobs.Job(r.Context(), who, id)
	if errors.Is(err, warranty.ErrNotFound) || err == nil && j.Kind != jobs.BulkKind {
		return nil, nil //nolint:nilnil // the link is old or wrong
	}
	if err != nil {
		return nil, err
	}
	page, err := newJobPage(j)
	if err != nil {
		return nil, err
	}
	page.Error = web.reader(r).Message(warranty.ParseText(j.Error))
	return &page, web.countUndo(r.Context(), who, &page)
}
