package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"
	"slices"

	"warranty.example/svc/api"
	"warranty.example/svc/client"
	"warranty.example/svc/internal/sheet"
	"warranty.example/svc/warranty"
)

var formats = []string{"table", "json", "ndjson", "csv"}

// checkOutput refuses forms that there are not.
func (r *run) checkOutput() error {
	switch {
	case r.output != "" && !slices.Contains(formats, r.output):
		wrong := r.output
		r.output = ""
		return usage("There is no output form "+quote(wrong)+".", "Write -o table, json, ndjson or csv.")
	case r.pretty && r.output != "" && r.output != "json":
		return usage("--pretty is for JSON.", "Leave out --pretty or -o "+r.output+".")
	}
	return nil
}

// format is the form of the output.
func (r *run) format() string {
	switch {
	case r.pretty:
		return "pretty"
	case r.output != "":
		return r.output
	case r.StdoutTerminal:
		return "table"
	}
	return "json"
}

// show writes what an operation answered to standard output.
func (r *run) show(op *api.Spec, out any, a client.Answer) error {
	if _, ok := out.(*warranty.None); ok {
		return nil
	}
	switch r.format() {
	case "pretty":
		return r.write(indented(a.Body))
	case "ndjson":
		records, err := recordsOf(a.Body, op.Paged())
		if err != nil {
			return err
		}
		var b bytes.Buffer
		for _, record := range records {
			b.Write(oneLine(record))
			b.WriteByte('\n')
		}
		return r.write(b.Bytes())
	case "csv":
		return r.showCSV(out)
	case "table":
		return r.showTable(op, out)
	}
	return r.write(append(oneLine(a.Body), '\n'))
}

// showLocal writes an answer that this program makes itself, in the service's form.
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
		return r.write(append(plainJSON(record), '\n'))
	case "csv":
		return r.showCSV(v)
	}
	body := append(append([]byte(`{"data":`), record...), '}')
	if r.format() == "pretty" {
		return r.write(indented(body))
	}
	return r.write(append(plainJSON(body), '\n'))
}

// write is the only way to standard output for data.
func (r *run) write(b []byte) error {
	r.bar.clear()
	_, err := r.Stdout.Write(b)
	return err
}

// oneLine is JSON as it came, unless it has line breaks or characters that a
// terminal would act on: those are written in another way that means the same.
func oneLine(b []byte) []byte {
	b = bytes.TrimSpace(b)
	if bytes.ContainsAny(b, "\r\n\t") {
		var compact bytes.Buffer
		if json.Compact(&compact, b) == nil {
			b = compact.Bytes()
		}
	}
	return plainJSON(b)
}

func indented(b []byte) []byte {
	var out bytes.Buffer
	if err := json.Indent(&out, plainJSON(bytes.TrimSpace(b)), "", "  "); err != nil {
		return append(oneLine(b), '\n')
	}
	out.WriteByte('\n')
	return out.Bytes()
}

// recordsOf takes the records out of an answer, each as it came.
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

// listOf is the records of an answer: those of a page, or the one that there is.
func listOf(out any) reflect.Value {
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

// dataOf is the Data of a page.
func dataOf(v reflect.Value) reflect.Value {
	if v.Kind() != reflect.Struct || !v.FieldByName("Pagination").IsValid() {
		return reflect.Value{}
	}
	return v.FieldByName("Data")
}

// showCSV writes records as rows under the names of their fields.
func (r *run) showCSV(out any) error {
	var b bytes.Buffer
	if err := writeCSV(&b, out); err != nil {
		return err
	}
	return r.write(b.Bytes())
}

func writeCSV(w io.Writer, out any) error {
	list := listOf(out)
	c := sheet.NewWriter(w)
	c.Write(sheet.Columns(list.Type().Elem()))
	for i := range list.Len() {
		c.Write(sheet.Values(list.Index(i)))
	}
	return c.Flush()
}
