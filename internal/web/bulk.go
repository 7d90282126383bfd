package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"warranty.example/svc/internal/pages"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/warranty"
)

// bulkJob is the kind of jobs that change many warranties.
const bulkJob = "bulk"

// maxBulk is the number of warranties that one form can change.
const maxBulk = 5000

// Actions on the selected warranties of the list.
const (
	bulkExport   = "export"
	bulkLabels   = "labels"
	bulkCategory = "category"
	bulkVoid     = "void"
	bulkCancel   = "cancelled"
	bulkHandOver = "handover"
	bulkDelete   = "delete"
	bulkRestore  = "restore" // what bulkDelete deleted
)

// bulkInput is the input of a job that changes many warranties.
type bulkInput struct {
	Action string        `json:"action"`
	Value  string        `json:"value"` // the category, the reason or the address
	IDs    []warranty.ID `json:"ids"`
	// Language is that of the person who started the job.
	Language string `json:"language"`
}

// bulkResult is the progress and the result of such a job.
type bulkResult struct {
	Action  string        `json:"action"`
	Changed int64         `json:"changed"`
	Groups  []bulkGroup   `json:"groups"`
	Skipped []warranty.ID `json:"skipped"`
	// Deleted are the warranties that were deleted so far.
	Deleted []warranty.ID `json:"deleted,omitempty"`
}

// bulkGroup is why several warranties were not changed.
type bulkGroup struct {
	Message    string   `json:"message"`
	Count      int      `json:"count"`
	References []string `json:"references"` // the first ones
}

// skip notes a warranty that was not changed.
func (r *bulkResult) skip(id warranty.ID, reference, message string) {
	r.Skipped = append(r.Skipped, id)
	for i := range r.Groups {
		if g := &r.Groups[i]; g.Message == message {
			if g.Count++; len(g.References) < shownLines && reference != "" {
				g.References = append(g.References, reference)
			}
			return
		}
	}
	if len(r.Groups) < shownFaults {
		g := bulkGroup{Message: message, Count: 1, References: []string{}}
		if reference != "" {
			g.References = append(g.References, reference)
		}
		r.Groups = append(r.Groups, g)
	}
}

// bulkView is the data of the template "bulkresult".
type bulkView struct {
	view
	Job jobPage
}

// View returns the view of the page.
func (v bulkView) View() view { return v.view }

// Banner returns the kind of the banner with the result of a change of many warranties.
func (p jobPage) Banner() banner {
	switch {
	case p.State == warranty.JobFailed || p.Bulk.Changed == 0:
		return banner{Kind: failure}
	case len(p.Bulk.Groups) > 0:
		return banner{Kind: info}
	}
	return banner{Kind: success}
}

// bulkForm is the page that asks for what an action on the selected warranties needs.
type bulkForm struct {
	form
	Action string
	Count  int64
	Filter url.Values // of the list
}

// Back returns the list that the form was opened from.
func (f bulkForm) Back() string { return listPath(f.Filter) }

// bulk performs an action on the selected warranties of the list, or asks for what it needs.
func (web *Web) bulk(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	all, action := f.Value("all") != "", f.Value("action")
	if all && action == bulkExport {
		return web.exportWarranties(w, r, who)
	}
	ids, err := web.selected(r.Context(), web.reader(r), who, f, all)
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		return warranty.Refuse(warranty.ValidationFailed, web.t(r, "bulk.none"))
	}
	switch action {
	case bulkExport:
		return web.exportSelected(w, r, who, ids)
	case bulkLabels:
		return web.labelSelected(w, r, who, ids)
	case bulkCategory, bulkVoid, bulkCancel, bulkHandOver, bulkDelete:
	default:
		return errForm
	}
	if f.Values.Has("value") || action == bulkDelete && !all {
		if wrong := web.bulkValue(web.reader(r), f, action); wrong != "" {
			f.status, f.Errors = http.StatusUnprocessableEntity, map[string]string{"value": wrong}
		} else {
			return web.startBulk(w, r, who, bulkInput{Action: action, Value: strings.TrimSpace(f.Value("value")), IDs: ids})
		}
	}
	body := bulkForm{form: f, Action: action, Count: int64(len(ids)), Filter: queryOf(f.Values)}
	v := view{Title: web.t(r, "bulk."+action), Nav: "warranties", Who: who, Body: body}
	return web.show(w, r, f.status, "bulk", v)
}

