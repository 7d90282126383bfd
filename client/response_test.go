package client_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"warranty.example/svc/api"
	"warranty.example/svc/client"
	"warranty.example/svc/warranty"
)

// TestGarbageIsNoRecord: a response of another program is an error, never an empty
// record.
func TestGarbageIsNoRecord(t *testing.T) {
	for name, response := range map[string]reply{
		"a page of a hotel":         body(200, "text/html", "<html>Welcome to the hotel</html>"),
		"nothing":                   body(200, "application/json", ""),
		"an empty object":           body(200, "application/json", "{}"),
		"null":                      body(200, "application/json", "null"),
		"no data":                   body(200, "application/json", `{"data":null}`),
		"another service's":         body(200, "application/json", `{"items":[]}`),
		"half of it":                body(200, "application/json", record[:len(record)/2]),
		"twice":                     body(200, "application/json", record+record),
		"a list where one is meant": body(200, "application/json", `{"data":[]}`),
		"no content":                body(204, "", ""),
		"a problem without a code":  body(422, "application/problem+json", `{"title":"x"}`),
		"a problem of another kind": body(422, "application/json", `{"code":"validation_failed"}`),
		"a problem that is broken":  body(422, "application/problem+json", `{"code":`),
		"a web page":                body(404, "text/html", "<h1>404</h1>"),
	} {
		t.Run(name, func(t *testing.T) {
			c := serve(t, response).client(t, client.WithAttempts(1))
			_, err := c.GetWarranty(t.Context(), warranty.GetWarranty{ID: warranty.WarrantyKey{ID: warranty.ID{1}}})
			var network *client.NetworkError
			if !errors.As(err, &network) {
				t.Errorf("read one: %v", err)
			}
			if name == "a list where one is meant" {
				return
			}
			if _, err := c.ListWarranties(t.Context(), warranty.ListWarranties{}); !errors.As(err, &network) {
				t.Errorf("read a list: %v", err)
			}
		})
	}
}

func TestRefusalsCanBeToldApart(t *testing.T) {
	c := serve(t, problem(warranty.ValidationFailed)).client(t)
	_, err := c.ListWarranties(t.Context(), warranty.ListWarranties{})
	var refused *client.Error
	if !errors.As(err, &refused) || refused.Code != warranty.ValidationFailed || refused.Status != 422 ||
		refused.RequestID != "r-1" || len(refused.Errors) != 1 {
		t.Fatalf("%+v", err)
	}
	var own *warranty.Error
	if !errors.As(err, &own) || own.Code != warranty.ValidationFailed || own.Fields[0].Field != "page" {
		t.Errorf("as *warranty.Error: %+v", own)
	}
}

