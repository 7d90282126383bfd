package describe

import (
	"bytes"
	_ "embed" // answers.json
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// Example is a working request and its response. Values that differ between users, such
// as IDs, are shell variables.
type Example struct {
	Spec   *api.Spec
	Method string
	Path   string      // with the query
	Body   string      // indented JSON, or empty
	Header http.Header // of the operation, such as If-Match
	Status int
	Answer string // indented JSON, or empty

	arguments string // of the tool, as JSON
	flags     []string
}

// Variable is a shell variable in the examples.
type Variable struct{ Name, Meaning string }

// The variables with credentials.
const (
	keyVariable     = "SVC_API_KEY"
	sessionVariable = "SVC_SESSION"
)

// organizationVariable holds the organization that an example acts for.
const organizationVariable = "ORGANIZATION_ID"

// variables replace samples in the examples.
var variables = []struct {
	sample, name, meaning string
	quoted                bool // may hold spaces
}{
	{sampleID(1).String(), "WARRANTY_ID", "Id of a warranty", false},
	{sampleID(2).String(), "CLAIM_ID", "Id of a claim", false},
	{sampleID(3).String(), "DOCUMENT_ID", "Id of a document", false},
	{sampleID(4).String(), "TOKEN_ID", "Id of an integration token", false},
	{sampleID(5).String(), organizationVariable, "Id of an organization", false},
	{sampleID(6).String(), "USER_ID", "Id of a member of the organization", false},
	{sampleID(7).String(), "INVITATION_ID", "Id of an invitation", false},
	{sampleID(8).String(), "ADDRESS_ID", "Id of an address of the organization", false},
	{sampleID(9).String(), "DOMAIN_ID", "Id of a domain of the organization", false},
	{sampleID(10).String(), "PRODUCT_ID", "Id of a product of the organization", false},
	{sampleID(11).String(), "REPLY_ID", "Id of a saved reply", false},
	{sampleID(13).String(), "CUSTOMER_ID", "Id of a customer of the organization", false},
	{sampleID(14).String(), "OTHER_CUSTOMER_ID", "Id of another customer of the organization", false},
	{sampleID(15).String(), "BULK_ID", "Id of an action on many claims", false},
	{sampleID(0x20).String(), "SESSION_ID", "Id of one of your sessions", false},
	{sampleID(0x21).String(), "PASSKEY_ID", "Id of one of your passkeys", false},
	{string(sampleReference), "REFERENCE", "Reference number of a warranty", false},
	{sampleCode, "CODE", "Code from an email, or from the response that offers a transfer", false},
	{sampleNewEmail, "NEW_EMAIL", "Your new email address", true},
	{sampleSecret(warranty.FlowSecret), "FLOW", "Flow from the response to a sign-in", true},
	{sampleTOTP, "TOTP", "Code that your authenticator app shows", false},
	{sampleEmail, "EMAIL", "Your email address", true},
	{samplePassword, "PASSWORD", "Your password", true},
}

// Variables lists the shell variables of the examples.
func Variables() []Variable {
	list := []Variable{
		{keyVariable, "Integration token"},
		{sessionVariable, "Session: the access_token of POST /api/auth/sessions"},
	}
	for _, v := range variables {
		list = append(list, Variable{v.name, v.meaning})
	}
	return list
}

// Setup returns shell commands that set all variables except the key, the email address,
// the password and the code.
func Setup(base string) string {
	first := func(variable, credential, path string, field int) string {
		return fmt.Sprintf("%s=$(curl -s -H \"%s\" \"%s%s\" | cut -d'\"' -f%d)\n", variable, credential, base, path, field)
	}
	key, session := "x-api-key: $"+keyVariable, "Authorization: Bearer $"+sessionVariable
	return "export SVC_BASE_URL=" + base + string(api.V1) + "\n" +
		sessionVariable + "=$(curl -s \"" + base + api.SignIn.Route() + "\" -H 'Content-Type: application/json' \\\n" +
		`  -d '{"email": "'"$EMAIL"'", "password": "'"$PASSWORD"'"}' | cut -d'"' -f6)` + "\n" +
		first("WARRANTY_ID", key, api.ListWarranties.Route()+"?limit=1", 6) +
		first("REFERENCE", key, api.ListWarranties.Route()+"?limit=1", 10) +
		first("CLAIM_ID", key, api.ListClaims.Route()+"?limit=1", 6) +
		first("DOCUMENT_ID", key, api.ListDocuments.Route()+"?limit=1", 6) +
		first("TOKEN_ID", session, api.ListTokens.Route()+"?limit=1", 6) +
		strings.TrimSuffix(first(organizationVariable, session, api.ListOrganizations.Route()+"?limit=1", 6), "\n")
}

// recorded holds the service's responses to the examples. It is generated: see
// TestGeneratedFiles.
//
//go:embed answers.json
var recorded []byte

// answer is a recorded response.
type answer struct {
	Status int             `json:"status"`
	Body   json.RawMessage `json:"body,omitempty"`
}

// Examples returns an example of every operation, in the order of the table.
func Examples() ([]Example, error) {
	answers := map[string]answer{}
	if err := json.Unmarshal(recorded, &answers); err != nil {
		return nil, err
	}
	var list []Example
	for _, op := range api.Operations() {
		e, err := exampleOf(op)
		if err != nil {
			return nil, fmt.Errorf("example of %s: %w", op.Name, err)
		}
		a := answers[op.Name]
		e.Status, e.Answer = a.Status, indent(a.Body)
		list = append(list, e)
	}
	return list, nil
}

// exampleOf returns an example without its response.
func exampleOf(op *api.Spec) (Example, error) {
	in, err := exampleInput(op)
	if err != nil {
		return Example{}, err
	}
	r, err := op.Request(in)
	if err != nil {
		return Example{}, err
	}
	arguments, err := api.AppendJSON(nil, in)
	if err != nil {
		return Example{}, err
	}
	return Example{
		Spec:      op,
		Method:    r.Method,
		Path:      r.Path,
		Body:      indent(r.Body),
		Header:    headersOf(op, r),
		arguments: string(arguments),
		flags:     flagsOf(op, r),
	}, nil
}

// exampleInput returns the operation's sample input, with sample path parameters and a
// limit of 1 for lists.
func exampleInput(op *api.Spec) (any, error) {
	sample, err := sampleInput(op)
	if err != nil {
		return nil, err
	}
	in := reflect.New(op.In)
	in.Elem().Set(reflect.ValueOf(sample).Elem())
	for _, p := range op.Params {
		field := in.Elem().FieldByName(goName(op.In, p.Name))
		switch {
		case p.In == api.Path && p.Type.Kind() == reflect.String:
			field.SetString(string(sampleReference))
		case p.In == api.Path:
			id := field.Addr().Interface().(interface{ UnmarshalText([]byte) error })
			if err := id.UnmarshalText([]byte(sampleIDOf(op, p).String())); err != nil {
				return nil, err
			}
		case p.Name == "limit":
			field.SetInt(1)
		}
	}
	return in.Interface(), nil
}

// sampleIDOf returns the sample ID for a parameter of the operation's path.
func sampleIDOf(op *api.Spec, p api.Param) warranty.ID {
	noun, _, _ := strings.Cut(strings.TrimPrefix(op.Path, "/"), "/")
	if p.Name != "id" {
		noun = p.Name
	} else if strings.HasPrefix(op.Path, "/account/passkeys/") {
		noun = "passkeys"
	}
	return map[string]warranty.ID{
		"warranties":         sampleID(1),
		"confirmations":      sampleID(1),
		"claims":             sampleID(2),
		"documents":          sampleID(3),
		"document_id":        sampleID(3),
		"integration-tokens": sampleID(4),
		"organizations":      sampleID(5),
		"user_id":            sampleID(6),
		"made_by":            sampleID(6),
		"invitation_id":      sampleID(7),
		"address_id":         sampleID(8),
		"domain_id":          sampleID(9),
		"products":           sampleID(10),
		"replies":            sampleID(11),
		"customers":          sampleID(13),
		"bulk":               sampleID(15),
		"account":            sampleID(0x20), // a session
		"passkeys":           sampleID(0x21),
	}[noun]
}

// goName returns the name of the struct field of a parameter.
func goName(t reflect.Type, param string) string {
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name == param {
			return f.Name
		}
	}
	return ""
}

