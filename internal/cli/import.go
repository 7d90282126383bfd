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
	"warranty.example/svc/internal/sheet"
	"warranty.example/svc/warranty"
)

// importer is one import.
type importer struct {
	*run
	name       string // of the file
	errorsFile string
	dryRun     bool
	maps       []string
	order      string

	size   int64 // of the file; 0 when unknown
	rows   *sheet.Reader
	failed *errorsFile
	result importResult
}

// importResult is what an import says at its end.
type importResult struct {
	DryRun     bool              `json:"dry_run"`
	Source     string            `json:"source"`
	Columns    map[string]string `json:"columns"`
	Unused     []string          `json:"unused_columns"`
	Rows       int               `json:"rows"`
	Created    int               `json:"created"`
	Existing   int               `json:"existing"`
	Repeated   int               `json:"repeated_rows"`
	Failed     int               `json:"failed"`
	ErrorsFile *string           `json:"errors_file"`
}

func (r *run) importCommand() *cobra.Command {
	i := &importer{run: r}
	cmd := &cobra.Command{Use: "import <file.csv|->", Short: "Create a warranty of each row of a CSV file",
		Long: `Reads a CSV file, or standard input with -, and creates a warranty of each row.

The first row names the columns. Which column is what is guessed, also for
exports of Warracker, Homebox and Snipe-IT; --dry-run shows the guesses and
checks every row without sending anything, and --map sets them right. The last
day of cover may be given, or a length: years, months, days or "24 months".

Each row gets an idempotency key made of its content: a second run of the same
file within 24 hours creates nothing. Rows that fail are written with the
reason to FILE.errors.csv; mend them there and import that file. At the rate
limit the import waits.

The fields for --map are ` + strings.Join(sheet.Fields(), ", ") + `.
The key needs the scope warranties:write.`,
		Example: "  svc warranties import items.csv --dry-run\n  svc warranties import items.csv --map product_name=Item --map category=\n  svc warranties export | svc --base-url https://other.example/api/v1 warranties import -",
		Args:    arguments("file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			i.name = args[0]
			return i.perform(cmd.Context())
		}}
	cmd.Flags().SortFlags = false
	cmd.Flags().BoolVar(&i.dryRun, "dry-run", false, "check every row and send nothing")
	cmd.Flags().StringArrayVar(&i.maps, "map", nil, "read a field from a column: `field=Column`; field= leaves it out (may be given again)")
	cmd.Flags().StringVar(&i.order, "date-order", "", "how to read 03/04/2026: `dmy` or mdy")
	cmd.Flags().StringVar(&i.errorsFile, "errors", "", "`file` for rows that fail (default FILE.errors.csv)")
	complete(cmd, "date-order", []string{"dmy", "mdy"})
	return cmd
}

// perform imports the file. It holds one row at a time.
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
	i.result = importResult{DryRun: i.dryRun, Source: i.rows.Source(), Columns: i.rows.Described(), Unused: i.rows.Unused()}
	i.failed = &errorsFile{path: i.errorsFile, header: i.rows.Header()}
	var remote *Remote
	if !i.dryRun {
		if remote, err = i.connect(true); err != nil {
			return err
		}
	}
	i.startProgress()
	err = asUsage(i.each(ctx, remote))
	if closed := i.failed.close(); err == nil {
		err = closed
	}
	return i.finish(err)
}

