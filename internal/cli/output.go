package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"reflect"
	"slices"
	"strings"

	"warranty.example/svc/api"
	"warranty.example/svc/client"
	"warranty.example/svc/internal/sheet"
	"warranty.example/svc/warranty"
)

var formats = []string{"table", "json", "ndjson", "csv"}

// checkOutput validates the output flags.
func (r *run) checkOutput() error {
	switch {
	case r.output != "" && !slices.Contains(formats, r.output):
		unknown := r.output
		r.output = ""
		return usage("Unknown output format "+quote(unknown)+".", "Use -o table, json, ndjson or csv.")
	case r.pretty && r.output != "" && r.output != "json":
		return usage("--pretty only works with JSON.", "Remove --pretty or -o "+r.output+".")
	case r.jq != "" && (r.pretty || r.output != "" && r.output != "json"):
		return usage("--jq only works with plain JSON.", "Remove --pretty and -o, or --jq.")
	}
	return r.parseJQ()
}

// format returns the output format.
func (r *run) format() string {
	switch {
	case r.jqCode != nil:
		return "jq"
	case r.pretty:
		return "pretty"
	case r.output != "":
		return r.output
	case r.StdoutTerminal:
		return "table"
	}
	return "json"
}

// show writes the result of an operation to standard output, with the selected fields or
// all.
func (r *run) show(ctx context.Context, op *api.Spec, out any, response client.Response, fields []string) error {
	if _, ok := out.(*warranty.None); ok {
		return nil
	}
	switch r.format() {
	case "jq":
		return r.showJQ(ctx, response.Body)
	case "pretty":
		return r.write(indentJSON(response.Body))
	case "ndjson":
		records, err := recordsOf(response.Body, op.Paged())
		if err != nil {
			return err
		}
		var b bytes.Buffer
		for _, record := range records {
			b.Write(compactJSON(record))
			b.WriteByte('\n')
		}
		return r.write(b.Bytes())
	case "csv":
		return r.showCSV(out, fields)
	case "table":
		return r.showTable(op, out, fields)
	}
	return r.write(append(compactJSON(response.Body), '\n'))
}

// showLocal writes a result of svc itself, in the format of the service.
func (r *run) showLocal(v any, table func() string) error {
	if r.format() == "table" {
		return r.write([]byte(table()))
	}
	record, err := api.AppendJSON(nil, v)
	if err != nil {
		return err
	}
	switch r.format() {
	case "ndjson":
		return r.write(append(safeJSON(record), '\n'))
	case "csv":
		return r.showCSV(v, nil)
	}
	body := append(append([]byte(`{"data":`), record...), '}')
	if r.format() == "pretty" {
		return r.write(indentJSON(body))
	}
	return r.write(append(safeJSON(body), '\n'))
}

// write writes data to standard output.
func (r *run) write(b []byte) error {
	r.bar.clear()
	_, err := r.Stdout.Write(b)
	return err
}

// compactJSON returns JSON on one line, with unsafe characters escaped. Other JSON is
// not changed.
func compactJSON(b []byte) []byte {
	b = bytes.TrimSpace(b)
	if bytes.ContainsAny(b, "\r\n\t") {
		var compact bytes.Buffer
		if json.Compact(&compact, b) == nil {
			b = compact.Bytes()
		}
	}
	return safeJSON(b)
}

func indentJSON(b []byte) []byte {
	var out bytes.Buffer
	if err := json.Indent(&out, safeJSON(bytes.TrimSpace(b)), "", "  "); err != nil {
		return append(compactJSON(b), '\n')
	}
	out.WriteByte('\n')
	return out.Bytes()
}

// recordsOf returns the unparsed records of a response.
func recordsOf(body []byte, paged bool) ([]json.RawMessage, error) {
	if paged {
		var page struct {
			Data []json.RawMessage `json:"data"`
		}
		err := json.Unmarshal(body, &page)
		return page.Data, err
	}
	var one struct {
		Data json.RawMessage `json:"data"`
	}
	err := json.Unmarshal(body, &one)
	return []json.RawMessage{one.Data}, err
}

// listOf returns the records of a page, the groups of a summary, or a list of the single record.
func listOf(out any) reflect.Value {
	if summary, ok := out.(*warranty.Summary); ok {
		return reflect.ValueOf(summary.Groups)
	}
	v := reflect.ValueOf(out)
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if data := dataOf(v); data.IsValid() {
		return data
	}
	one := reflect.MakeSlice(reflect.SliceOf(v.Type()), 0, 1)
	return reflect.Append(one, v)
}

// dataOf returns the Data field of a page.
func dataOf(v reflect.Value) reflect.Value {
	if v.Kind() != reflect.Struct || !v.FieldByName("Pagination").IsValid() {
		return reflect.Value{}
	}
	return v.FieldByName("Data")
}

// showCSV writes records as CSV, with the field names in the first row.
func (r *run) showCSV(out any, fields []string) error {
	var b bytes.Buffer
	if err := writeCSV(&b, out, fields); err != nil {
		return err
	}
	return r.write(b.Bytes())
}

func writeCSV(w io.Writer, out any, fields []string) error {
	list := listOf(out)
	c := sheet.NewWriter(w)
	names := sheet.Columns(list.Type().Elem())
	shown := func(values []string) []string { return selected(names, values, fields) }
	c.Write(shown(names))
	for i := range list.Len() {
		c.Write(shown(sheet.Values(list.Index(i))))
	}
	return c.Flush()
}

// selected returns the values of the columns that belong to the fields: that of the
// field, or those of a nested record. Without fields it returns all values.
func selected(columns, values, fields []string) []string {
	if fields == nil {
		return values
	}
	var list []string
	for i, column := range columns {
		field, _, _ := strings.Cut(column, ".")
		if slices.Contains(fields, field) {
			list = append(list, values[i])
		}
	}
	return list
}
