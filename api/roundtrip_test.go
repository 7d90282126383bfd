package api_test

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// anyInput generates an input of an operation, valid or not.
func anyInput(s *api.Spec) *rapid.Generator[any] {
	if len(s.Params) == 0 {
		return rapid.Just(reflect.New(s.In).Interface())
	}
	return rapid.Custom(func(t *rapid.T) any {
		in := reflect.New(s.In).Interface()
		for _, p := range s.Params {
			f := field(in, p)
			if f.Kind() == reflect.Pointer {
				if rapid.Bool().Draw(t, p.Name+" is left out") {
					continue
				}
				f.Set(reflect.New(f.Type().Elem()))
				f = f.Elem()
			}
			fill(t, f, p)
		}
		return in
	})
}

// anyKey returns an ID or a reference with the prefix.
func anyKey(t *rapid.T, p api.Param, prefix string) (key warranty.WarrantyKey) {
	random := rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, p.Name)
	if rapid.Bool().Draw(t, p.Name+" by reference") {
		key.Reference, _ = warranty.NewReference(prefix, bytes.NewReader(random))
		return key
	}
	copy(key.ID[:], random)
	key.ID[0] |= 1 // the zero ID is not a key
	return key
}

func fill(t *rapid.T, f reflect.Value, p api.Param) {
	switch f.Interface().(type) {
	case time.Time:
		at := time.Unix(rapid.Int64Range(-62135596800, 253402300799).Draw(t, p.Name),
			rapid.Int64Range(0, 999999999).Draw(t, p.Name+" ns"))
		f.Set(reflect.ValueOf(at.UTC()))
		return
	case warranty.ID:
		copy(f.Addr().Interface().(*warranty.ID)[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, p.Name))
		return
	case warranty.FieldNames:
		f.SetString(strings.Join(rapid.SliceOf(rapid.SampledFrom(p.Enum)).Draw(t, p.Name), ","))
		return
	case warranty.FeedPosition:
		f.Set(reflect.ValueOf(anyPosition(t, p.Name)))
		return
	case warranty.ChangesCursor:
		cursor := warranty.ChangesCursor{Changed: anyPosition(t, p.Name), Left: anyPosition(t, p.Name)}
		if rapid.Bool().Draw(t, p.Name+" is complete") {
			cursor.Left.Settled = time.Time{}
		}
		f.Set(reflect.ValueOf(cursor))
		return
	case warranty.WarrantyKey:
		f.Set(reflect.ValueOf(anyKey(t, p, warranty.WarrantyPrefix)))
		return
	case warranty.ClaimKey:
		f.Set(reflect.ValueOf(warranty.ClaimKey(anyKey(t, p, warranty.ClaimPrefix))))
		return
	case warranty.Date:
		f.SetInt(rapid.Int64Range(0, int64(warranty.Lifetime)).Draw(t, p.Name))
		return
	}
	switch f.Kind() {
	case reflect.String:
		if enum, ok := f.Interface().(interface{ Values() []string }); ok {
			f.SetString(rapid.SampledFrom(append([]string{""}, enum.Values()...)).Draw(t, p.Name))
			return
		}
		f.SetString(anyText(p).Draw(t, p.Name))
	case reflect.Bool:
		f.SetBool(rapid.Bool().Draw(t, p.Name))
	case reflect.Int:
		f.SetInt(anyNumber(p).Draw(t, p.Name))
	case reflect.Slice:
		if f.Type() == reflect.TypeFor[[]warranty.LookupItem]() {
			f.Set(reflect.ValueOf(rapid.SliceOfN(anyItem(), 0, 3).Draw(t, p.Name)))
			return
		}
		if f.Type() == reflect.TypeFor[[]warranty.ClaimItem]() {
			f.Set(reflect.ValueOf([]warranty.ClaimItem{{ID: someID}}))
			return
		}
		if f.Type() == reflect.TypeFor[[]warranty.BatchItem]() {
			f.Set(reflect.ValueOf([]warranty.BatchItem{{Text: []byte(`{"product_name":"Pan"}`)}}))
			return
		}
		if f.Type() == reflect.TypeFor[warranty.ReminderDays]() {
			f.Set(reflect.ValueOf(warranty.ReminderDays(rapid.SliceOfN(rapid.IntRange(1, 365), 0, 5).Draw(t, p.Name))))
			return
		}
		f.Set(reflect.ValueOf(rapid.SliceOf(rapid.String()).Draw(t, p.Name)))
	default:
		t.Fatalf("no values for %s", f.Type())
	}
}