// headersOf returns the request's headers that are parameters.
func headersOf(op *api.Spec, r api.Request) http.Header {
	list := http.Header{}
	for _, p := range op.Params {
		if value := r.Header.Get(p.HeaderName()); p.In == api.Header && value != "" {
			list.Set(p.HeaderName(), value)
		}
	}
	return list
}

// flagsOf returns the request's parameters as command-line flags.
func flagsOf(op *api.Spec, r api.Request) []string {
	_, rawQuery, _ := strings.Cut(r.Path, "?")
	query, _ := url.ParseQuery(rawQuery) // just encoded, so always valid
	var body map[string]any
	_ = json.Unmarshal(r.Body, &body) // likewise; body stays empty without one
	var flags []string
	for _, p := range op.Params {
		value := ""
		switch p.In {
		case api.Query:
			value = query.Get(p.Name)
		case api.Header:
			value = r.Header.Get(p.HeaderName())
		case api.Body:
			if body[p.Name] != nil {
				value = fmt.Sprint(body[p.Name])
			}
		}
		switch {
		case value == "":
		case value == "true" || value == "false": // a switch takes no argument
			flags = append(flags, "--"+p.Flag()+"="+value)
		default:
			flags = append(flags, "--"+p.Flag()+" "+shellWord(value))
		}
	}
	return flags
}

