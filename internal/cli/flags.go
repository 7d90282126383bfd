package cli

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// normalizeFlag accepts the API name of a parameter as its flag: --q, --start_date.
func normalizeFlag(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	return pflag.NormalizedName(api.FlagName(name))
}

// fileFormat is the format of parameters with the content of a file, whose flags take its path.
const fileFormat = "byte"

// textFlag accepts any text. The operation validates it.
type textFlag struct{ value, kind string }

// Set sets the text.
func (t *textFlag) Set(s string) error { t.value = s; return nil }

// String returns the text.
func (t *textFlag) String() string { return t.value }

// Type returns the placeholder in the help.
func (t *textFlag) Type() string { return t.kind }

// addParams adds a flag for each parameter of the operation, except path parameters.
func addParams(cmd *cobra.Command, op *api.Spec, omit ...string) {
	cmd.Flags().SortFlags = false
	cmd.Flags().SetNormalizeFunc(normalizeFlag)
	for _, p := range op.Params {
		if p.In == api.Path || slices.Contains(omit, p.Name) {
			continue
		}
		help := strings.ToLower(p.Doc[:1]) + strings.TrimSuffix(p.Doc[1:], ".")
		switch {
		case len(p.Enum) > 0:
			help += " (" + strings.Join(p.Enum, ", ") + ")"
		case p.Default != "":
			help += " (default " + p.Default + ")"
		}
		if p.Required {
			help += " (required)"
		}
		flag := cmd.Flags().VarPF(&textFlag{kind: placeholder(p)}, p.Name, "", help)
		if p.Type == reflect.TypeFor[*bool]() {
			flag.NoOptDefVal = "true"
		}
		complete(cmd, api.FlagName(p.Name), p.Enum)
	}
}

func placeholder(p api.Param) string {
	t := p.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[warranty.Date]():
		return "YYYY-MM-DD"
	case reflect.TypeFor[warranty.ID](), reflect.TypeFor[warranty.WarrantyKey](), reflect.TypeFor[warranty.ClaimKey]():
		return "id"
	}
	switch {
	case t.Kind() == reflect.Int:
		return "number"
	case p.Format == "email":
		return "address"
	case p.Format == fileFormat:
		return "file"
	case len(p.Enum) > 0:
		return p.Name
	}
	return "text"
}

// input builds the input of an operation from flags and arguments. It uses the same
// decoder as the service, so that invalid values give the same errors, before
// anything is sent.
func input(cmd *cobra.Command, op *api.Spec, args []string) (any, error) {
	path := map[string]string{}
	query, header, body := url.Values{}, http.Header{}, map[string]any{}
	for _, p := range op.Params {
		if p.In == api.Path {
			path[p.Name], args = args[0], args[1:]
			continue
		}
		flag := cmd.Flags().Lookup(p.Name)
		if flag == nil || !flag.Changed {
			continue
		}
		switch value := flag.Value.String(); p.In {
		case api.Query:
			query.Set(p.Name, value)
		case api.Header:
			header.Set(p.HeaderName(), headerValue(p, value))
		case api.Body:
			if p.Format == fileFormat && value != "" {
				content, err := os.ReadFile(value)
				if err != nil {
					return nil, usage("--"+p.Name+": "+err.Error(), "Use the path of a file.")
				}
				value = base64.StdEncoding.EncodeToString(content)
			}
			body[p.Name] = bodyValue(p, value)
		}
	}
	parts := api.Parts{Path: func(name string) string { return path[name] }, Query: query.Encode(), Header: header}
	if op.HasBody() {
		var err error
		if parts.Body, err = api.AppendJSON(nil, body); err != nil {
			return nil, usage("A value is not valid UTF-8 text.", "Check the encoding of the terminal.")
		}
	}
	return validate(op.Decode(parts))
}

// headerValue converts a flag value to a header value. A bare number in If-Match gets
// the quotation marks that the shell removed.
func headerValue(p api.Param, value string) string {
	if p.Name == "if_match" && value != "" && strings.Trim(value, "0123456789") == "" {
		return strconv.Quote(value)
	}
	return value
}

// validate checks a decoded input, as the service does.
func validate(in any, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	if c, ok := in.(interface{ Check() error }); ok {
		err = c.Check()
	}
	return in, err
}

// bodyValue converts a flag value to a JSON value.
func bodyValue(p api.Param, value string) any {
	t := p.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Int:
		if n, err := strconv.Atoi(value); err == nil {
			return n
		}
	case reflect.Bool:
		if b, err := strconv.ParseBool(value); err == nil {
			return b
		}
	case reflect.Slice:
		return strings.Split(value, ",")
	}
	return value
}
