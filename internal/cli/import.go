package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"warranty.example/svc/api"
	"warranty.example/svc/client"
	"warranty.example/svc/internal/sheet"
	"warranty.example/svc/warranty"
)

// importer is one import.
type importer struct {
	*run
	name       string // of the file
	errorsFile string
	dryRun     bool
	duplicates bool
	update     bool
	maps       []string
	order      string
	encoding   string
	file       sheet.Options // the flags about the file that are passed on as they are

	rows   *sheet.Reader
	failed *errorsFile
	result importResult
}

// importResult is the result that an import prints.
type importResult struct {
	DryRun  bool              `json:"dry_run"`
	Source  string            `json:"source"`
	Columns map[string]string `json:"columns"`
	Unused  []string          `json:"unused_columns"`
	sheet.Assumed
	sheet.Counts
	// ExistingChecked reports whether existing records were looked up.
	ExistingChecked bool    `json:"existing_checked"`
	NewReferences   bool    `json:"new_references"`
	ErrorsFile      *string `json:"errors_file"`
}

func (r *run) importCommand() *cobra.Command {
	i := &importer{run: r}
	cmd := &cobra.Command{
		Use:   "import <file.xlsx|file.csv|->",
		Short: "Import warranties from a spreadsheet",
		Long: `Creates a warranty for each row of an .xlsx or CSV file, or of standard input
with -.

svc finds the line with the column names below titles, guesses the column of each
field, and recognizes exports of Shopify, Warracker, Homebox and Snipe-IT. It
reads English and German names, dates, prices and lengths. To see what is read as
what and check every row without creating anything, use --dry-run; to override a
guess, use --map. Instead of an end date, a row can have a length, such as
"24 months", "2 J." or "2.5 years", or a number if the column names its unit, such
as "Warranty (years)". If all numbers without a unit are 12 or more, they are
months. For rows with neither, use --length.

Of a workbook, svc reads the first sheet with column names, or --sheet. Empty and
hidden rows, totals, repeated column names and rows that have the same product,
serial number and dates as an earlier one are skipped and counted. Serial numbers
that a spreadsheet changed, such as 4.23E+12, are errors.

A row counts as already imported if a record has the same external_id; without
one, the same serial number and product name; without those, the same product,
dates and supplier. svc does not create such rows again unless you use
--allow-duplicates; rows with an existing external_id are never created again.
With --update, their records get the values of the file. Without it, rows that
differ from their record are listed and left out, and the exit code is 2.
Rows that fail are written to FILE.errors.csv with the reason. Fix them there and
import that file. At the rate limit, the import waits. An import that was
interrupted continues when you run it again.

Exports of svc keep their status. Every record gets a new reference number.

` + wrap("Fields for --map: "+strings.Join(sheet.Fields(), ", ")+".", 80) + `

Requires the scopes warranties:read and warranties:write. --dry-run requires only
warranties:read; without a key it only checks the file.`,
		Example: `  svc warranties import items.xlsx --dry-run
  svc warranties import sales.xlsx --sheet Sales --header-line 4
  svc warranties import items.csv --map product_name=Item --map category=
  svc warranties import orders.csv --update
  svc warranties import old.csv --encoding windows-1252 --map months=Warranty
  svc warranties export | svc --base-url https://other.example/api/v1 warranties import -`,
		Args: arguments("file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			i.name = args[0]
			return i.perform(cmd.Context())
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().BoolVar(&i.dryRun, "dry-run", false, "check every row and create nothing")
	cmd.Flags().StringArrayVar(&i.maps, "map", nil,
		"column of a field: `field=Column`; field= leaves the field out (repeatable)")
	cmd.Flags().StringVar(&i.order, "date-order", "", "`order` of day and month in dates such as 03/04/2026: dmy or mdy")
	cmd.Flags().StringVar(&i.file.Sheet, "sheet", "",
		"`name` of the sheet of a workbook (default: the first with column names)")
	cmd.Flags().IntVar(&i.file.HeaderLine, "header-line", 0, "`line` with the column names (default: found)")
	cmd.Flags().StringVar(&i.file.Length, "length", "",
		"`length` of warranties without an end and a length, such as \"2 years\"")
	cmd.Flags().StringVar(&i.file.Currency, "currency", "", "`currency` of prices without one, such as EUR")
	cmd.Flags().BoolVar(&i.file.Hidden, "hidden", false, "also read hidden rows of a workbook")
	cmd.Flags().StringVar(&i.encoding, "encoding", "", "`encoding` of the file: "+encodings()+" (default: detected)")
	cmd.Flags().BoolVar(&i.duplicates, "allow-duplicates", false, "also create rows that are already imported")
	cmd.Flags().BoolVar(&i.update, "update", false, "change the records with the same external_id to what the file says")
	cmd.Flags().StringVar(&i.errorsFile, "errors", "",
		"`file` for rows that fail (default FILE.errors.csv, or FILE.errors-2.csv if that exists)")
	complete(cmd, "date-order", []string{"dmy", "mdy"})
	complete(cmd, "encoding", strings.Split(encodings(), ", "))
	return cmd
}

func encodings() string {
	var names []string
	for _, e := range sheet.Encodings() {
		names = append(names, string(e))
	}
	return strings.Join(names, ", ")
}

// perform imports the file in batches of rows.
func (i *importer) perform(ctx context.Context) error {
	options, err := i.options()
	if err != nil {
		return err
	}
	source, err := i.open(ctx)
	if err != nil {
		return err
	}
	defer source.Close() // read-only
	if i.rows, err = sheet.Open(source, options); err != nil {
		return asUsage(err)
	}
	i.result = importResult{
		DryRun:        i.dryRun,
		Source:        i.rows.Source(),
		Columns:       i.rows.Described(),
		Unused:        i.rows.Unused(),
		NewReferences: i.rows.Described()["reference_number"] != "",
	}
	i.failed = &errorsFile{path: i.errorsFile, header: i.rows.Header()}
	im := &sheet.Import{Rows: i.rows, DryRun: i.dryRun, AllowDuplicates: i.duplicates, Update: i.update}
	if im.Service, err = i.service(); err != nil {
		return err
	}
	i.result.ExistingChecked = im.Service.Lookup != nil
	im.Each = func(row sheet.Row, outcome sheet.Outcome) error { return i.rowDone(im.Counts, row, outcome) }
	i.startProgress()
	err = asUsage(im.Run(ctx))
	i.result.Counts, i.result.Assumed = im.Counts, i.rows.Assumed()
	if closed := i.failed.close(); err == nil {
		err = closed
	}
	return i.finish(err)
}

// service returns the operations of the import. It is empty in a dry run without a key.
func (i *importer) service() (sheet.Service, error) {
	if i.dryRun {
		if key, err := i.findKey(); err != nil || key.Secret == "" {
			return sheet.Service{}, err
		}
	}
	remote, err := i.connect(true)
	if err != nil {
		return sheet.Service{}, err
	}
	create, update := bind(remote, api.CreateBatch), bind(remote, api.UpdateWarranty)
	return sheet.Service{
		Lookup: bind(remote, api.LookupWarranties),
		Batch: func(ctx context.Context, in warranty.CreateBatch, _ []int64) (warranty.BatchResults, error) {
			return create(ctx, in)
		},
		Get: bind(remote, api.GetWarranty),
		Update: func(ctx context.Context, in warranty.UpdateWarranty, _ int64) error {
			_, err := update(ctx, in)
			return err
		},
	}, nil
}

// bind returns an operation as a function.
func bind[In, Out any](remote *client.Client, op api.Op[In, Out]) func(context.Context, In) (Out, error) {
	return func(ctx context.Context, in In) (Out, error) {
		out, _, err := call(ctx, remote, op, in)
		return out, err
	}
}

// options parses the flags about the file.
func (i *importer) options() (sheet.Options, error) {
	o := i.file
	o.NoCustomers = true // nobody has seen a preview
	o.Columns, o.Order, o.Currency = map[string]string{}, sheet.DateOrder(i.order), strings.ToUpper(o.Currency)
	if o.HeaderLine < 0 {
		return o, usage("Invalid --header-line.", "Use the number of a line, from 1.")
	}
	switch o.Order {
	case sheet.UnknownOrder, sheet.DayFirst, sheet.MonthFirst:
	default:
		return o, usage("Unknown date order "+quote(i.order)+".", "Use --date-order dmy or mdy.")
	}
	var known bool
	if o.Encoding, known = sheet.ParseEncoding(i.encoding); !known {
		return o, usage("Unknown encoding "+quote(i.encoding)+".", "Use one of "+encodings()+".")
	}
	for _, chosen := range i.maps {
		field, name, ok := strings.Cut(chosen, "=")
		field = strings.ReplaceAll(strings.TrimSpace(field), "-", "_")
		if !ok || !slices.Contains(sheet.Fields(), field) {
			return o, usage("Invalid --map "+quote(chosen)+".",
				"Use --map field=Column. Fields: "+strings.Join(sheet.Fields(), ", ")+".")
		}
		o.Columns[field] = name
	}
	return o, nil
}

// asUsage converts the error for an unreadable file to a usage error.
func asUsage(err error) error {
	var fault *sheet.Fault
	var missing *sheet.MissingColumns
	var header *sheet.NoHeader
	switch {
	case errors.As(err, &fault):
		return usage(fault.What.String(), fault.Fix.String())
	case errors.As(err, &header):
		return usage(header.Error(), "Choose it with --header-line. The file begins with:\n"+firstLines(header))
	case errors.As(err, &missing) && missing.Fields[0] == "end_date":
		return usage(missing.Error(), "Choose one with --map end_date=Column, or set the length of all with --length. "+
			"The file has the columns "+strings.Join(missing.Header, ", ")+".")
	case errors.As(err, &missing):
		return usage(missing.Error(), "Choose one with --map "+missing.Fields[0]+"=Column. The file has the columns "+
			strings.Join(missing.Header, ", ")+".")
	}
	return err
}

// firstLines returns the first lines of a file with their numbers.
func firstLines(h *sheet.NoHeader) string {
	var lines []string
	for _, l := range h.Lines {
		lines = append(lines, fmt.Sprintf("%4d  %s", l.Line, strings.Join(l.Cells, " | ")))
	}
	return strings.Join(lines, "\n")
}

// open opens the file and chooses the name of the errors file.
func (i *importer) open(ctx context.Context) (*os.File, error) {
	if i.name == "-" {
		if i.errorsFile == "" {
			i.errorsFile = unusedName("import.errors", ".csv")
		}
		return i.spool(&stdin{ctx: ctx, r: i.Stdin})
	}
	if i.errorsFile == "" {
		i.errorsFile = unusedName(strings.TrimSuffix(i.name, filepath.Ext(i.name))+".errors", ".csv")
	}
	f, err := os.Open(i.name)
	if err != nil {
		return nil, usage("Cannot read the file "+quote(i.name)+".",
			"Check its name and permissions. Use - for standard input.")
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		_ = f.Close() // read-only
		return nil, usage(quote(i.name)+" is a directory.", "Use an .xlsx or CSV file.")
	}
	if err != nil || !info.Mode().IsRegular() {
		defer f.Close() // read-only
		return i.spool(f)
	}
	if out, err := os.Stat(i.errorsFile); err == nil && os.SameFile(info, out) {
		_ = f.Close() // read-only
		return nil, usage("The errors file is the file to import.", "Choose another file with --errors.")
	}
	return f, nil
}

// unusedName returns the name of a file that does not exist, so that an earlier errors
// file with corrections is not overwritten.
func unusedName(name, extension string) string {
	file := name + extension
	for n := 2; ; n++ {
		if _, err := os.Lstat(file); err != nil {
			return file
		}
		file = fmt.Sprintf("%s-%d%s", name, n, extension)
	}
}

// spool copies r to a temporary file, because an import reads its input twice.
func (i *importer) spool(r io.Reader) (*os.File, error) {
	f, err := os.CreateTemp("", "svc-import-*.csv")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(f.Name()) // on Windows it stays until the system cleans up
	if _, err = io.Copy(f, r); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		_ = f.Close() // err is more useful
		return nil, err
	}
	return f, nil
}

// rowDone records the outcome of a row. An error ends the import.
func (i *importer) rowDone(counts sheet.Counts, row sheet.Row, outcome sheet.Outcome) error {
	i.result.Counts = counts
	done := float64(counts.Rows) / float64(max(1, i.rows.Total()))
	i.bar.update(done, fmt.Sprintf("%d rows, %d failed", counts.Rows, counts.Refused))
	switch outcome {
	case sheet.Refused:
		return i.reportFailure(row)
	case sheet.Differs:
		i.reportDifference(row)
	}
	return nil
}

// reportDifference names the fields in which a row differs from its record.
func (i *importer) reportDifference(r sheet.Row) {
	switch n := i.result.Differs; {
	case n <= maxNotes:
		i.note("Line %d: already imported, with another %s.", r.Line, strings.Join(r.Differs, ", "))
	case n == maxNotes+1:
		i.note("More rows differ from their records.")
	}
}

// maxNotes is the number of rows that are printed one by one: those that fail in a dry run, and those that differ.
const maxNotes = 20

// reportFailure records a row that failed.
func (i *importer) reportFailure(r sheet.Row) error {
	if !i.dryRun {
		return i.failed.add(r)
	}
	switch n := i.result.Refused; {
	case n <= maxNotes:
		i.note("Line %d: %s", r.Line, r.Reason())
	case n == maxNotes+1:
		i.note("More rows have errors. The import writes all of them to %s.", i.errorsFile)
	}
	return nil
}

// finish prints the result, also after an error.
func (i *importer) finish(err error) error {
	i.bar.clear()
	if i.failed.file != nil {
		i.result.ErrorsFile = &i.failed.path
	}
	if err != nil {
		if !i.dryRun {
			i.note("Import stopped: %d created, %d updated, %d already imported, %d failed. Run it again to continue.",
				i.result.Created, i.result.Updated, i.existing(), i.result.Refused)
		}
		return err
	}
	if err := i.showLocal(i.result, i.summary); err != nil {
		return err
	}
	if i.result.Refused > 0 || i.result.Differs > 0 {
		return exitError(exitUsage)
	}
	return nil
}

// existing is the number of rows whose record exists.
func (i *importer) existing() int {
	return i.result.AlreadyImported + i.result.LooksImported + i.result.Differs
}
