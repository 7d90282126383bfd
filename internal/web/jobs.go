package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/sheet"
	"warranty.example/svc/warranty"
)

// importJob is the kind of jobs that import a sheet.
const importJob = "import"

// importInput is the input of an import: the sheet and its settings.
type importInput struct {
	Text   []byte     `json:"text"`
	Values url.Values `json:"values"`
	// Language is that of the person who started the import.
	Language string `json:"language"`
}

// importResult is the progress and the result of an import.
type importResult struct {
	sheet.Counts
	Groups faultGroups `json:"groups"`
}

// startImport starts a job that imports a sheet.
func (web *Web) startImport(
	w http.ResponseWriter, r *http.Request, who warranty.Principal, p *importPage, rows int,
) error {
	values := url.Values{}
	for name, list := range p.Values {
		if !slices.Contains([]string{"sheet", "kept", "account", "do", "shown"}, name) {
			values[name] = list
		}
	}
	input, err := json.Marshal(importInput{Text: p.text, Values: values, Language: web.reader(r).Lang})
	if err != nil {
		return err
	}
	job, err := web.Service.StartJob(r.Context(), who, importJob, string(input), int64(rows))
	if err != nil {
		return err
	}
	return redirect(w, r, "/jobs/"+job.ID.String())
}

// saveEvery is the number of rows after which the progress of an import is stored.
const saveEvery = 25

// runImport performs the job of an import. Rows that created a warranty before an interruption are skipped.
func (web *Web) runImport(ctx context.Context, who warranty.Principal, j *warranty.Job, save func() error) error {
	var in importInput
	if err := json.Unmarshal([]byte(j.Input), &in); err != nil {
		return err
	}
	done, err := web.Service.JobRows(ctx, j.ID)
	if err != nil {
		return err
	}
	p, result := &importPage{form: form{Values: in.Values}, text: in.Text}, importResult{}
	before, err := newJobPage(*j) // what the rows before an interruption did
	if err != nil {
		return err
	}
	note := func(counts sheet.Counts) error {
		result.Counts = counts
		result.NotEmailed += before.Import.NotEmailed
		updated := min(before.Import.Updated, counts.AlreadyImported) // they are up to date now
		result.Updated, result.AlreadyImported = counts.Updated+updated, counts.AlreadyImported-updated
		text, err := json.Marshal(result)
		j.Done, j.Result = int64(counts.Rows), string(text)
		return err
	}
	im := sheet.Import{Service: web.importer(who), Done: func(line int) bool { return done[int64(line)] }}
	create := im.Service.Batch
	im.Service.Batch = func(ctx context.Context, in warranty.CreateBatch) (warranty.BatchResults, error) {
		return create(service.InJobRows(ctx, j.ID, sheet.LinesOf(ctx)), in)
	}
	im.Counted = func(counts sheet.Counts) error {
		if counts.Rows%saveEvery != 0 {
			return nil
		}
		if err := note(counts); err != nil {
			return err
		}
		return save()
	}
	im.Each = func(row sheet.Row, outcome sheet.Outcome) error {
		if outcome == sheet.Refused {
			result.Groups.add(row)
		}
		return nil
	}
	err = web.run(ctx, web.readerIn(in.Language), p, im)
	var fault *sheet.Fault
	if errors.As(err, &fault) {
		err = warranty.Refuse(warranty.ValidationFailed, web.readerIn(in.Language).fault(fault))
	}
	if noted := note(p.Counts); noted != nil {
		return noted
	}
	return err // what was noted is stored with it
}

// jobPage is the page of a job.
type jobPage struct {
	warranty.Job
	Import importResult
	Bulk   bulkResult
	Export exportResult
	Undone service.Undone
	Gone   bool // the file of the export was deleted
}