func anyItem() *rapid.Generator[warranty.LookupItem] {
	return rapid.Custom(func(t *rapid.T) warranty.LookupItem {
		return warranty.LookupItem{ExternalID: rapid.String().Draw(t, "external id"),
			ProductName: rapid.String().Draw(t, "product"),
			StartDate:   warranty.Date(rapid.Int64Range(0, int64(warranty.Lifetime)).Draw(t, "start")),
			Nth:         rapid.IntRange(0, 9).Draw(t, "nth")}
	})
}

// anyText generates text that can be sent in the given part of a request. A header is one
// line without surrounding spaces. A path segment cannot be empty, ".", ".." or contain
// "/", because clients and servers normalize paths.
func anyText(p api.Param) *rapid.Generator[string] {
	switch {
	case p.Name == "if_match":
		return rapid.StringMatching(`(\*|(W/)?"[!#-~]*"(, ?(W/)?"[!#-~]*")*)?`)
	case p.In == api.Header:
		return rapid.StringMatching(`([!-~]([ -~]*[!-~])?)?`)
	case p.In == api.Path:
		return rapid.OneOf(rapid.String(), rapid.StringMatching(`[./%?#;&=+ a-z\\]{1,12}`)).
			Filter(func(s string) bool { return s != "" && s != "." && s != ".." && s != "/" })
	}
	return rapid.OneOf(rapid.String(), rapid.StringMatching(`[./%?#;&=+ a-z\\"]{0,12}`))
}

// anyNumber generates a number within the bounds. 0 is excluded unless the field is a
// pointer, because it would not be sent.
func anyNumber(p api.Param) *rapid.Generator[int64] {
	allowed := rapid.Int64Min(*p.Min)
	if p.Max != nil {
		allowed = rapid.Int64Range(*p.Min, *p.Max)
	}
	if p.Type.Kind() == reflect.Pointer {
		return allowed
	}
	return rapid.OneOf(allowed, rapid.Just(int64(0)))
}

// server decodes requests behind a real ServeMux and keeps the result.
type server struct {
	mux  *http.ServeMux
	spec *api.Spec
	in   any
	err  error
}

func newServer() *server {
	srv := &server{mux: http.NewServeMux()}
	for _, s := range api.Operations() {
		srv.mux.HandleFunc(s.Method+" "+s.Route(), func(_ http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				panic(err)
			}
			srv.spec = s
			srv.in, srv.err = s.Decode(api.Parts{Path: r.PathValue, Query: r.URL.RawQuery, Header: r.Header, Body: body})
		})
	}
	return srv
}

// serve writes a request in wire format, reads it back and serves it.
func (srv *server) serve(req api.Request) error {
	out, err := http.NewRequest(req.Method, "http://w.example"+req.Path, bytes.NewReader(req.Body))
	if err != nil {
		return err
	}
	out.Header = req.Header
	var wire bytes.Buffer
	if err := out.Write(&wire); err != nil {
		return err
	}
	in, err := http.ReadRequest(bufio.NewReader(&wire))
	if err != nil {
		return err
	}
	srv.spec, srv.in, srv.err = nil, nil, nil
	srv.mux.ServeHTTP(httptest.NewRecorder(), in)
	return srv.err
}

func TestRequestRoundTrip(t *testing.T) {
	srv := newServer()
	for _, s := range api.Operations() {
		t.Run(s.Name, func(t *testing.T) {
			inputs := anyInput(s)
			testenv.Property(t, func(t *rapid.T) {
				in := inputs.Draw(t, "in")
				req, err := s.Request(in)
				if err != nil {
					t.Fatal(err)
				}
				if err := srv.serve(req); err != nil {
					t.Fatalf("%s %s %s: %v", req.Method, req.Path, req.Body, err)
				}
				if srv.spec != s {
					t.Fatalf("%s %s was routed elsewhere", req.Method, req.Path)
				}
				if diff := cmp.Diff(in, srv.in, asSent); diff != "" {
					t.Errorf("%s %s %s (-sent +received):\n%s", req.Method, req.Path, req.Body, diff)
				}
			})
		})
	}
}

// TestArgumentsRoundTrip does the same for the arguments of a tool.
func TestArgumentsRoundTrip(t *testing.T) {
	for _, s := range api.Operations() {
		t.Run(s.Name, func(t *testing.T) {
			inputs := anyInput(s)
			testenv.Property(t, func(t *rapid.T) {
				in := inputs.Draw(t, "in")
				for _, p := range s.Params {
					if p.In == api.Path && field(in, p).IsZero() {
						t.Skip("arguments cannot contain the zero ID")
					}
				}
				data := arguments(s, in)
				got, err := s.DecodeArguments([]byte(data))
				if err != nil {
					t.Fatalf("%s: %v", data, err)
				}
				if diff := cmp.Diff(in, got, asSent); diff != "" {
					t.Errorf("%s (-sent +received):\n%s", data, diff)
				}
			})
		})
	}
}

