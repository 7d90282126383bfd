package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"reflect"

	"github.com/spf13/cobra"

	"warranty.example/svc/api"
	"warranty.example/svc/client"
	"warranty.example/svc/internal/pages"
	"warranty.example/svc/internal/sheet"
	"warranty.example/svc/warranty"
)

func (r *run) exportCommand() *cobra.Command {
	return exportOf(r, &cobra.Command{
		Short: "Export all warranties as CSV or JSON",
		Long: `Exports all warranties, newest first, with the same filters as
"svc warranties list". The format is csv, or ndjson or json with -o.

Cells that a spreadsheet would run as formulas get an apostrophe in front, which
"svc warranties import" removes. At the rate limit, the export waits.
Requires the scope warranties:read.`,
		Example: "  svc warranties export > warranties.csv\n  svc warranties export --status active -o ndjson",
	}, exported[warranty.ListWarranties, warranty.Warranty]{
		op: api.ListWarranties, list: "svc warranties list", walk: pages.Walk{Newest: true},
		page:  func(in *warranty.ListWarranties, p warranty.Paging) { in.Paging = p },
		id:    func(w warranty.Warranty) warranty.ID { return w.ID },
		count: func(n int64) string { return count(n, "Exported 1 warranty.", "Exported %d warranties.") },
	})
}

func (r *run) exportCustomersCommand() *cobra.Command {
	return exportOf(r, &cobra.Command{
		Short: "Export all customers as CSV or JSON",
		Long: `Exports all customers of your organization by name, or those that --q finds. The
format is csv, or ndjson or json with -o. Notes are not exported.

Cells that a spreadsheet would run as formulas get an apostrophe in front. At the
rate limit, the export waits.
Requires the scope warranties:read. Customers who only filed claims need claims:read, too.`,
		Example: "  svc customers export > customers.csv\n  svc customers export --q mueller -o ndjson",
	}, exported[warranty.ListCustomers, warranty.CustomerRecord]{
		op: api.ListCustomers, list: "svc customers list",
		// The order of the latest contact changes all the time.
		page: func(in *warranty.ListCustomers, p warranty.Paging) {
			in.Paging, in.Sort = p, warranty.CustomersByName
		},
		id:    func(c warranty.CustomerRecord) warranty.ID { return c.ID },
		count: func(n int64) string { return count(n, "Exported 1 customer.", "Exported %d customers.") },
	})
}

// exported is a list that a command exports.
type exported[In, Record any] struct {
	op    api.Op[In, warranty.Page[Record]]
	list  string // the command that lists it
	walk  pages.Walk
	page  func(*In, warranty.Paging) // sets which page to read
	id    func(Record) warranty.ID
	count func(int64) string // what was exported
}

// exportOf completes the command that exports a list.
func exportOf[In, Record any](r *run, cmd *cobra.Command, e exported[In, Record]) *cobra.Command {
	cmd.Use, cmd.Args = "export", arguments()
	// The walk needs its order, and a row has all fields.
	addParams(cmd, e.op.Spec, "page", "limit", "sort", "fields", "updated_since", "after")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		in, err := input(cmd, e.op.Spec, nil)
		if err != nil {
			return err
		}
		if r.output == "table" {
			return usage("Export has no table format.", "Use -o csv, ndjson or json, or run "+e.list+".")
		}
		remote, err := r.connect(true)
		if err != nil {
			return err
		}
		return export(cmd.Context(), r, remote, e, *in.(*In))
	}
	return cmd
}

// export writes page by page, so that memory does not grow with the number of records.
func export[In, Record any](ctx context.Context, r *run, remote *client.Client, e exported[In, Record], in In) error {
	r.startProgress()
	out := bufio.NewWriterSize(r.Stdout, 64<<10)
	sink := newSink[Record](r, out)
	var written int64
	for done := false; !done; {
		e.page(&in, e.walk.Paging())
		page, raw, err := listPage(ctx, remote, e.op, in)
		if err != nil {
			return err
		}
		ids := make([]string, len(page.Data))
		for i, record := range page.Data {
			ids[i] = e.id(record).String()
		}
		var fresh []int
		fresh, done = e.walk.Add(ids, page.Pagination.Total)
		for _, i := range fresh {
			written++
			if err := sink.add(page.Data[i], raw[i]); err != nil {
				return err
			}
		}
		total := page.Pagination.Total
		r.bar.update(float64(written)/float64(max(1, total)), fmt.Sprintf("%d of %d", written, total))
		if r.StdoutTerminal {
			r.bar.clear()
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
	if err := sink.end(); err != nil {
		return err
	}
	if err := out.Flush(); err != nil {
		return err
	}
	r.note("%s", e.count(written))
	return nil
}

// listPage returns a page and its unparsed records.
func listPage[In, Record any](
	ctx context.Context, remote *client.Client, op api.Op[In, warranty.Page[Record]], in In,
) (page warranty.Page[Record], raw []json.RawMessage, err error) {
	page, response, err := call(ctx, remote, op, in)
	if err != nil {
		return page, nil, err
	}
	raw, err = recordsOf(response.Body, true)
	if err == nil && len(raw) != len(page.Data) {
		err = fmt.Errorf("%d records instead of %d", len(raw), len(page.Data))
	}
	if err != nil {
		return page, nil, fmt.Errorf("the list is invalid: %w", err)
	}
	return page, raw, nil
}

// sink writes an export in one format.
type sink[Record any] struct {
	add func(record Record, raw []byte) error
	end func() error
}

func newSink[Record any](r *run, out io.Writer) sink[Record] {
	form := r.output
	if r.pretty {
		form = "json"
	}
	switch form {
	case "ndjson":
		return sink[Record]{
			add: func(_ Record, raw []byte) error {
				_, err := out.Write(append(compactJSON(raw), '\n'))
				return err
			},
			end: func() error { return nil },
		}
	case "json":
		return jsonSink[Record](out, r.pretty)
	}
	c := sheet.NewWriter(out)
	c.Write(sheet.Columns(reflect.TypeFor[Record]()))
	return sink[Record]{
		add: func(record Record, _ []byte) error {
			c.Write(sheet.Values(reflect.ValueOf(record)))
			return c.Flush()
		},
		end: c.Flush,
	}
}

// jsonSink writes one JSON object with all records.
func jsonSink[Record any](out io.Writer, pretty bool) sink[Record] {
	before, between, after := `{"data":[`, `,`, "]}\n"
	if pretty {
		before, between, after = "{\n  \"data\": [\n", ",\n", "\n  ]\n}\n"
	}
	lead := before
	return sink[Record]{
		add: func(_ Record, raw []byte) error {
			_, err := io.WriteString(out, lead+string(compactJSON(raw)))
			lead = between
			return err
		},
		end: func() error {
			if lead == before {
				after = before + after
			}
			_, err := io.WriteString(out, after)
			return err
		},
	}
}
