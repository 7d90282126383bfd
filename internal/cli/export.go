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
	op := api.ListWarranties.Spec
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Export all warranties as CSV or JSON",
		Long: `Exports all warranties, newest first, with the same filters as
"svc warranties list". The format is csv, or ndjson or json with -o.

Cells that a spreadsheet would run as formulas get an apostrophe in front, which
"svc warranties import" removes. At the rate limit, the export waits.
Requires the scope warranties:read.`,
		Example: "  svc warranties export > warranties.csv\n  svc warranties export --status active -o ndjson",
		Args:    arguments(),
	}
	// The walk needs the order newest first, and a row has all fields.
	addParams(cmd, op, "page", "limit", "sort", "fields", "updated_since", "after")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		in, err := input(cmd, op, nil)
		if err != nil {
			return err
		}
		if r.output == "table" {
			return usage("Export has no table format.", "Use -o csv, ndjson or json, or run svc warranties list.")
		}
		remote, err := r.connect(true)
		if err != nil {
			return err
		}
		return r.export(cmd.Context(), remote, *in.(*warranty.ListWarranties))
	}
	return cmd
}

// export writes page by page, so that memory does not grow with the number of records.
func (r *run) export(ctx context.Context, remote *client.Client, in warranty.ListWarranties) error {
	r.startProgress()
	out := bufio.NewWriterSize(r.Stdout, 64<<10)
	sink := r.newSink(out)
	var raw []json.RawMessage // the unparsed records of the page
	list := func(ctx context.Context, in warranty.ListWarranties) (page warranty.Page[warranty.Warranty], err error) {
		page, raw, err = listPage(ctx, remote, in)
		return page, err
	}
	written := 0
	err := pages.Each(ctx, list, in, func(page warranty.Page[warranty.Warranty], fresh []int) error {
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
		return out.Flush()
	})
	if err != nil {
		return err
	}
	if err := sink.end(); err != nil {
		return err
	}
	if err := out.Flush(); err != nil {
		return err
	}
	r.note("%s", count(int64(written), "Exported 1 warranty.", "Exported %d warranties."))
	return nil
}

// listPage returns a page and its unparsed records.
func listPage(ctx context.Context, remote *client.Client, in warranty.ListWarranties) (
	page warranty.Page[warranty.Warranty], raw []json.RawMessage, err error,
) {
	page, response, err := call(ctx, remote, api.ListWarranties, in)
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
type sink struct {
	add func(w warranty.Warranty, raw []byte) error
	end func() error
}

func (r *run) newSink(out io.Writer) sink {
	form := r.output
	if r.pretty {
		form = "json"
	}
	switch form {
	case "ndjson":
		return sink{
			add: func(_ warranty.Warranty, raw []byte) error {
				_, err := out.Write(append(compactJSON(raw), '\n'))
				return err
			},
			end: func() error { return nil },
		}
	case "json":
		return r.jsonSink(out)
	}
	c := sheet.NewWriter(out)
	c.Write(sheet.Columns(reflect.TypeFor[warranty.Warranty]()))
	return sink{
		add: func(w warranty.Warranty, _ []byte) error {
			c.Write(sheet.Values(reflect.ValueOf(w)))
			return c.Flush()
		},
		end: c.Flush,
	}
}

// jsonSink writes one JSON object with all records.
func (r *run) jsonSink(out io.Writer) sink {
	before, between, after := `{"data":[`, `,`, "]}\n"
	if r.pretty {
		before, between, after = "{\n  \"data\": [\n", ",\n", "\n  ]\n}\n"
	}
	lead := before
	return sink{
		add: func(_ warranty.Warranty, raw []byte) error {
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
