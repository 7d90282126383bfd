package sheet

import (
	"context"
	"errors"
	"io"
	"net/http"

	"warranty.example/svc/warranty"
)

// Service is what an import asks for: the service in this process, or a client of
// one elsewhere.
type Service struct {
	Lookup func(context.Context, warranty.LookupWarranties) (warranty.Lookups, error)
	Create func(context.Context, warranty.CreateWarranty) (warranty.Warranty, error)
	Get    func(context.Context, warranty.GetWarranty) (warranty.Warranty, error)
	Update func(context.Context, warranty.UpdateWarranty) (warranty.Warranty, error)
}

// Outcome is what became of a row, or would.
type Outcome uint8

// The outcomes.
const (
	ToCreate        Outcome = iota // it will be created; in a dry run only
	Created                        // it was
	AlreadyImported                // a record with its external id, or serial number and product, exists
	LooksImported                  // a record with the same product, dates and supplier exists
	Skipped                        // it is not about a warranty
	Refused                        // its error says why
)

// Counts are the outcomes of an import.
type Counts struct {
	Rows            int                `json:"rows"`
	ToCreate        int                `json:"to_create"`
	Created         int                `json:"created"`
	AlreadyImported int                `json:"already_imported"`
	LooksImported   int                `json:"looks_already_imported"`
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
	if row.Repeat && (o == ToCreate || o == Created) {
		c.Repeated++
	}
}

// Import creates a warranty of each row of a sheet that does not have one yet.
// A run that ended early is finished by another one.
type Import struct {
	Rows *Reader
	// Service performs it. Without Lookup, nobody is asked which rows are imported already.
	Service Service
	// DryRun only tells what would become of each row.
	DryRun bool
	// AllowDuplicates creates rows that seem to be imported already. An external id
	// stays unique.
	AllowDuplicates bool
	// Each is called for every row, in order.
	Each func(Row, Outcome) error

	Counts Counts
}

// batch is how many rows are looked for at once.
const batch = 200

// Run reads the sheet to its end. An error ends the import; what is wrong with a
// row alone is told to Each, and the next one is read.
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

// read reads some rows. Rows that were read before an error are given with it.
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
		outcome, err := im.one(ctx, &rows[i], found[i])
		if err != nil {
			return err
		}
		im.Counts.add(rows[i], outcome)
		if im.Each != nil {
			if err := im.Each(rows[i], outcome); err != nil {
				return err
			}
		}
	}
	return nil
}

// lookup asks which of the rows have a record already.
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
		return nil, errors.New("the service answered for another number of rows")
	}
	for k, i := range at {
		found[i] = answer.Results[k]
	}
	return found, nil
}

// one imports a row. What the service refuses about it becomes the row's error.
func (im *Import) one(ctx context.Context, row *Row, found warranty.Lookup) (Outcome, error) {
	switch {
	case row.Err != nil:
		return Refused, nil //nolint:nilerr // the row is told of, and the next one is read
	case row.Skip != "":
		return Skipped, nil
	case found.WarrantyID != nil && (!im.AllowDuplicates || *found.MatchedBy == warranty.ByExternalID):
		outcome := AlreadyImported
		if *found.MatchedBy == warranty.ByContent {
			outcome = LooksImported
		}
		if im.DryRun || found.Status != nil && *found.Status == row.Status {
			return outcome, nil
		}
		return outcome, im.finish(ctx, *row, *found.WarrantyID)
	case im.DryRun:
		return ToCreate, nil
	}
	if found.WarrantyID != nil {
		row.rekey("again", found.WarrantyID.String())
	}
	return im.create(ctx, row)
}

// create makes the record of a row, and sets its status: a create does not take it.
func (im *Import) create(ctx context.Context, row *Row) (Outcome, error) {
	made, err := im.Service.Create(ctx, row.Input)
	if err == nil && made.Replayed() {
		// An earlier run made it. When it is gone since, the row is imported once more.
		_, err = im.Service.Get(ctx, warranty.GetWarranty{ID: made.ID})
		if err == nil {
			return AlreadyImported, im.finish(ctx, *row, made.ID)
		}
		if isCode(err, warranty.NotFound) {
			row.rekey("gone", made.ID.String())
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
	_, err = im.Service.Update(ctx, warranty.UpdateWarranty{ID: made.ID, Status: &row.Status})
	return Created, err
}

// finish sets the status of a record that an earlier run created and then ended.
// A record that anyone has changed since, or that says something else than the
// row, is left alone.
func (im *Import) finish(ctx context.Context, row Row, id warranty.ID) error {
	if row.Status == warranty.Active {
		return nil
	}
	w, err := im.Service.Get(ctx, warranty.GetWarranty{ID: id})
	if isCode(err, warranty.NotFound) {
		return nil
	}
	if err != nil || w.Version != 1 || !row.describes(w) {
		return err
	}
	_, err = im.Service.Update(ctx, warranty.UpdateWarranty{ID: id, Status: &row.Status, IfMatch: w.ETag()})
	if isCode(err, warranty.PreconditionFailed) {
		return nil // it was changed just now
	}
	return err
}

// describes tells whether a record is what the row would create.
func (r Row) describes(w warranty.Warranty) bool {
	is := func(value *string, want string) bool {
		return value == nil && want == "" || value != nil && *value == want
	}
	in := r.Input
	return w.ProductName == in.ProductName && w.StartDate == in.StartDate && w.EndDate == in.EndDate && is(w.SerialNumber, in.SerialNumber) &&
		is(w.ExternalID, in.ExternalID) && is(w.Category, in.Category) && is(w.Supplier, in.Supplier) && is(w.SellerName, in.SellerName) &&
		is(w.SellerEmail, in.SellerEmail) && is(w.Description, in.Description) && w.Roles.Has(warranty.Owner) && w.Roles.Has(warranty.Issuer)
}

func isCode(err error, code warranty.Code) bool {
	var refusal *warranty.Error
	return errors.As(err, &refusal) && refusal.Code == code
}
