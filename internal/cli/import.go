package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"warranty.example/svc/api"
	"warranty.example/svc/client"
	"warranty.example/svc/internal/sheet"
)

// importer is one import.
type importer struct {
	*run
	name       string // of the file
	errorsFile string
	dryRun     bool
	duplicates bool
	maps       []string
	order      string
	encoding   string

	size   int64 // of the file; 0 when unknown
	rows   *sheet.Reader
	failed *errorsFile
	result importResult
}

// importResult is what an import says at its end.
type importResult struct {
	DryRun  bool              `json:"dry_run"`
	Source  string            `json:"source"`
	Columns map[string]string `json:"columns"`
	Unused  []string          `json:"unused_columns"`
	sheet.Assumed
	sheet.Counts
	// Asked tells whether the service was asked which rows are imported already.
	Asked         bool    `json:"existing_checked"`
	NewReferences bool    `json:"new_references"`
	ErrorsFile    *string `json:"errors_file"`
}

func (r *run) importCommand() *cobra.Command {
	i := &importer{run: r}
	cmd := &cobra.Command{Use: "import <file.csv|->", Short: "Create a warranty of each row of a CSV file",
		Long: `Reads a CSV file, or standard input with -, and creates a warranty of each row.

The first row names the columns. Which column is what is guessed, also for
exports of Warracker, Homebox and Snipe-IT; --dry-run shows the guesses and
checks every row without creating anything, and --map overrides a guess. The
end date may be given, or a length: "24 months", "2.5 years", or a number in a
column that names its unit, such as "Warranty (years)".

A row is already imported when a record has its external_id or, without one,
its serial number and product name, or else the same product, dates and
supplier. Such rows create nothing, however long ago the import was;
--allow-duplicates creates them all the same, unless they have an external_id.
Rows that fail are written with the reason to FILE.errors.csv; fix them there
and import that file. At the rate limit the import waits.

An export of this service keeps its statuses. Every record gets a new reference
number.

The fields for --map are ` + strings.Join(sheet.Fields(), ", ") + `.
The key needs the scopes warranties:read and warranties:write; --dry-run needs
warranties:read, and without a key checks only the file.`,
		Example: "  svc warranties import items.csv --dry-run\n  svc warranties import items.csv --map product_name=Item --map category=\n  svc warranties import old.csv --encoding windows-1252 --map months=Warranty\n  svc warranties export | svc --base-url https://other.example/api/v1 warranties import -",
		Args:    arguments("file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			i.name = args[0]
			return i.perform(cmd.Context())
		}}
	cmd.Flags().SortFlags = false
	cmd.Flags().BoolVar(&i.dryRun, "dry-run", false, "check every row and create nothing")
	cmd.Flags().StringArrayVar(&i.maps, "map", nil, "read a field from a column: `field=Column`; field= leaves it out (may be given again)")
	cmd.Flags().StringVar(&i.order, "date-order", "", "how to read 03/04/2026: `dmy` or mdy")
	cmd.Flags().StringVar(&i.encoding, "encoding", "", "`encoding` of the file: "+encodings()+" (default: detected)")
	cmd.Flags().BoolVar(&i.duplicates, "allow-duplicates", false, "also create rows that look already imported")
	cmd.Flags().StringVar(&i.errorsFile, "errors", "", "`file` for rows that fail (default FILE.errors.csv, or FILE.errors-2.csv if it exists)")
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

// perform imports the file. It holds some rows at a time.
func (i *importer) perform(ctx context.Context) error {
	options, err := i.options()
	if err != nil {
		return err
	}
	source, err := i.open(ctx)
	if err != nil {
		return err
	}
	defer source.Close() // it was only read
	if i.rows, err = sheet.Open(source, options); err != nil {
		return asUsage(err)
	}
	i.result = importResult{DryRun: i.dryRun, Source: i.rows.Source(), Columns: i.rows.Described(), Unused: i.rows.Unused(),
		NewReferences: i.rows.Described()["reference_number"] != ""}
	i.failed = &errorsFile{path: i.errorsFile, header: i.rows.Header()}
	im := &sheet.Import{Rows: i.rows, DryRun: i.dryRun, AllowDuplicates: i.duplicates}
	if im.Service, err = i.service(); err != nil {
		return err
	}
	i.result.Asked = im.Service.Lookup != nil
	im.Each = func(row sheet.Row, outcome sheet.Outcome) error { return i.told(im.Counts, row, outcome) }
	i.startProgress()
	err = asUsage(im.Run(ctx))
	i.result.Counts, i.result.Assumed = im.Counts, i.rows.Assumed()
	if closed := i.failed.close(); err == nil {
		err = closed
	}
	return i.finish(err)
}

// service is what the import asks. A dry run without a key asks nobody.
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
	return sheet.Service{Lookup: called(remote, api.LookupWarranties), Create: called(remote, api.CreateWarranty),
		Get: called(remote, api.GetWarranty), Update: called(remote, api.UpdateWarranty)}, nil
}

