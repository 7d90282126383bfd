package web

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// TestSubmit sends a form with each kind of result.
func TestSubmit(t *testing.T) {
	views, err := view.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	texts := views.Edition("en")
	web := &Web{views: views, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	broken := errors.New("broken")
	var invalid warranty.Checks
	invalid.Add("email", "invalid", "Enter an email address.")
	valid := url.Values{"name": {"Nora"}, "email": {"nora@people.example"}, "password": {"a long enough password"}}
	for name, c := range map[string]struct {
		values  url.Values
		resumed bool
		fails   error // the error of the operation
		status  int   // of the form that is shown again
		wrong   string
		errors  []string // fields with errors
		err     error    // the error that is returned
		to      string   // where it redirects to
	}{
		"performed":        {values: valid, to: "/next"},
		"an invalid field": {values: valid, fails: invalid.Err(), status: 422, errors: []string{"email"}},
		"refused": {values: valid, fails: warranty.Refuse(warranty.AlreadyExists, "This address already has an account."),
			status: 422, wrong: "This address already has an account."},
		"unavailable": {values: valid, fails: warranty.Refuse(warranty.Unavailable, "The database is away."),
			status: 503, wrong: texts.Text("error.unavailable")},
		"not found":      {values: valid, fails: warranty.ErrNotFound, err: warranty.ErrNotFound},
		"internal error": {values: valid, fails: broken, err: broken},
		"resumed":        {values: valid, resumed: true, status: 200, wrong: texts.Text("form.resumed")},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "/register", strings.NewReader(c.values.Encode()))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			ctx := api.WithCaller(r.Context(), &api.Caller{})
			if c.resumed {
				ctx = context.WithValue(ctx, resumedKey{}, warranty.Principal{})
			}
			w, again, performed := httptest.NewRecorder(), (*form)(nil), false
			err := submit(web, w, r.WithContext(ctx), warranty.Principal{}, action[warranty.Register, warranty.Session]{
				op: api.Register,
				do: func(context.Context, warranty.Principal, warranty.Register) (warranty.Session, error) {
					performed = true
					return warranty.Session{}, c.fails
				},
				again: func(_ http.ResponseWriter, _ *http.Request, _ warranty.Principal, f form) error {
					again = &f
					return nil
				},
				next: func(form, warranty.Session) string { return "/next" },
			})
			if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) || w.Header().Get("Location") != c.to {
				t.Fatalf("got %v and a redirect to %q", err, w.Header().Get("Location"))
			}
			if c.resumed && performed {
				t.Error("a resumed form was performed")
			}
			if (again != nil) != (c.status != 0) {
				t.Fatalf("the form shown again is %+v", again)
			}
			if again == nil {
				return
			}
			if again.status != c.status || again.Wrong != c.wrong || len(again.Errors) != len(c.errors) {
				t.Errorf("the form shown again is %+v", again)
			}
			for _, field := range c.errors {
				if again.Error(field) == "" {
					t.Errorf("%s has no error: %v", field, again.Errors)
				}
			}
			if again.Value("name") != "Nora" || again.Value("password") != "" {
				t.Errorf("the values are %v", again.Values)
			}
		})
	}
}
