package web

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"warranty.example/svc/api"
)

// TestPageThatFailsIsAnErrorPage renders a page whose template fails.
func TestPageThatFailsIsAnErrorPage(t *testing.T) {
	static, err := newStatic()
	if err != nil {
		t.Fatal(err)
	}
	views, err := newViews(static)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	web := &Web{views: views, static: static, Log: slog.New(slog.NewTextHandler(&log, nil))}
	request := httptest.NewRequest(http.MethodGet, "/claims", nil)
	request = request.WithContext(api.WithCaller(request.Context(), &api.Caller{RequestID: "request-4711"}))
	answer := httptest.NewRecorder()
	web.show(answer, request, http.StatusOK, "claims", view{Body: "no claims"})
	body := answer.Body.String()
	if answer.Code != http.StatusInternalServerError || !strings.Contains(body, `class="card oops"`) || !strings.Contains(body, "request-4711") {
		t.Errorf("got %d: %s", answer.Code, body)
	}
	if strings.Contains(body, "claims.html") || !strings.Contains(log.String(), "claims.html") || !strings.Contains(log.String(), "request-4711") {
		t.Errorf("the page says\n%s\nand the log\n%s", body, log.String())
	}
}