// ForOrganization reports whether the example acts for an organization.
func (e Example) ForOrganization() bool {
	of := e.Spec.Auth == api.SessionOnly &&
		(strings.HasPrefix(e.Spec.Name, "products.") || strings.HasPrefix(e.Spec.Name, "customers."))
	return of || slices.Contains([]string{
		api.AssignClaim.Name, api.GetClaimHandling.Name, api.ListNotes.Name, api.WriteNote.Name,
		api.BulkClaims.Name, api.GetBulk.Name, api.UndoBulk.Name,
	}, e.Spec.Name)
}

// Request returns the path and the body with values in place of the variables.
func (e Example) Request(values map[string]string) (path, body string) {
	value := func(name string, _ bool) string { return values[name] }
	return substitute(e.Path, value), substitute(e.Body, value)
}

// Arguments returns the arguments of the tool as JSON, with values in place of the
// variables.
func (e Example) Arguments(values map[string]string) string {
	return substitute(e.arguments, func(name string, _ bool) string { return values[name] })
}

// Curl returns the request as a curl command for the service at base.
func (e Example) Curl(base string) string {
	var b strings.Builder
	b.WriteString("curl ")
	if e.Method != http.MethodGet && (e.Body == "" || e.Method != http.MethodPost) {
		b.WriteString("-X " + e.Method + " ")
	}
	b.WriteString(`"` + base + inDoubleQuotes(e.Path) + `"`)
	switch e.Spec.Auth {
	case api.Credential:
		b.WriteString(" \\\n  -H \"x-api-key: $" + keyVariable + `"`)
	case api.SessionOnly:
		b.WriteString(" \\\n  -H \"Authorization: Bearer $" + sessionVariable + `"`)
	}
	if e.ForOrganization() {
		b.WriteString(" \\\n  -H \"X-Account: $" + organizationVariable + `"`)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Header)) {
		b.WriteString(" \\\n  -H '" + inSingleQuotes(name+": "+e.Header.Get(name)) + "'")
	}
	if e.Body != "" {
		b.WriteString(" \\\n  -H 'Content-Type: application/json' \\\n  -d '" + inSingleQuotes(e.Body) + "'")
	}
	return b.String()
}

