package sheet

import (
	"context"
	"errors"
	"io"

	"warranty.example/svc/warranty"
)

// Service has the operations that an import needs. They call the service in this
// process, or a remote one.
type Service struct {
	Lookup func(context.Context, warranty.LookupWarranties) (warranty.Lookups, error)
	// Batch creates warranties. lines has the lines of the rows, in the order of the items.
	Batch func(ctx context.Context, in warranty.CreateBatch, lines []int64) (warranty.BatchResults, error)
	Get   func(context.Context, warranty.GetWarranty) (warranty.Warranty, error)
	// Update changes the warranty of a line.
	Update func(ctx context.Context, in warranty.UpdateWarranty, line int64) error
}

// Outcome is the result for a row. In a dry run it is the expected result.
type Outcome uint8

// The outcomes.
const (
	ToCreate        Outcome = iota // will be created; dry run only
	Created                        // created
	Updated                        // the record with its external id was changed
	Differs                        // the record with its external id has other values; see Row.Differs
	AlreadyImported                // a record has its external id, or its serial number and product
	LooksImported                  // a record has the same product, dates and supplier
	Skipped                        // the row has no warranty
	Refused                        // the row is invalid; see Row.Err
)

// Counts counts the outcomes of an import.
type Counts struct {
	Rows            int                `json:"rows"`
	ToCreate        int                `json:"to_create"`
	Created         int                `json:"created"`
	Updated         int                `json:"updated"`
	Differs         int                `json:"already_imported_with_other_values"`
	AlreadyImported int                `json:"already_imported"`
	LooksImported   int                `json:"looks_already_imported"`
	OtherDates      int                `json:"already_imported_with_other_dates"`
	Skipped         int                `json:"skipped"`
	Reasons         map[SkipReason]int `json:"skipped_by_reason"`
	Refused         int                `json:"failed"`
	Repeated        int                `json:"repeated_rows"`
	NotEmailed      int64              `json:"not_emailed"`
}

func (c *Counts) add(row Row, o Outcome) {
	c.Rows++
	switch o {
	case ToCreate:
		c.ToCreate++
	case Created:
		c.Created++
	case Updated:
		c.Updated++
	case Differs:
		c.Differs++
	case AlreadyImported:
		c.AlreadyImported++
	case LooksImported:
		c.LooksImported++
	case Skipped:
		c.Skipped++
		if c.Reasons == nil {
			c.Reasons = map[SkipReason]int{}
		}
		c.Reasons[row.Skip]++
	case Refused:
		c.Refused++
	}
	if row.NotEmailed != "" {
		c.NotEmailed++
	}
	if row.OtherDates {
		c.OtherDates++
	}
	if row.Repeat && (o == ToCreate || o == Created) {
		c.Repeated++
	}
}

// Import creates a warranty for each row of a sheet that is not imported yet.
// Running it again continues an import that was interrupted.
type Import struct {
	Rows *Reader
	// Service performs the operations. If Lookup is nil, existing records are not checked.
	Service Service
	// DryRun checks every row and changes nothing.
	DryRun bool
	// AllowDuplicates also creates rows that are already imported, unless they have
	// an external id.
	AllowDuplicates bool
	// Update changes the records with the external ids of rows to what the rows say. Without it such rows are
	// compared.
	Update bool
	// Each is called for every row, in order.
	Each func(Row, Outcome) error
	// Counted is called after every row with the counts so far. It may be nil.
	Counted func(Counts) error
	// Done returns whether an earlier run of this import Created or Updated the record of a line, or ToCreate. It may be
	// nil.
	Done func(line int) Outcome

	Counts Counts
}

// batch is the number of rows in one lookup.
const batch = 200