// bulkValue returns why the value of an action is invalid, or "".
func (web *Web) bulkValue(words reader, f form, action string) string {
	value := strings.TrimSpace(f.Value("value"))
	var in interface{ Check() error }
	switch action {
	case bulkCategory:
		in = &warranty.UpdateWarranty{Category: &value}
	case bulkVoid, bulkCancel:
		status := warranty.Status(action)
		in = &warranty.UpdateWarranty{Status: &status, StatusReason: value}
		if value == "" {
			return words.get("bulk.reason_missing")
		}
	case bulkHandOver:
		in = &warranty.OfferHandover{CustomerEmail: value}
		if value == "" {
			return words.get("bulk.email_missing")
		}
	default:
		return ""
	}
	refusal := new(warranty.Error)
	if err := in.Check(); errors.As(err, &refusal) && len(refusal.Fields) > 0 {
		return words.message(refusal.Fields[0].Message)
	}
	return ""
}

// selected returns the ids of a form, or of everything that its filter selects.
func (web *Web) selected(ctx context.Context, words reader, who warranty.Principal, f form, all bool) ([]warranty.ID, error) {
	var ids []warranty.ID
	tooMany := warranty.Refuse(warranty.ValidationFailed, words.get("bulk.too_many", maxBulk))
	if all {
		err := pages.Each(ctx, acting(who, web.Service.ListWarranties), filterOf(f.Values),
			func(page warranty.Page[warranty.Warranty], fresh []int) error {
				for _, i := range fresh {
					ids = append(ids, page.Data[i].ID)
				}
				if len(ids) > maxBulk {
					return tooMany
				}
				return nil
			})
		return ids, err
	}
	for _, text := range f.Values["id"] {
		id, err := warranty.ParseID(text)
		if err != nil {
			return nil, errForm
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
		if len(ids) > warranty.MaxLimit {
			return nil, tooMany
		}
	}
	return ids, nil
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
		"size":       {sheetLabels},
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
func (web *Web) startBulk(w http.ResponseWriter, r *http.Request, who warranty.Principal, in bulkInput) error {
	in.Language = web.reader(r).Lang
	input, err := json.Marshal(in)
	if err != nil {
		return err
	}
	job, err := web.Service.StartJob(r.Context(), who, bulkJob, string(input), int64(len(in.IDs)))
	if err != nil {
		return err
	}
	next := "/jobs/" + job.ID.String()
	if len(in.IDs) > warranty.MaxLimit {
		return redirect(w, r, next)
	}
	for until := time.Now().Add(bulkWait); time.Now().Before(until); {
		select {
		case <-r.Context().Done():
			return r.Context().Err()
		case <-time.After(bulkEvery):
		}
		if job, err = web.Service.Job(r.Context(), who, job.ID); err != nil {
			return err
		}
		if !job.State.Open() {
			return redirect(w, r, "/warranties?"+listQuery(r.PostForm, job.ID).Encode())
		}
	}
	return redirect(w, r, next)
}

// listQuery returns the query of the list that a form was sent from, with the job that it started.
func listQuery(sent url.Values, job warranty.ID) url.Values {
	query := queryOf(sent)
	query.Set("job", job.String())
	return query
}

// runBulk performs a job that changes warranties. It continues where an interrupted one has stored its progress; a
// change that was made before is made again without effect.
func (web *Web) runBulk(ctx context.Context, who warranty.Principal, j *warranty.Job, save func() error) error {
	var in bulkInput
	result := bulkResult{Groups: []bulkGroup{}, Skipped: []warranty.ID{}}
	if err := json.Unmarshal([]byte(j.Input), &in); err != nil {
		return err
	}
	if j.Result != "" {
		if err := json.Unmarshal([]byte(j.Result), &result); err != nil {
			return err
		}
	}
	result.Action = in.Action
	store := func() error {
		text, err := json.Marshal(result)
		j.Result = string(text)
		return err
	}
	for i := int(j.Done); i < len(in.IDs); i++ {
		id := in.IDs[i]
		err := web.change(ctx, who, in, id)
		refusal := new(warranty.Error)
		switch {
		case err == nil, j.Attempts > 1 && errors.Is(err, warranty.ErrNotFound): // changed before an interruption
			if result.Changed++; in.Action == bulkDelete {
				result.Deleted = append(result.Deleted, id)
			}
		case errors.As(err, &refusal) && refusal.Code.Info().Status < http.StatusInternalServerError &&
			refusal.Code != warranty.RateLimited && refusal.Code != warranty.SessionExpired:
			result.skip(id, web.referenceOf(ctx, who, id), web.bulkReason(web.readerIn(in.Language), in.Action, refusal))
		default:
			if noted := store(); noted != nil {
				return noted
			}
			return err // the result is stored with it
		}
		if j.Done = int64(i + 1); j.Done%saveEvery == 0 {
			if err := errors.Join(store(), save()); err != nil {
				return err
			}
		}
	}
	return store()
}

// change performs an action on one warranty.
func (web *Web) change(ctx context.Context, who warranty.Principal, in bulkInput, id warranty.ID) (err error) {
	key := warranty.WarrantyKey{ID: id}
	switch in.Action {
	case bulkCategory:
		_, err = web.Service.UpdateWarranty(ctx, who, warranty.UpdateWarranty{ID: key, Category: &in.Value})
	case bulkVoid, bulkCancel:
		status := warranty.Status(in.Action)
		_, err = web.Service.UpdateWarranty(ctx, who, warranty.UpdateWarranty{ID: key, Status: &status, StatusReason: in.Value})
	case bulkHandOver:
		_, err = web.Service.OfferHandover(ctx, who, warranty.OfferHandover{ID: key, CustomerEmail: in.Value})
	case bulkDelete:
		_, err = web.Service.DeleteWarranty(ctx, who, warranty.DeleteWarranty{ID: key})
	case bulkRestore:
		_, err = web.Service.RestoreWarranty(ctx, who, warranty.RestoreWarranty{ID: key})
	default:
		err = errForm
	}
	return err
}

// bulkReason returns why a warranty was not changed, in words that several warranties can share.
func (web *Web) bulkReason(words reader, action string, refusal *warranty.Error) string {
	switch {
	case action == bulkDelete && refusal.Code == warranty.InUse:
		return words.get("bulk.open_claim")
	case refusal.Code == warranty.NotFound:
		return words.get("bulk.gone")
	case len(refusal.Fields) > 0:
		return words.message(refusal.Fields[0].Message)
	}
	return words.message(refusal.Message)
}

func (web *Web) referenceOf(ctx context.Context, who warranty.Principal, id warranty.ID) string {
	record, err := web.Service.GetWarranty(ctx, who, warranty.GetWarranty{ID: warranty.WarrantyKey{ID: id}})
	if err != nil {
		return ""
	}
	return string(record.ReferenceNumber)
}

// bulkOf returns the result of a job that changed warranties.
// It is nil if there is none.
func (web *Web) bulkOf(r *http.Request, who warranty.Principal, text string) (*jobPage, error) {
	id, wrong := warranty.ParseID(text)
	if wrong != nil {
		id = warranty.ID{} // no job has it
	}
	j, err := web.Service.Job(r.Context(), who, id)
	if errors.Is(err, warranty.ErrNotFound) || err == nil && j.Kind != bulkJob {
		return nil, nil //nolint:nilnil // the link is old or wrong
	}
	if err != nil {
		return nil, err
	}
	page, err := newJobPage(j)
	page.Error = web.reader(r).message(j.Error)
	return &page, err
}

// restoreBulk starts a job that restores what another one deleted.
func (web *Web) restoreBulk(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	page, err := web.bulkOf(r, who, r.PathValue("id"))
	if err != nil {
		return err
	}
	if page == nil || page.State.Open() || len(page.Bulk.Deleted) == 0 {
		return warranty.ErrNotFound
	}
	return web.startBulk(w, r, who, bulkInput{Action: bulkRestore, IDs: page.Bulk.Deleted})
}

// serviceJobs binds the kinds of jobs that this package performs.
func (web *Web) serviceJobs() map[string]service.JobFunc {
	return map[string]service.JobFunc{importJob: web.runImport, bulkJob: web.runBulk, service.ExportJob: web.runExport}
}