func TestRequestIsWhatTheInterfaceSays(t *testing.T) {
	for name, tc := range map[string]struct {
		spec         *api.Spec
		in           any
		method, path string
		header       http.Header
		body         string
	}{
		"list": {api.ListWarranties.Spec, &warranty.ListWarranties{Paging: warranty.Paging{Page: 2, Limit: 50}, WarrantyFilter: warranty.WarrantyFilter{Status: warranty.Active, Category: "A & B"}},
			"GET", "/api/v1/warranties?category=A+%26+B&limit=50&page=2&status=active", http.Header{}, ""},
		"list, nothing given": {api.ListWarranties.Spec, &warranty.ListWarranties{}, "GET", "/api/v1/warranties",
			http.Header{}, ""},
		"create": {api.CreateWarranty.Spec, &warranty.CreateWarranty{ProductName: `"<é>`, StartDate: 1, EndDate: warranty.Lifetime, IdempotencyKey: new("k1")},
			"POST", "/api/v1/warranties", http.Header{"Idempotency-Key": {"k1"}}, `{"product_name":"\"<é>","start_date":"0001-01-01","end_date":"9999-12-31"}`},
		"update": {api.UpdateWarranty.Spec, &warranty.UpdateWarranty{ID: warranty.WarrantyKey{ID: someID}, Category: new(""), Status: new(warranty.Void), IfMatch: `"3"`},
			"PUT", "/api/v1/warranties/" + someID.String(), http.Header{"If-Match": {`"3"`}}, `{"status":"void","category":""}`},
		"update of nothing": {api.UpdateWarranty.Spec, &warranty.UpdateWarranty{ID: warranty.WarrantyKey{ID: someID}}, "PUT", "/api/v1/warranties/" + someID.String(), http.Header{}, `{}`},
		"verify": {api.VerifyWarranty.Spec, &warranty.VerifyWarranty{Reference: "a/b c?d#e%f", Serial: "1"},
			"GET", "/api/v1/verify/a%2Fb%20c%3Fd%23e%25f?serial=1", http.Header{}, ""},
		"rotate, nothing given": {api.RotateToken.Spec, &warranty.RotateToken{ID: someID}, "POST", "/api/integration-tokens/" + someID.String() + "/rotate", http.Header{}, ""},
		"rotate at once":        {api.RotateToken.Spec, &warranty.RotateToken{ID: someID, OverlapSeconds: new(0)}, "POST", "/api/integration-tokens/" + someID.String() + "/rotate", http.Header{}, `{"overlap_seconds":0}`},
	} {
		t.Run(name, func(t *testing.T) {
			want := api.Request{Method: tc.method, Path: tc.path, Header: tc.header}
			if tc.body != "" {
				want.Body = []byte(tc.body)
			}
			if diff := cmp.Diff(want, must(tc.spec.Request(tc.in))); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRequestRefusesWhatIsNoText(t *testing.T) {
	if r, err := api.CreateWarranty.Request(&warranty.CreateWarranty{ProductName: "a\xffb"}); err == nil {
		t.Errorf("invalid UTF-8 is sent as %s", r.Body)
	}
}

// TestPathsOfNoRecord checks that invalid IDs get the same response as unknown ones, and
// are not repeated.
func TestPathsOfNoRecord(t *testing.T) {
	srv := newServer()
	for _, id := range []string{"1", canary, "%00", "%ff", "%2e%2e%2f", someID.String() + "%20", strings.Repeat("a", 5000)} {
		for _, path := range []string{"/api/v1/warranties/", "/api/v1/claims/", "/api/v1/documents/"} {
			err := srv.serve(api.Request{Method: "GET", Path: path + id})
			if srv.spec == nil {
				t.Fatalf("%s%.40s matches no route", path, id)
			}
			expect(t, err, warranty.NotFound)
		}
	}
}

// anyPosition returns a position in a list of changes.
func anyPosition(t *rapid.T, name string) warranty.FeedPosition {
	micros := rapid.Int64Range(1, 253402300799999999)
	return warranty.FeedPosition{
		At:      time.UnixMicro(micros.Draw(t, name)).UTC(),
		ID:      warranty.ID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, name+" id")),
		Settled: time.UnixMicro(micros.Draw(t, name+" settled")).UTC(),
	}
}
