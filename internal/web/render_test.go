package web

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// TestPageThatFailsIsAnErrorPage renders a page whose template fails.
func TestPageThatFailsIsAnErrorPage(t *testing.T) {
	views, err := view.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	st, err := store.OpenUnsynced(t.Context(), filepath.Join(t.TempDir(), "svc.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	logger := slog.New(slog.NewTextHandler(&log, nil))
	web := &Web{Service: service.New(st, logger), views: views, Log: logger}
	request := httptest.NewRequest(http.MethodGet, "/claims", nil)
	request = request.WithContext(api.WithCaller(request.Context(), &api.Caller{RequestID: "request-4711"}))
	answer := httptest.NewRecorder()
	broken := func(w http.ResponseWriter, r *http.Request, _ warranty.Principal) error {
		return web.show(w, r, http.StatusOK, "claims", view.Page{Body: "no claims"})
	}
	web.serve(route{page: broken, open: true, setup: true}).ServeHTTP(answer, request)
	body := answer.Body.String()
	if answer.Code != http.StatusInternalServerError || strings.Contains(body, "claims.html") {
		t.Errorf("got %d: %s", answer.Code, body)
	}
	for _, want := range []string{`class="card oops"`, "request-4711"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page does not contain %q: %s", want, body)
		}
	}
	for _, want := range []string{"claims.html", "request-4711"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not contain %q: %s", want, log.String())
		}
	}
}