// CLI returns the svc command, or "" if there is none.
func (e Example) CLI() string {
	if !e.Spec.HasCommand() {
		return ""
	}
	noun, verb, _ := strings.Cut(e.Spec.Name, ".")
	words := []string{"svc", noun, strings.ReplaceAll(verb, "_", "-")}
	if e.Spec.Name == api.VerifyWarranty.Name {
		words = []string{"svc", verb}
	}
	path, _, _ := strings.Cut(e.Path, "?")
	segments := strings.Split(path, "/")
	for i, segment := range strings.Split(e.Spec.Route(), "/") {
		if strings.HasPrefix(segment, "{") {
			words = append(words, bare(segments[i]))
		}
	}
	for _, flag := range e.flags {
		words = append(words, bare(flag))
	}
	if e.Method == http.MethodDelete {
		words = append(words, "--yes")
	}
	if e.ForOrganization() {
		words = append(words, `--account "$`+organizationVariable+`"`)
	}
	line := strings.Join(words, " ")
	if e.Spec.Auth == api.SessionOnly {
		line = `SVC_API_KEY="$` + sessionVariable + `" ` + line
	}
	if len(line) > 80 && len(e.flags) > 1 { // one flag per line
		line = strings.ReplaceAll(line, " --", " \\\n  --")
	}
	return line
}

// MCP returns the tool call as a curl command, or "" if there is none.
func (e Example) MCP(base string) string {
	if e.Spec.Tool == "" {
		return ""
	}
	message := `{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "` + e.Spec.Tool +
		`", "arguments": ` + spaced(e.arguments) + `}}`
	return `curl "` + base + `/api/mcp"` + " \\\n  -H \"x-api-key: $" + keyVariable +
		"\" \\\n  -H 'Content-Type: application/json' \\\n  -d '" + inSingleQuotes(message) + "'"
}

// StatusLine returns the status of the response, such as "200 OK".
func (e Example) StatusLine() string { return fmt.Sprint(e.Status, " ", http.StatusText(e.Status)) }

// Response returns the body of the response of the service at base.
func (e Example) Response(base string) string { return strings.ReplaceAll(e.Answer, sampleBase, base) }

// sampleBase is the public URL in the recorded responses.
const sampleBase = "https://warranty.example.com"

// inDoubleQuotes, inSingleQuotes and bare replace samples with shell variables, quoted
// for their context.
func inDoubleQuotes(text string) string {
	return substitute(text, func(name string, _ bool) string { return "$" + name })
}

func inSingleQuotes(text string) string {
	return substitute(strings.ReplaceAll(text, "'", `'\''`), func(name string, quoted bool) string {
		if quoted {
			return `'"$` + name + `"'`
		}
		return "'$" + name + "'"
	})
}

func bare(text string) string {
	return substitute(text, func(name string, quoted bool) string {
		if quoted {
			return `"$` + name + `"`
		}
		return "$" + name
	})
}

func substitute(text string, variable func(name string, quoted bool) string) string {
	for _, v := range variables {
		text = strings.ReplaceAll(text, v.sample, variable(v.name, v.quoted))
	}
	return text
}

// shellWord quotes a value for the shell if necessary.
func shellWord(value string) string {
	if strings.Trim(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:@/") == "" {
		return value
	}
	return "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"
}

func indent(body []byte) string {
	var b bytes.Buffer
	if len(body) == 0 || json.Indent(&b, body, "", "  ") != nil {
		return ""
	}
	return b.String()
}

// spaced formats JSON on one line with spaces.
func spaced(text string) string {
	lines := strings.Split(indent([]byte(text)), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.NewReplacer("{ ", "{", " }", "}", "[ ", "[", " ]", "]").Replace(strings.Join(lines, " "))
}
