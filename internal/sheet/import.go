package sheet

import (
	"context"
	"errors"
	"io"
	"net/http"

	"warranty.example/svc/warranty"
)

// Service has the operations that an import needs. They call the service in this
// process, or a remote one.
type Service struct {
	Lookup func(context.Context, warranty.LookupWarranties) (warranty.Lookups, error)
	Create func(context.Context, warranty.CreateWarranty) (warranty.Warranty, error)
	Get    func(context.Context, warranty.GetWarranty) (warranty.Warranty, error)
	Update func(context.Context, warranty.UpdateWarranty) (warranty.Warranty, error)
}

// Outcome is the result for a row. In a dry run it is the expected result.
type Outcome uint8

// The outcomes.
const (
	ToCreate        Outcome = iota // will be created; dry run only
	Created                        // created
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
	AlreadyImported int                `json:"already_imported"`
	LooksImported   int                `json:"looks_already_imported"`
	OtherDates      int                `json:"already_imported_with_other_dates"`
	Skipped         int                `json:"skipped"`
	Reasons         map[SkipReason]int `json:"skipped_by_reason"`
	Refused         int                `json:"failed"`
	Repeated        int                `json:"repeated_rows"`
}

func (c *Counts) add(row Row, o Outcome) {
	c.Rows++
	switch o {
	case ToCreate:
		c.ToCreate++
	case Created:
		c.Created++
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
	// Each is called for every row, in order.
	Each func(Row, Outcome) error
	// Counted is called after every row with the counts so far. It may be nil.
	Counted func(Counts) error
	// Done reports whether an earlier run of this import created the record of a line. It may be nil.
	Done func(line int) bool

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

func (im *Import) perform(ctx context.Context, rows []Row) error {
	found, err := im.lookup(ctx, rows)
	if err != nil {
		return err
	}
	for i := range rows {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		outcome, err := im.one(context.WithValue(ctx, lineKey{}, rows[i].Line), &rows[i], found[i])
		if err != nil {
			return err
		}
		im.Counts.add(rows[i], outcome)
		if im.Each != nil {
			if err := im.Each(rows[i], outcome); err != nil {
				return err
			}
		}
		if im.Counted != nil {
			if err := im.Counted(im.Counts); err != nil {
				return err
			}
		}
	}
	return nil
}

type lineKey struct{}

// LineOf returns the line of the row that is imported.
func LineOf(ctx context.Context) int {
	line, _ := ctx.Value(lineKey{}).(int)
	return line
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

// one imports a row. A validation error of the service becomes the row's error.
func (im *Import) one(ctx context.Context, row *Row, found warranty.Lookup) (Outcome, error) {
	done := im.Done != nil && im.Done(row.Line)
	switch {
	case done && (found.WarrantyID == nil || im.AllowDuplicates):
		return Created, nil
	case row.Err != nil:
		return Refused, nil //nolint:nilerr // the import continues with the next row
	case row.Skip != "":
		return Skipped, nil
	case found.WarrantyID != nil && (!im.AllowDuplicates || *found.MatchedBy == warranty.ByExternalID):
		outcome := AlreadyImported
		if *found.MatchedBy == warranty.ByContent {
			outcome = LooksImported
		}
		if done {
			outcome = Created
		}
		row.OtherDates = otherDates(found, *row)
		if im.DryRun || found.Status != nil && *found.Status == row.Status {
			return outcome, nil
		}
		return outcome, im.finish(ctx, *row, *found.WarrantyID)
	case im.DryRun:
		return ToCreate, nil
	}
	if found.WarrantyID != nil {
		row.changeKey("again", found.WarrantyID.String())
	}
	return im.create(ctx, row)
}

// otherDates reports whether a record covers other days than the row, as after a renewal. An older
// service does not return them.
func otherDates(found warranty.Lookup, row Row) bool {
	return found.StartDate != nil && *found.StartDate != row.Input.StartDate ||
		found.EndDate != nil && *found.EndDate != row.Input.EndDate
}

// create creates the record of a row. The status is set by an update, because a
// create does not accept one.
func (im *Import) create(ctx context.Context, row *Row) (Outcome, error) {
	made, err := im.Service.Create(ctx, row.Input)
	if err == nil && made.Replayed() {
		// An earlier run created it. If it was deleted since, create it again.
		_, err = im.Service.Get(ctx, warranty.GetWarranty{ID: warranty.WarrantyKey{ID: made.ID}})
		if err == nil {
			return AlreadyImported, im.finish(ctx, *row, made.ID)
		}
		if isCode(err, warranty.NotFound) {
			row.changeKey("gone", made.ID.String())
			return im.create(ctx, row)
		}
	}
	var refusal *warranty.Error
	if errors.As(err, &refusal) {
		switch {
		case refusal.Code == warranty.AlreadyExists && refusal.ExistingID != nil:
			return AlreadyImported, im.finish(ctx, *row, *refusal.ExistingID)
		case refusal.Code.Info().Status == http.StatusUnprocessableEntity:
			row.Err = refusal
			return Refused, nil
		}
	}
	if err != nil || row.Status == warranty.Active {
		return Created, err
	}
	_, err = im.Service.Update(ctx, warranty.UpdateWarranty{ID: warranty.WarrantyKey{ID: made.ID}, Status: &row.Status})
	return Created, err
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
	_, err = im.Service.Update(ctx, warranty.UpdateWarranty{ID: warranty.WarrantyKey{ID: id}, Status: &row.Status, IfMatch: w.ETag()})
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