// called is an operation as a function.
func called[In, Out any](remote *client.Client, op api.Op[In, Out]) func(context.Context, In) (Out, error) {
	return func(ctx context.Context, in In) (Out, error) {
		var none Out
		out, answer, err := remote.Do(ctx, op.Spec, &in)
		if err != nil {
			return none, &remoteError{err, answer}
		}
		result, ok := out.(*Out)
		if !ok {
			return none, fmt.Errorf("%s answered with a %T", op.Name, out)
		}
		return *result, nil
	}
}

// options are what the flags say about the file.
func (i *importer) options() (sheet.Options, error) {
	o := sheet.Options{Columns: map[string]string{}, Order: sheet.DateOrder(i.order)}
	switch o.Order {
	case sheet.UnknownOrder, sheet.DayFirst, sheet.MonthFirst:
	default:
		return o, usage("There is no date order "+quote(i.order)+".", "Write --date-order dmy or mdy.")
	}
	var known bool
	if o.Encoding, known = sheet.ParseEncoding(i.encoding); !known {
		return o, usage("There is no encoding "+quote(i.encoding)+".", "Write --encoding with one of "+encodings()+".")
	}
	for _, chosen := range i.maps {
		field, name, ok := strings.Cut(chosen, "=")
		field = strings.ReplaceAll(strings.TrimSpace(field), "-", "_")
		if !ok || !slices.Contains(sheet.Fields(), field) {
			return o, usage("--map "+quote(chosen)+" names no field.", "Write --map field=Column; the fields are "+strings.Join(sheet.Fields(), ", ")+".")
		}
		o.Columns[field] = name
	}
	return o, nil
}

// asUsage makes a wrong command line of a file that cannot be read, and leaves
// other errors alone.
func asUsage(err error) error {
	var fault *sheet.Fault
	var missing *sheet.MissingColumns
	switch {
	case errors.As(err, &fault):
		return usage(fault.What, fault.Fix)
	case errors.As(err, &missing):
		return usage(missing.Error(), "Name it with --map "+missing.Fields[0]+"=Column; the file's columns are "+strings.Join(missing.Header, ", ")+".")
	}
	return err
}

// open opens the file and names that of its failures.
func (i *importer) open(ctx context.Context) (*os.File, error) {
	if i.name == "-" {
		if i.errorsFile == "" {
			i.errorsFile = unused("import.errors", ".csv")
		}
		return i.spool(&stdin{ctx: ctx, r: i.Stdin})
	}
	if i.errorsFile == "" {
		i.errorsFile = unused(strings.TrimSuffix(i.name, filepath.Ext(i.name))+".errors", ".csv")
	}
	f, err := os.Open(i.name)
	if err != nil {
		return nil, usage("The file "+quote(i.name)+" cannot be read.", "Check its name and whether you may read it; - is standard input.")
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		_ = f.Close() // it was only opened
		return nil, usage(quote(i.name)+" is a folder.", "Name a CSV file.")
	}
	if err != nil || !info.Mode().IsRegular() {
		defer f.Close() // it was only read
		return i.spool(f)
	}
	i.size = info.Size()
	if out, err := os.Stat(i.errorsFile); err == nil && os.SameFile(info, out) {
		_ = f.Close() // it was only opened
		return nil, usage("The failures would be written over the file itself.", "Name another file with --errors.")
	}
	return f, nil
}

// unused is the name of a file that does not exist: rows that failed before may have
// been corrected there, and not imported yet.
func unused(name, extension string) string {
	file := name + extension
	for n := 2; ; n++ {
		if _, err := os.Lstat(file); err != nil {
			return file
		}
		file = fmt.Sprintf("%s-%d%s", name, n, extension)
	}
}

// spool keeps what can be read once in a file, because an import reads it twice:
// to find out about it, and row by row.
func (i *importer) spool(r io.Reader) (*os.File, error) {
	f, err := os.CreateTemp("", "svc-import-*.csv")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(f.Name()) // where an open file cannot be removed, it stays until the system cleans up
	if i.size, err = io.Copy(f, r); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		_ = f.Close() // the first error is told
		return nil, err
	}
	return f, nil
}

