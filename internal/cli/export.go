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
	"warranty.example/svc/internal/sheet"
	"warranty.example/svc/warranty"
)

func (r *run) exportCommand() *cobra.Command {
	op := api.ListWarranties.Spec
	cmd := &cobra.Command{Use: "export", Short: "Write all warranties as CSV, or as JSON with -o",
		Long: `Writes all warranties, page by page as they come, newest first. The filters are
those of "svc warranties list".

The form is csv, or ndjson or json with -o. Cells that a spreadsheet would take
for formulas begin with an apostrophe; "svc warranties import" takes it away
again. At the rate limit the export waits.
The key needs the scope warranties:read.`,
		Example: "  svc warranties export > warranties.csv\n  svc warranties export --status active -o ndjson",
		Args:    arguments()}
	addParams(cmd, op, "page", "limit")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		in, err := input(cmd, op, nil)
		if err != nil {
			return err
		}
		if r.output == "table" {
			return usage("An export cannot be a table.", "Use -o csv, ndjson or json, or svc warranties list.")
		}
		remote, err := r.connect(true)
		if err != nil {
			return err
		}
		return r.export(cmd.Context(), remote, *in.(*warranty.ListWarranties))
	}
	return cmd
}

// export writes every page as it comes, so that the number of records does not
// matter to the memory it takes.
func (r *run) export(ctx context.Context, remote *client.Client, in warranty.ListWarranties) error {
	r.startProgress()
	out := bufio.NewWriterSize(r.Stdout, 64<<10)
	sink := r.newSink(out)
	var raw []json.RawMessage // the records of the page as they came
	p := sheet.Pager{Filter: in, List: func(ctx context.Context, in warranty.ListWarranties) (page warranty.Page[warranty.Warranty], err error) {
		page, raw, err = listed(ctx, remote, in)
		return page, err
	}}
	written := 0
	for {
		page, err := p.Next(ctx)
		if err != nil {
			return err
		}
		if page == nil {
			break
		}
		for i, w := range page.Data {
			if !p.Fresh(w.ID) {
				continue
			}
			written++
			if err := sink.add(w, raw[i]); err != nil {
				return err
			}
		}
		r.bar.update(float64(written)/float64(max(1, page.Pagination.Total)), fmt.Sprintf("%d of %d", written, page.Pagination.Total))
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
	r.note("%s", count(int64(written), "Exported 1 warranty.", "Exported %d warranties."))
	return nil
}

// listed is a page, with each record as it came.
func listed(ctx context.Context, remote *client.Client, in warranty.ListWarranties) (warranty.Page[warranty.Warranty], []json.RawMessage, error) {
	var none warranty.Page[warranty.Warranty]
	out, answer, err := remote.Do(ctx, api.ListWarranties.Spec, &in)
	if err != nil {
		return none, nil, &remoteError{err, answer}
	}
	page, ok := out.(*warranty.Page[warranty.Warranty])
	if !ok {
		return none, nil, fmt.Errorf("the list is a %T", out)
	}
	raw, err := recordsOf(answer.Body, true)
	if err != nil || len(raw) != len(page.Data) {
		return none, nil, fmt.Errorf("the list can not be read: %w", err)
	}
	return *page, raw, nil
}

// sink is one form of an export.
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
		return sink{func(_ warranty.Warranty, raw []byte) error {
			_, err := out.Write(append(oneLine(raw), '\n'))
			return err
		}, func() error { return nil }}
	case "json":
		return r.jsonSink(out)
	}
	c := sheet.NewWriter(out)
	c.Write(sheet.Columns(reflect.TypeFor[warranty.Warranty]()))
	return sink{func(w warranty.Warranty, _ []byte) error {
		c.Write(sheet.Values(reflect.ValueOf(w)))
		return c.Flush()
	}, c.Flush}
}

// jsonSink writes one object, as the service would if it had no pages.
func (r *run) jsonSink(out io.Writer) sink {
	before, between, after := `{"data":[`, `,`, "]}\n"
	if r.pretty {
		before, between, after = "{\n  \"data\": [\n", ",\n", "\n  ]\n}\n"
	}
	first := true
	write := func(texts ...string) error {
		for _, text := range texts {
			if _, err := io.WriteString(out, text); err != nil {
				return err
			}
		}
		return nil
	}
	return sink{func(_ warranty.Warranty, raw []byte) error {
		lead := between
		if first {
			lead, first = before, false
		}
		return write(lead, string(oneLine(raw)))
	}, func() error {
		if first {
			return write(before, after)
		}
		return write(after)
	}}
}
