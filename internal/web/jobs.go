package web

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"warranty.example/svc/internal/jobs"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/sheet"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// startImport starts a job that imports a file as its preview said. With other settings it shows their preview.
func (web *Web) startImport(w http.ResponseWriter, r *http.Request, who warranty.Principal, p *importPage) error {
	whole := *p
	if err := web.preview(r.Context(), web.reader(r), &whole, sheet.Import{}); err != nil {
		return web.refuseSheet(w, r, who, p, err)
	}
	if p.Value("shown") != whole.Choices() {
		p.Wrong = web.t(r, "import.changed")
		return web.previewSheet(w, r, who, p)
	}
	in := jobs.Import{
		Name:            p.Name,
		Text:            p.text,
		Options:         p.options(),
		AllowDuplicates: p.allowDuplicates(),
		Update:          p.Updates(),
	}
	once, _ := warranty.ParseID(p.Value("once"))
	job, err := web.Jobs.StartOnce(r.Context(), who, once, jobs.ImportKind, in, int64(whole.Counts.Rows))
	if err != nil {
		return err
	}
	return redirect(w, r, "/jobs/"+job.ID.String())
}

// jobPage is the page of a job.
type jobPage struct {
	warranty.Job
	Import jobs.ImportResult
	Bulk   jobs.BulkResult
	Export jobs.ExportResult
	Undone jobs.Undone
	Claims *claimsResult
	Gone   bool // the file of the export was deleted
	// UndoUntil is until when the reader can undo the job. It is zero after that, and if there is nothing to undo.
	UndoUntil time.Time
	// ChangedBack is how many of the Changes of the job were undone.
	ChangedBack, Changes int64
}

