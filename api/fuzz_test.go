package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// pick selects an operation by any number.
func pick(specs []*api.Spec, n uint8) *api.Spec { return specs[int(n)%len(specs)] }

// judge checks the result of decoding: an error that is safe to show, or an input that
// survives a round trip through a request.
func judge(t *testing.T, s *api.Spec, in any, err error) {
	t.Helper()
	if err != nil {
		fitToShow(t, err)
		return
	}
	req, err := s.Request(in)
	if err != nil {
		t.Fatalf("%s of %+v: %v", s.Name, in, err)
	}
	p := parts(string(req.Body))
	p.Header = req.Header
	p.Path = func(name string) string {
		if name == "reference" {
			return in.(*warranty.VerifyWarranty).Reference
		}
		return field(in, api.Param{Name: name}).Interface().(fmt.Stringer).String()
	}
	_, p.Query, _ = strings.Cut(req.Path, "?")
	again, err := s.Decode(p)
	if err != nil {
		t.Fatalf("%s %s %s: %v", s.Name, req.Path, req.Body, err)
	}
	if diff := cmp.Diff(in, again, asSent); diff != "" {
		t.Errorf("%s %s %s (-first +second):\n%s", s.Name, req.Path, req.Body, diff)
	}
	if err := check(in); err != nil {
		fitToShow(t, err)
	}
}

// fitToShow fails for errors that are not the caller's fault, or that contain characters
// unsafe for terminals and logs.
func fitToShow(t *testing.T, err error) {
	t.Helper()
	e := refusal(t, err)
	switch e.Code {
	case warranty.MalformedRequest, warranty.ValidationFailed, warranty.NotFound:
	default:
		t.Errorf("refused with %s", e.Code)
	}
	if e.Code == warranty.ValidationFailed && len(e.Fields) == 0 {
		t.Error("no field is named")
	}
	text := strings.ReplaceAll(err.Error(), "…", "")
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		t.Errorf("not fit to be shown: %q", text)
	}
}

func FuzzDecodeBody(f *testing.F) {
	specs := withBody()
	for i, s := range specs {
		f.Add(uint8(i), must(s.Request(sample(s))).Body)
	}
	for _, body := range malformedBodies {
		if len(body) < 1000 {
			f.Add(uint8(0), []byte(body))
		}
	}
	for _, tc := range wrongFields {
		f.Add(uint8(0), []byte(tc.body))
	}
	f.Fuzz(func(t *testing.T, n uint8, body []byte) {
		s := pick(specs, n)
		in, err := s.Decode(parts(string(body)))
		if err == nil && len(body) > 0 && !json.Valid(body) {
			t.Errorf("accepted, but no JSON: %q", body)
		}
		judge(t, s, in, err)
	})
}

func FuzzDecodeQuery(f *testing.F) {
	specs := api.Operations()
	for i := range specs {
		for _, query := range []string{"", "page=2&limit=50", "status=active", "q=%ff", "colour=1",
			"warranty_id=" + someID.String(),
			"api_key=x", "page=1&page=2", "page=%zz", "serial=a+b", "expiring_within_days=0", "category=%00", "page=-0"} {
			f.Add(uint8(i), query)
		}
	}
	f.Fuzz(func(t *testing.T, n uint8, query string) {
		s := pick(specs, n)
		p := parts(string(must(s.Request(sample(s))).Body))
		p.Query = query
		in, err := s.Decode(p)
		judge(t, s, in, err)
	})
}

func FuzzDecodeArguments(f *testing.F) {
	specs := api.Operations()
	for i, s := range specs {
		f.Add(uint8(i), []byte(arguments(s, sample(s))))
	}
	for _, tc := range wrongFields {
		f.Add(uint8(1), []byte(tc.body))
	}
	f.Add(uint8(0), []byte(`{"page":null,"limit":100,"status":"void","expiring_within_days":0}`))
	f.Add(uint8(3), []byte(`{"id":"`+someID.String()+`","category":null,"status":"","if_match":"*"}`))
	f.Fuzz(func(t *testing.T, n uint8, data []byte) {
		s := pick(specs, n)
		in, err := s.DecodeArguments(data)
		if err == nil && len(data) > 0 && !json.Valid(data) {
			t.Errorf("accepted, but no JSON: %q", data)
		}
		if err == nil {
			for _, p := range s.Params {
				if p.In == api.Path && field(in, p).IsZero() {
					t.Errorf("accepted without %s", p.Name)
				}
			}
		}
		judge(t, s, in, err)
	})
}