// told notes what became of a row. An error ends the import.
func (i *importer) told(counts sheet.Counts, row sheet.Row, outcome sheet.Outcome) error {
	i.result.Counts = counts
	done := -1.0
	if i.size > 0 {
		done = float64(i.rows.BytesRead()) / float64(i.size)
	}
	i.bar.update(done, fmt.Sprintf("%d rows, %d failed", counts.Rows, counts.Refused))
	if outcome == sheet.Refused {
		return i.refuse(row)
	}
	return nil
}

// maxTold is how many faults a dry run tells of.
const maxTold = 20

// refuse notes a row that cannot be imported.
func (i *importer) refuse(r sheet.Row) error {
	if !i.dryRun {
		return i.failed.add(r)
	}
	switch n := i.result.Refused; {
	case n <= maxTold:
		i.note("Line %d: %s", r.Line, r.Reason())
	case n == maxTold+1:
		i.note("More lines have errors; the import will write all of them to %s.", i.errorsFile)
	}
	return nil
}

// finish says what was done, also when the import ended early.
func (i *importer) finish(err error) error {
	i.bar.clear()
	if i.failed.file != nil {
		i.result.ErrorsFile = &i.failed.path
	}
	if err != nil {
		if !i.dryRun {
			i.note("The import ended early: %d created, %d already imported, %d failed. Run it again: it continues where it ended.",
				i.result.Created, i.result.AlreadyImported+i.result.LooksImported, i.result.Refused)
		}
		return err
	}
	if err := i.showLocal(i.result, i.summary); err != nil {
		return err
	}
	if i.result.Refused > 0 {
		return exitError(exitUsage)
	}
	return nil
}

// summary is the result for people.
func (i *importer) summary() string {
	var b strings.Builder
	s, n := i.outStyle(), i.result
	if i.dryRun {
		if n.Source != "" {
			b.WriteString("This looks like an export of " + n.Source + ".\n")
		}
		field, from := &column{title: "FIELD"}, &column{title: "COLUMN", flex: true}
		for _, name := range slices.Sorted(maps.Keys(n.Columns)) {
			field.add(name)
			from.add(n.Columns[name])
		}
		b.WriteString(layout([]*column{field, from}, i.columns(), s))
		if len(n.Unused) > 0 {
			b.WriteString(s.faint("Not used: "+line(strings.Join(n.Unused, ", "))) + "\n")
		}
		b.WriteString(s.faint(i.assumptions()) + "\n")
	}
	made, count := "created", n.Created
	if i.dryRun {
		made, count = "to create", n.ToCreate
	}
	fmt.Fprintf(&b, "%d rows: %d %s, %d already imported, %d skipped, %d failed.", n.Rows, count, made, n.AlreadyImported+n.LooksImported, n.Skipped, n.Refused)
	if i.dryRun {
		b.WriteString(" Nothing was created.")
	}
	b.WriteString("\n")
	if i.dryRun && !n.Asked {
		b.WriteString("Without a key the service was not asked which rows are already imported.\n")
	}
	if n.LooksImported > 0 {
		fmt.Fprintf(&b, "%d of those already imported only look so: a record has the same product, dates and supplier. --allow-duplicates creates them.\n", n.LooksImported)
	}
	for _, reason := range slices.Sorted(maps.Keys(n.Reasons)) {
		fmt.Fprintf(&b, "%d skipped: %s.\n", n.Reasons[reason], reason.Text())
	}
	if n.Repeated > 0 {
		fmt.Fprintf(&b, "%d rows repeat an earlier one and are records of their own.\n", n.Repeated)
	}
	if n.NewReferences {
		b.WriteString("Every created record has a new reference number.\n")
	}
	if n.ErrorsFile != nil {
		b.WriteString("The rows that failed are in " + line(*n.ErrorsFile) + ", with the reason; fix them there and import that file.\n")
	}
	return b.String()
}

// assumptions says how the file was read.
func (i *importer) assumptions() string {
	a := i.result.Assumed
	text := "Read as " + string(a.Encoding)
	switch a.Order {
	case sheet.DayFirst:
		text += ", with the day first in dates like 03/04/2026."
	case sheet.MonthFirst:
		text += ", with the month first in dates like 03/04/2026."
	default:
		text += "; dates like 03/04/2026 are refused without --date-order."
	}
	if a.SerialDates {
		text += " Some dates are Excel day numbers, read in the 1900 date system."
	}
	if a.Months {
		text += " Lengths without a unit are months."
	}
	return text
}