// newJobPage returns the page of a job with its result.
func newJobPage(j warranty.Job) (jobPage, error) {
	body := jobPage{Job: j}
	var into any = &body.Import
	switch {
	case j.Kind == jobs.BulkKind:
		into = &body.Bulk
	case j.Kind == jobs.ExportKind:
		into = &body.Export
	case j.State == warranty.JobUndone:
		into = &body.Undone
	}
	if j.Result == "" || j.State == warranty.JobUndoing || isClaimsJob(j) {
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

// ProgressKey is the key of the progress of the job: of rows, or of records that are changed or deleted.
func (p jobPage) ProgressKey() string {
	if isClaimsJob(p.Job) {
		return "job.progress_claims"
	}
	if p.Kind == jobs.BulkKind || p.State == warranty.JobUndoing || p.State == warranty.JobUndone || p.UndoStopped() {
		return "job.progress_warranties"
	}
	return "job.progress"
}

// Existing returns the number of rows that were imported before.
func (p jobPage) Existing() int {
	return p.Import.AlreadyImported + p.Import.LooksImported + p.Import.Differs
}

// LeftOut returns the number of rows that were not imported though they have a product.
func (p jobPage) LeftOut() int { return p.Import.Refused + p.Import.Reasons[sheet.LeftOut] }

// Skips returns the other reasons why rows were skipped.
func (p jobPage) Skips() (list []skipLine) {
	for _, reason := range sheet.SkipReasons() {
		if n := p.Import.Reasons[reason]; n > 0 && reason != sheet.LeftOut {
			list = append(list, skipLine{Reason: reason, Rows: n})
		}
	}
	return list
}

// title returns the title of the page.
func (p jobPage) title(words view.Reader) string {
	switch {
	case p.Claims != nil:
		return words.Text("claims_bulk." + p.Claims.Action.String() + "_result")
	case p.Kind == jobs.ImportKind && p.State == warranty.JobRunning:
		return words.Text("import.running", p.Total)
	case p.Kind == jobs.ImportKind && p.State == warranty.JobDone && !p.UndoStopped():
		return words.Text("import.imported", p.Import.Created)
	}
	return words.Text(jobTitles[p.Kind])
}

// jobOf returns the page of the job with the id of the path.
func (web *Web) jobOf(r *http.Request, who warranty.Principal) (jobPage, error) {
	id, err := warranty.ParseID(r.PathValue("id"))
	if err != nil {
		return jobPage{}, warranty.ErrNotFound
	}
	j, err := web.Jobs.Job(r.Context(), who, id)
	if err != nil {
		return jobPage{}, err
	}
	page, err := newJobPage(j)
	if err != nil {
		return page, err
	}
	if isClaimsJob(j) {
		b, err := web.Service.GetBulk(r.Context(), who, warranty.GetBulk{ID: id})
		if err != nil {
			return page, err
		}
		page.Claims = &claimsResult{ClaimBulk: b}
	}
	if j.Kind == jobs.ImportKind {
		created, err := web.Jobs.Created(r.Context(), j)
		if err != nil {
			return page, err
		}
		page.Import.Created = int(created)
		if j.UndoStopped() {
			left, err := web.Jobs.Left(r.Context(), j)
			if err != nil {
				return page, err
			}
			page.Total, page.Undone.Deleted = created, created-left
		}
	}
	if err := web.countUndo(r.Context(), who, &page); err != nil {
		return page, err
	}
	page.Error = web.reader(r).Message(warranty.ParseText(j.Error))
	page.Gone = !web.Service.Now().Before(page.Export.Expires)
	return page, nil
}

// countUndo counts what undoing a job gives back, and sets until when the reader can.
func (web *Web) countUndo(ctx context.Context, who warranty.Principal, page *jobPage) (err error) {
	if page.Changes, page.ChangedBack, err = web.Service.Store.CountJobChanges(ctx, page.ID); err != nil {
		return err
	}
	left := page.Changes - page.ChangedBack + int64(page.Import.Created)
	until := jobs.UndoUntil(page.Job)
	if left > 0 && !page.State.Open() && page.State != warranty.JobUndone && who.MayUndo(page.User) == nil &&
		web.Service.Now().Before(until) {
		page.UndoUntil = until
	}
	return nil
}

// jobTitles are the keys of the titles of jobs by kind.
var jobTitles = map[string]string{jobs.ImportKind: "job.title", jobs.BulkKind: "bulk.title", jobs.ExportKind: "export.title",
	service.ClaimsJob: "claims_bulk.title"}

// job shows the progress or the result of a job. htmx asks for it again until the job has ended.
func (web *Web) job(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	body, err := web.jobOf(r, who)
	if err != nil {
		return err
	}
	v := view.Page{Title: body.title(web.reader(r)), Nav: "warranties", Who: who, Flash: view.Flash(r), Body: body}
	if body.Claims != nil {
		v.Nav = "claims"
	}
	if isPart(r) {
		return web.part(w, r, "job", "job", v)
	}
	v.Refresh = body.State.Open()
	return web.show(w, r, http.StatusOK, "job", v)
}

// jobs lists the imports, exports and changes of many warranties of the last 30 days.
func (web *Web) jobs(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	list, err := web.Jobs.List(r.Context(), who)
	if err != nil {
		return err
	}
	rows := make([]jobPage, 0, len(list))
	for _, j := range list {
		rows = append(rows, jobPage{Job: j})
	}
	return web.show(w, r, http.StatusOK, "jobs", view.Page{Title: web.t(r, "jobs.title"), Nav: "warranties", Who: who, Body: rows})
}

// undoJob starts to give back what a job changed, and to delete what it created.
func (web *Web) undoJob(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	id, err := warranty.ParseID(r.PathValue("id"))
	if err != nil {
		return warranty.ErrNotFound
	}
	j, err := web.Jobs.Job(r.Context(), who, id)
	if err != nil {
		return err
	}
	if isClaimsJob(j) {
		return web.undoClaims(w, r, who, id)
	}
	if err := r.ParseForm(); err != nil {
		return errForm
	}
	if err := web.Jobs.Undo(r.Context(), who, id); err != nil {
		return err
	}
	if j.Kind == jobs.BulkKind {
		return web.awaitBulk(w, r, who, j)
	}
	return redirect(w, r, "/jobs/"+id.String())
}

// jobLeftOut sends the rows that an import left out, with the reasons, as CSV.
func (web *Web) jobLeftOut(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	body, err := web.jobOf(r, who)
	if err != nil {
		return err
	}
	if body.Kind != jobs.ImportKind || body.Import.LeftOut == "" {
		return warranty.ErrNotFound
	}
	attachCSV(w.Header(), "not-imported.csv")
	_, _ = io.WriteString(w, body.Import.LeftOut) // the client may be gone
	return nil
}