// Run imports the whole sheet. An invalid row is passed to Each with its error and
// does not end the import; any other error does.
func (im *Import) Run(ctx context.Context) error {
	for {
		rows, err := im.read(ctx)
		if failed := im.perform(ctx, rows); failed != nil {
			return failed
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// read reads the next batch. On error it also returns the rows read before it.
func (im *Import) read(ctx context.Context) ([]Row, error) {
	var rows []Row
	for len(rows) < batch {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		row, err := im.Rows.Next()
		if err != nil {
			return rows, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// perform imports rows. Those to create or to compare are sent in batches that count as one request each; every row is
// reported in order, as soon as the batches before it are done.
func (im *Import) perform(ctx context.Context, rows []Row) error {
	found, err := im.lookup(ctx, rows)
	if err != nil {
		return err
	}
	outcomes := make([]Outcome, len(rows))
	reported := 0
	var waiting []*sending
	flush := func(end int) error {
		if err := im.send(ctx, waiting); err != nil {
			return err
		}
		waiting = nil
		for ; reported < end; reported++ {
			if err := im.report(rows[reported], outcomes[reported]); err != nil {
				return err
			}
		}
		return nil
	}
	for i := range rows {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		send, err := im.decide(ctx, &rows[i], found[i], &outcomes[i])
		if err != nil {
			return err
		}
		if send {
			waiting = append(waiting, &sending{&rows[i], &outcomes[i]})
		}
		if len(waiting) == warranty.BatchPerRequest {
			if err := flush(i + 1); err != nil {
				return err
			}
		}
	}
	return flush(len(rows))
}

// report counts a row and passes it on.
func (im *Import) report(row Row, outcome Outcome) error {
	im.Counts.add(row, outcome)
	if im.Each != nil {
		if err := im.Each(row, outcome); err != nil {
			return err
		}
	}
	if im.Counted != nil {
		return im.Counted(im.Counts)
	}
	return nil
}

// lookup finds the existing records of the rows.
func (im *Import) lookup(ctx context.Context, rows []Row) ([]warranty.Lookup, error) {
	found := make([]warranty.Lookup, len(rows))
	if im.Service.Lookup == nil {
		return found, nil
	}
	var in warranty.LookupWarranties
	var at []int
	for i, row := range rows {
		if row.Err == nil && row.Skip == "" {
			in.Items, at = append(in.Items, row.item), append(at, i)
		}
	}
	if len(at) == 0 {
		return found, nil
	}
	answer, err := im.Service.Lookup(ctx, in)
	if err != nil {
		return nil, err
	}
	if len(answer.Results) != len(at) {
		return nil, errors.New("the lookup returned a different number of results")
	}
	for k, i := range at {
		found[i] = answer.Results[k]
	}
	return found, nil
}

// decide sets the outcome of a row, or reports that the row must be sent.
func (im *Import) decide(ctx context.Context, row *Row, found warranty.Lookup, outcome *Outcome) (send bool, err error) {
	var before Outcome
	if im.Done != nil {
		before = im.Done(row.Line)
	}
	done := before == Created
	switch {
	case before == Updated:
		*outcome = Updated
		return false, nil
	case done && (found.WarrantyID == nil || im.AllowDuplicates):
		*outcome = Created
		return false, nil
	case row.Skip != "":
		*outcome = Skipped
		return false, nil
	case row.Err != nil:
		*outcome = Refused
		return false, nil //nolint:nilerr // the import continues with the next row
	case found.WarrantyID == nil:
		*outcome = ToCreate
		return !im.DryRun, nil
	case *found.MatchedBy == warranty.ByExternalID && !done && !im.DryRun:
		return true, nil
	case im.AllowDuplicates && *found.MatchedBy != warranty.ByExternalID:
		row.changeKey("again", found.WarrantyID.String())
		*outcome = ToCreate
		return !im.DryRun, nil
	}
	*outcome = AlreadyImported
	if *found.MatchedBy == warranty.ByContent {
		*outcome = LooksImported
	}
	if done {
		*outcome = Created
	}
	row.OtherDates = otherDates(found, *row)
	if im.DryRun || found.Status != nil && *found.Status == row.Status {
		return false, nil
	}
	return false, im.finish(ctx, *row, *found.WarrantyID)
}

// otherDates reports whether a record covers other days than the row, as after a renewal. An older
// service does not return them.
func otherDates(found warranty.Lookup, row Row) bool {
	return found.StartDate != nil && *found.StartDate != row.Input.StartDate ||
		found.EndDate != nil && *found.EndDate != row.Input.EndDate
}

// finish sets the status of a record that an interrupted run created. It does not
// touch a record that was changed since or that differs from the row.
func (im *Import) finish(ctx context.Context, row Row, id warranty.ID) error {
	if row.Status == warranty.Active {
		return nil
	}
	w, err := im.Service.Get(ctx, warranty.GetWarranty{ID: warranty.WarrantyKey{ID: id}})
	if isCode(err, warranty.NotFound) {
		return nil
	}
	if err != nil || w.Version != 1 || !row.describes(w) {
		return err
	}
	in := warranty.UpdateWarranty{ID: warranty.WarrantyKey{ID: id}, Status: &row.Status, IfMatch: w.ETag()}
	err = im.Service.Update(ctx, in, int64(row.Line))
	if isCode(err, warranty.PreconditionFailed) {
		return nil // changed concurrently
	}
	return err
}

// describes reports whether a record equals what the row would create.
func (r Row) describes(w warranty.Warranty) bool {
	is := func(value *string, want string) bool {
		return value == nil && want == "" || value != nil && *value == want
	}
	in := r.Input
	return w.ProductName == in.ProductName && w.StartDate == in.StartDate && w.EndDate == in.EndDate &&
		is(w.SerialNumber, in.SerialNumber) && is(w.ExternalID, in.ExternalID) && is(w.Category, in.Category) &&
		is(w.Supplier, in.Supplier) && is(w.SellerName, in.SellerName) && is(w.SellerEmail, in.SellerEmail) &&
		is(w.Description, in.Description) && is(w.Brand, in.Brand) && is(w.Model, in.Model) && is(w.GTIN, in.GTIN) &&
		is(w.CustomerName, in.CustomerName) && w.Roles.Has(warranty.Owner) && w.Roles.Has(warranty.Issuer)
}

func isCode(err error, code warranty.Code) bool {
	var refusal *warranty.Error
	return errors.As(err, &refusal) && refusal.Code == code
}