// newJobPage returns the page of a job with its result.
func newJobPage(j warranty.Job) (jobPage, error) {
	body := jobPage{Job: j}
	var into any = &body.Import
	switch {
	case j.Kind == bulkJob:
		into = &body.Bulk
	case j.Kind == service.ExportJob:
		into = &body.Export
	case j.State == warranty.JobUndone:
		into = &body.Undone
	}
	if j.Result == "" || j.State == warranty.JobUndoing {
		return body, nil
	}
	return body, json.Unmarshal([]byte(j.Result), into)
}

// Percent is how much of the job is done.
func (p jobPage) Percent() int64 {
	if p.Total == 0 {
		return 100
	}
	return min(100, 100*p.Done/p.Total)
}

// TitleKey is the key of the title of the job.
func (p jobPage) TitleKey() string { return jobTitles[p.Kind] }

// StateKey is the key of the state of the job.
func (p jobPage) StateKey() string {
	if p.UndoStopped() {
		return "jobs.undo_stopped"
	}
	return "jobs." + p.State.String()
}

// ProgressKey is the key of the progress of the job: of rows, or of warranties that are changed or deleted.
func (p jobPage) ProgressKey() string {
	if p.Kind == bulkJob || p.State == warranty.JobUndoing || p.State == warranty.JobUndone || p.UndoStopped() {
		return "job.progress_warranties"
	}
	return "job.progress"
}

// Existing returns the number of rows that were imported before.
func (p jobPage) Existing() int {
	return p.Import.AlreadyImported + p.Import.LooksImported + p.Import.Differs
}

// jobOf returns the page of the job with the id of the path.
func (web *Web) jobOf(r *http.Request, who warranty.Principal) (jobPage, error) {
	id, err := warranty.ParseID(r.PathValue("id"))
	if err != nil {
		return jobPage{}, warranty.ErrNotFound
	}
	j, err := web.Service.Job(r.Context(), who, id)
	if err != nil {
		return jobPage{}, err
	}
	page, err := newJobPage(j)
	if err != nil {
		return page, err
	}
	if j.Kind == importJob {
		created, err := web.Service.JobCreated(r.Context(), j)
		if err != nil {
			return page, err
		}
		page.Import.Created = int(created)
		if j.UndoStopped() {
			left, err := web.Service.JobLeft(r.Context(), j)
			if err != nil {
				return page, err
			}
			page.Total, page.Undone.Deleted = created, created-left
		}
	}
	page.Error = web.reader(r).message(j.Error)
	page.Gone = !web.Service.Now().Before(page.Export.Expires)
	return page, nil
}

// jobTitles are the keys of the titles of jobs by kind.
var jobTitles = map[string]string{importJob: "job.title", bulkJob: "bulk.title", service.ExportJob: "export.title"}

// job shows the progress or the result of a job. htmx asks for it again until the job has ended.
func (web *Web) job(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	body, err := web.jobOf(r, who)
	if err != nil {
		return err
	}
	v := view{Title: web.t(r, jobTitles[body.Kind]), Nav: "warranties", Who: who, Body: body}
	if isPart(r) {
		return web.part(w, r, "job", "job", v)
	}
	v.Refresh = body.State.Open()
	return web.show(w, r, http.StatusOK, "job", v)
}

// jobs lists the imports, exports and changes of many warranties of the last 30 days.
func (web *Web) jobs(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	list, err := web.Service.Jobs(r.Context(), who)
	if err != nil {
		return err
	}
	rows := make([]jobPage, 0, len(list))
	for _, j := range list {
		rows = append(rows, jobPage{Job: j})
	}
	return web.show(w, r, http.StatusOK, "jobs", view{Title: web.t(r, "jobs.title"), Nav: "warranties", Who: who, Body: rows})
}

// undoJob starts to delete what an import created.
func (web *Web) undoJob(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return press(w, r, "/jobs/%s", warranty.ParseID, func(id warranty.ID) error {
		j, err := web.Service.Job(r.Context(), who, id)
		if err != nil {
			return err
		}
		if j.Kind != importJob {
			return warranty.ErrNotFound // others created nothing
		}
		return web.Service.UndoJob(r.Context(), who, id)
	})
}