func TestHeadersOfARecordAreInIt(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"7"`)
		w.Header().Set("Idempotent-Replayed", "true")
		created(w, r)
	}).client(t)
	w, err := c.CreateWarranty(t.Context(), draft)
	if err != nil || w.Version != 7 || !w.Replayed() {
		t.Errorf("%d %v %v", w.Version, w.Replayed(), err)
	}
}

func TestAnswerIsGivenAsItCame(t *testing.T) {
	newer := strings.Replace(record, `"id"`, `"colour":"a field of a newer service","id"`, 1)
	out, response, err := serve(t, body(200, "application/json", newer)).client(t).Do(t.Context(), api.GetWarranty.Spec,
		&warranty.GetWarranty{ID: warranty.WarrantyKey{ID: warranty.ID{1}}})
	if err != nil || string(response.Body) != newer || out.(*warranty.Warranty).ProductName != "Kettle" {
		t.Errorf("%v %s %+v", err, response.Body, out)
	}
	_, response, err = serve(t, problem(warranty.NotFound)).client(t).Do(t.Context(), api.GetWarranty.Spec,
		&warranty.GetWarranty{ID: warranty.WarrantyKey{ID: warranty.ID{1}}})
	if err == nil || response.Status != 404 || !strings.Contains(string(response.Body), `"request_id":"r-1"`) {
		t.Errorf("an error of the service: %v %+v", err, response)
	}
}

// TestKeyStaysWithItsService covers every way to send the key to another host.
func TestKeyStaysWithItsService(t *testing.T) {
	elsewhere := serve(t, created)
	redirect := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL+"/api/v1/warranties", http.StatusTemporaryRedirect)
	}
	for name, options := range map[string][]client.Option{
		"redirect": nil,
		"redirect with an HTTP client of the caller": {client.WithHTTPClient(&http.Client{})},
	} {
		t.Run(name, func(t *testing.T) {
			f := serve(t, redirect)
			var network *client.NetworkError
			if _, err := f.client(t, options...).GetWarranty(t.Context(),
				warranty.GetWarranty{ID: warranty.WarrantyKey{ID: warranty.ID{1}}}); !errors.As(err, &network) {
				t.Errorf("%v", err)
			}
		})
	}
	f := serve(t, created)
	host := strings.TrimPrefix(elsewhere.URL, "http://")
	for _, path := range []string{"@" + host + "/", ":x@" + host + "/", "." + host + "/", "", "api/v1/warranties", host,
		elsewhere.URL + "/", "\\@" + host + "/"} {
		if _, err := f.client(t, client.WithAttempts(1)).Send(t.Context(),
			api.Request{Method: "GET", Path: path}); err == nil {
			t.Errorf("path %q was sent", path)
		}
	}
	for _, path := range []string{"//" + host + "/x", "/@" + host + "/", "/\\" + host} {
		_, _ = f.client(t, client.WithAttempts(1)).Send(t.Context(), api.Request{Method: "GET", Path: path})
	}
	if n := elsewhere.count(); n != 0 {
		t.Errorf("%d requests went to another host", n)
	}
}

func TestSecretIsNeverPrinted(t *testing.T) {
	var seen []string
	f := serve(t, problem(warranty.Unavailable), problem(warranty.InvalidCredential))
	c := f.client(t, client.WithObserver(func(a client.Attempt) { seen = append(seen, fmt.Sprintf("%+v", a)) }))
	_, err := c.GetWarranty(t.Context(), warranty.GetWarranty{ID: warranty.WarrantyKey{ID: warranty.ID{1}}})
	broken := serve(t, created)
	broken.Close()
	_, unreachable := broken.client(t, client.WithAttempts(1)).GetWarranty(t.Context(),
		warranty.GetWarranty{ID: warranty.WarrantyKey{ID: warranty.ID{1}}})
	seen = append(seen, fmt.Sprint(err), fmt.Sprintf("%+v", unreachable), fmt.Sprintf("%v %+v %#v", c, c, c),
		fmt.Sprintf("%v", *c))
	for _, text := range seen {
		if strings.Contains(text, key[4:20]) {
			t.Errorf("the key is in %s", text)
		}
	}
	if f.requests[0].Header.Get("X-Api-Key") != key {
		t.Error("the key was not sent")
	}
}

func TestCredentialGoesWhereItsKindBelongs(t *testing.T) {
	for secret, want := range map[string]string{
		key: "X-Api-Key",
		"svs_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefg4c11DI": "Authorization",
		"": "",
	} {
		f := serve(t, created)
		c, err := client.New(f.URL+"/api/v1/", secret, client.WithUserAgent("svc/9"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.VerifyPublicly(t.Context(), warranty.VerifyWarranty{Reference: "WR-1"}); err != nil {
			t.Error(err)
		}
		h := f.requests[0].Header
		if h.Get("X-Api-Key") != "" && want != "X-Api-Key" || h.Get("Authorization") != "" && want != "Authorization" ||
			want != "" && h.Get(want) == "" {
			t.Errorf("%q was sent as %v", secret, h)
		}
		if h.Get("User-Agent") != "svc/9" || h.Get("Accept") != "application/json" ||
			f.requests[0].URL.Path != "/verify/WR-1" {
			t.Errorf("%v %v", f.requests[0].URL, h)
		}
	}
}

func TestBaseAddressIsChecked(t *testing.T) {
	for _, wrong := range []string{"", "127.0.0.1:8080/api/v1", "ftp://x/api/v1", "http://", "http://x",
		"http://x/api/v2", "http://user:pass@x/api/v1", "http://x/api/v1?key=1", "http://x/api/v1#a", "://"} {
		if _, err := client.New(wrong, key); err == nil {
			t.Errorf("%q was accepted", wrong)
		}
	}
	c, err := client.New("https://x.example/behind/a proxy/api/v1//", key)
	if err != nil || c.Root() != "https://x.example/behind/a%20proxy" {
		t.Errorf("%v %v", c, err)
	}
}