// options are what the flags say about the file.
func (i *importer) options() (sheet.Options, error) {
	o := sheet.Options{Columns: map[string]string{}, Order: sheet.DateOrder(i.order)}
	switch o.Order {
	case sheet.UnknownOrder, sheet.DayFirst, sheet.MonthFirst:
	default:
		return o, usage("There is no date order "+quote(i.order)+".", "Write --date-order dmy or mdy.")
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

// asUsage makes a wrong command line of a file that can not be read, and leaves
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
func (i *importer) open(ctx context.Context) (io.ReadCloser, error) {
	if i.name == "-" {
		if i.errorsFile == "" {
			i.errorsFile = "import.errors.csv"
		}
		return io.NopCloser(&stdin{ctx: ctx, r: i.Stdin}), nil
	}
	if i.errorsFile == "" {
		i.errorsFile = strings.TrimSuffix(i.name, filepath.Ext(i.name)) + ".errors.csv"
	}
	f, err := os.Open(i.name)
	if err != nil {
		return nil, usage("The file "+quote(i.name)+" can not be read.", "Check its name and whether you may read it; - is standard input.")
	}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		i.size = info.Size()
		if out, err := os.Stat(i.errorsFile); err == nil && os.SameFile(info, out) {
			_ = f.Close() // it was only opened
			return nil, usage("The failures would be written over the file itself.", "Name another file with --errors.")
		}
	}
	return f, nil
}

func (i *importer) each(ctx context.Context, remote *Remote) error {
	for {
		r, err := i.rows.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		i.result.Rows++
		if err := i.one(ctx, remote, r); err != nil {
			return err
		}
		done := -1.0
		if i.size > 0 {
			done = float64(i.rows.BytesRead()) / float64(i.size)
		}
		i.bar.update(done, fmt.Sprintf("%d rows, %d failed", i.result.Rows, i.result.Failed))
	}
}

// one imports a row. An error ends the import; what is wrong with the row alone
// is noted and the next one is read.
func (i *importer) one(ctx context.Context, remote *Remote, r sheet.Row) error {
	if r.Err != nil {
		return i.refuse(r)
	}
	if r.Repeat {
		i.result.Repeated++
	}
	if i.dryRun {
		return nil
	}
	out, answer, err := remote.Do(ctx, api.CreateWarranty.Spec, &r.Input)
	if err != nil {
		err = &remoteError{err, answer}
		if p, ok := refusal(err); ok && exitCode(p.Status, p.Code) == exitUsage {
			r.Err = &warranty.Error{Code: p.Code, Message: p.Detail, Fields: p.Errors}
			return i.refuse(r)
		}
		return err
	}
	if out.(*warranty.Warranty).Replayed() {
		i.result.Existing++
	} else {
		i.result.Created++
	}
	return nil
}

// maxTold is how many faults a dry run tells of.
const maxTold = 20

// refuse notes a row that can not be imported.
func (i *importer) refuse(r sheet.Row) error {
	i.result.Failed++
	if i.dryRun {
		switch {
		case i.result.Failed <= maxTold:
			i.note("Line %d: %s", r.Line, r.Reason())
		case i.result.Failed == maxTold+1:
			i.note("More lines have faults; the import will write all of them to %s.", i.errorsFile)
		}
		return nil
	}
	return i.failed.add(r)
}

// finish says what was done, also when the import ended early.
func (i *importer) finish(err error) error {
	i.bar.clear()
	if i.failed.file != nil {
		i.result.ErrorsFile = &i.failed.path
	}
	if err != nil {
		if !i.dryRun {
			i.note("It ended early: %d created, %d there already, %d failed. Run it again: what is there is not created twice.", i.result.Created, i.result.Existing, i.result.Failed)
		}
		return err
	}
	if err := i.showLocal(i.result, i.summary); err != nil {
		return err
	}
	if i.result.Failed > 0 {
		return exitError(exitUsage)
	}
	return nil
}

// summary is the result for people.
func (i *importer) summary() string {
	var b strings.Builder
	s := i.outStyle()
	if i.dryRun {
		if i.result.Source != "" {
			b.WriteString("This looks like an export of " + i.result.Source + ".\n")
		}
		field, from := &column{title: "FIELD"}, &column{title: "COLUMN", flex: true}
		for _, name := range slices.Sorted(maps.Keys(i.result.Columns)) {
			field.add(name)
			from.add(i.result.Columns[name])
		}
		b.WriteString(layout([]*column{field, from}, i.columns(), s))
		if len(i.result.Unused) > 0 {
			b.WriteString(s.faint("Not used: "+line(strings.Join(i.result.Unused, ", "))) + "\n")
		}
		fmt.Fprintf(&b, "%d rows: %d can be imported, %d can not. Nothing was sent.\n", i.result.Rows, i.result.Rows-i.result.Failed, i.result.Failed)
		return b.String()
	}
	fmt.Fprintf(&b, "%d rows: %d created, %d there already, %d failed.\n", i.result.Rows, i.result.Created, i.result.Existing, i.result.Failed)
	if i.result.Repeated > 0 {
		fmt.Fprintf(&b, "%d rows repeat an earlier one and are records of their own.\n", i.result.Repeated)
	}
	if i.result.ErrorsFile != nil {
		b.WriteString("The rows that failed are in " + line(*i.result.ErrorsFile) + ", with the reason; mend them there and import that file.\n")
	}
	return b.String()
}
