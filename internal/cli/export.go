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
			return usage("An export is no table.", "Write -o csv, ndjson or json, or use svc warranties list.")
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
func (r *run) export(ctx context.Context, remote *Remote, in warranty.ListWarranties) error {
	r.startProgress()
	out := bufio.NewWriterSize(r.Stdout, 64<<10)
	sink := r.newSink(out)
	p := pager{remote: remote, in: in}
	count := 0
	for {
		page, raw, err := p.next(ctx)
		if err != nil {
			return err
		}
		if page == nil {
			break
		}
		for i, w := range page.Data {
			if !p.fresh(w.ID) {
				continue
			}
			count++
			if err := sink.add(w, raw[i]); err != nil {
				return err
			}
		}
		r.bar.update(float64(count)/float64(max(1, page.Pagination.Total)), fmt.Sprintf("%d of %d", count, page.Pagination.Total))
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
	r.note("%d warranties.", count)
	return nil
}

// pager asks for one page after the other. Records that come or go in the
// meantime shift the pages: what was seen is not shown again, and when the list
// got shorter the pager steps back, so that nothing slips through between.
type pager struct {
	remote *Remote
	in     warranty.ListWarranties
	page   int
	total  int64
	last   warranty.ID // the oldest that was seen; ids fall from page to page
	back   int         // steps back in a row
	ended  bool
}

// maxBack bounds the steps back, for a list that shrinks all the time.
const maxBack = 20

// next is the next page, with each record as it came; nil at the end.
func (p *pager) next(ctx context.Context) (*warranty.Page[warranty.Warranty], []json.RawMessage, error) {
	if p.ended {
		return nil, nil, nil
	}
	p.page++
	p.in.Page, p.in.Limit = p.page, warranty.MaxLimit
	out, answer, err := p.remote.Do(ctx, api.ListWarranties.Spec, &p.in)
	if err != nil {
		return nil, nil, &remoteError{err, answer}
	}
	page, ok := out.(*warranty.Page[warranty.Warranty])
	if !ok {
		return nil, nil, fmt.Errorf("the list is a %T", out)
	}
	raw, err := recordsOf(answer.Body, true)
	if err != nil || len(raw) != len(page.Data) {
		return nil, nil, fmt.Errorf("the list can not be read: %w", err)
	}
	now := page.Pagination
	gone := p.total - now.Total
	p.total = now.Total
	if gone > 0 && p.back < maxBack {
		// At most so many records moved up, past the page before this one.
		p.page = max(0, p.page-1-int((gone+warranty.MaxLimit-1)/warranty.MaxLimit))
		p.back++
		return &warranty.Page[warranty.Warranty]{Pagination: now}, nil, nil
	}
	p.back = 0
	p.ended = int64(p.page) >= now.TotalPages
	return page, raw, nil
}

// fresh tells records that were not seen yet.
func (p *pager) fresh(id warranty.ID) bool {
	if !p.last.IsZero() && id.String() >= p.last.String() {
		return false
	}
	p.last = id
	return true
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
	c := newCSVWriter(out)
	c.write(namesOf(reflect.TypeFor[warranty.Warranty]()))
	return sink{func(w warranty.Warranty, _ []byte) error {
		c.write(valuesOf(reflect.ValueOf(w)))
		return c.flush()
	}, c.flush}
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
