package warranty_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"warranty.example/svc/warranty"
)

// codeTable is the table in the contract, section 3.
var codeTable = map[int]string{
	400: "malformed_request",
	401: "missing_credential invalid_credential token_expired token_revoked session_expired",
	403: "insufficient_scope session_required role_not_allowed email_not_verified account_not_allowed " +
		"second_factor_required confirmation_required two_step_required sso_required account_deleted",
	404: "not_found",
	405: "method_not_allowed",
	406: "not_acceptable",
	409: "token_limit_reached invalid_transition already_exists last_admin in_use last_method identity_in_use break_glass_required",
	410: "file_missing",
	412: "precondition_failed",
	413: "body_too_large",
	415: "unsupported_media_type",
	422: "validation_failed invalid_code idempotency_key_reused",
	428: "precondition_required",
	429: "rate_limited ip_throttled",
	500: "internal",
	503: "unavailable",
}

func TestCodes(t *testing.T) {
	want := make(map[warranty.Code]int)
	for status, names := range codeTable {
		for name := range strings.FieldsSeq(names) {
			want[warranty.Code(name)] = status
		}
	}
	got := make(map[warranty.Code]int)
	titles := make(map[string]warranty.Code)
	for _, info := range warranty.Codes() {
		got[info.Code] = info.Status
		if info.Title == "" || info.Fix == "" {
			t.Errorf("%s has no title or no fix", info.Code)
		}
		if other, ok := titles[info.Title]; ok {
			t.Errorf("%s and %s have the same title", info.Code, other)
		}
		titles[info.Title] = info.Code
		if info.Code.Info() != info {
			t.Errorf("%s is documented as %v", info.Code, info.Code.Info())
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("codes and statuses (-contract +got):\n%s", diff)
	}
}

func TestCodesIsACopy(t *testing.T) {
	warranty.Codes()[0].Status = 200
	if warranty.Codes()[0].Status == 200 {
		t.Error("callers can modify the table")
	}
}

func TestUnknownCodeIsInternal(t *testing.T) {
	p := warranty.Refuse("made_up", "secret detail").Problem("https://w.example", "r1")
	if p.Code != warranty.Internal || p.Status != 500 {
		t.Errorf("an unknown code is shown as %s, %d", p.Code, p.Status)
	}
}

func TestProblemJSON(t *testing.T) {
	var c warranty.Checks
	c.Add("end_date", "before_start", "The end is before the start.")
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"with fields": {c.Err(),
			`{"type":"https://w.example/docs/errors#validation_failed","title":"Validation failed","status":422,` +
				`"code":"validation_failed","detail":"Fix these fields: end_date.",` +
				`"errors":[{"field":"end_date","code":"before_start","message":"The end is before the start."}],"request_id":"r1"}`},
		"without": {warranty.Refuse(warranty.RateLimited, "Wait."),
			`{"type":"https://w.example/docs/errors#rate_limited","title":"Rate limited","status":429,` +
				`"code":"rate_limited","detail":"Wait.","request_id":"r1"}`},
	} {
		t.Run(name, func(t *testing.T) {
			got := must(json.Marshal(tc.err.(*warranty.Error).Problem("https://w.example", "r1")))
			if diff := cmp.Diff(tc.want, string(got)); diff != "" {
				t.Errorf("problem (-want +got):\n%s", diff)
			}
		})
	}
}

func TestErrorIsOneLine(t *testing.T) {
	var c warranty.Checks
	if err := c.Err(); err != nil {
		t.Fatalf("no faults, but Err returned %v", err)
	}
	c.Add("a", "x", "First.")
	c.Add("b", "y", "Second.")
	const want = "validation_failed: Fix these fields: a, b.; a: First.; b: Second."
	if got := c.Err().Error(); got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
}
