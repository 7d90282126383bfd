package jobs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/sheet"
	"warranty.example/svc/warranty"
)

// Import is a sheet and how to import it.
type Import struct {
	Name            string        `json:"name"` // of the file
	Text            []byte        `json:"text"`
	Options         sheet.Options `json:"options"`
	AllowDuplicates bool          `json:"allow_duplicates"`
	Update          bool          `json:"update"`
}

// ImportResult is the progress and the result of an import.
type ImportResult struct {
	sheet.Counts
	Name   string            `json:"name"` // of the file
	Groups sheet.FaultGroups `json:"groups"`
	Emails int64             `json:"emails"` // created rows with the address of a customer
	// LeftOut has the rows that were not imported, with the reasons, as CSV. It is empty until the import has ended.
	LeftOut string `json:"left_out,omitempty"`
}

// SheetService returns the operations that previewing an import needs, acting for a principal.
func SheetService(s *service.Service, p warranty.Principal) sheet.Service {
	return sheet.Service{
		Lookup: acting(p, s.LookupWarranties),
		Get:    acting(p, s.GetWarranty),
	}
}

// acting binds an operation to a principal.
func acting[In, Out any](
	p warranty.Principal, do func(context.Context, warranty.Principal, In) (Out, error),
) func(context.Context, In) (Out, error) {
	return func(ctx context.Context, in In) (Out, error) { return do(ctx, p, in) }
}

// runImport performs the job of an import. Rows that created or changed a warranty before an interruption are skipped.
func (js *Jobs) runImport(ctx context.Context, p warranty.Principal, j *warranty.Job, save func() error) error {
	var in Import
	if err := json.Unmarshal([]byte(j.Input), &in); err != nil {
		return err
	}
	done, err := js.rows(ctx, j.ID)
	if err != nil {
		return err
	}
	var result, before ImportResult // before is what the rows before an interruption did
	if j.Result != "" {
		if err := json.Unmarshal([]byte(j.Result), &before); err != nil {
			return err
		}
	}
	note := func(counts sheet.Counts) error {
		result.Counts = counts
		result.NotEmailed += before.NotEmailed
		text, err := json.Marshal(result)
		j.Done, j.Result = int64(counts.Rows), string(text)
		return err
	}
	im := sheet.Import{Service: SheetService(js.Service, p), AllowDuplicates: in.AllowDuplicates, Update: in.Update}
	im.Done = func(line int) sheet.Outcome { return done[int64(line)] }
	im.Service.Batch = func(ctx context.Context, in warranty.CreateBatch, lines []int64) (warranty.BatchResults, error) {
		return js.Service.CreateBatchInJob(ctx, p, in, j.ID, lines)
	}
	im.Service.Update = func(ctx context.Context, in warranty.UpdateWarranty, line int64) error {
		return js.Service.UpdateInJob(ctx, p, in, service.JobRow{Job: j.ID, Row: line})
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
	result.Name = in.Name
	var left leftOut
	im.Each = func(row sheet.Row, outcome sheet.Outcome) error {
		if outcome == sheet.Created && row.Input.CustomerEmail != "" {
			result.Emails++
		}
		if outcome == sheet.Refused {
			result.Groups.Add(row)
		}
		return left.add(im.Rows.Header(), row, outcome)
	}
	im.Rows, err = sheet.Open(bytes.NewReader(in.Text), in.Options)
	if err == nil {
		err = im.Run(ctx)
	}
	result.LeftOut = left.text.String()
	var fault *sheet.Fault // the preview has refused such a sheet
	if errors.As(err, &fault) {
		err = warranty.Refuse(warranty.ValidationFailed, "%s %s", fault.What, fault.Fix)
	}
	if noted := note(im.Counts); noted != nil {
		return noted
	}
	return err // what was noted is stored with it
}

// leftOut collects the rows that were not imported though they have a product, as CSV.
type leftOut struct {
	text strings.Builder
	rows *sheet.Failures
}

func (l *leftOut) add(header []string, row sheet.Row, outcome sheet.Outcome) error {
	if outcome != sheet.Refused && row.Skip != sheet.LeftOut {
		return nil
	}
	if l.rows == nil {
		l.rows = sheet.NewFailures(&l.text, header)
	}
	return l.rows.Add(row)
}
