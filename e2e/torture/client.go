package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"
)

// patience is the timeout of a request.
const patience = 40 * time.Second

// answer is a response, or the error instead of one.
type answer struct {
	status int
	header http.Header
	body   []byte
	err    error // instead of a response
	sent   bool  // at least part of the request was sent
	took   time.Duration
}

// outcome returns what the client knows about the request.
func (a answer) outcome() outcome {
	var dial *net.OpError
	switch {
	case a.err != nil && errors.As(a.err, &dial) && dial.Op == "dial" && !a.sent:
		return refused
	case a.err != nil:
		return unanswered
	case a.status < 300:
		return acknowledged
	case a.status >= 500:
		return unanswered // a 503 does not tell whether the change was made
	}
	return refused
}

func (a answer) String() string {
	if a.err != nil {
		return a.err.Error()
	}
	text := fmt.Sprint(a.status)
	if a.status >= 300 {
		text += " " + strings.TrimSpace(string(a.body[:min(len(a.body), 200)]))
	}
	return text
}

// code returns the status and error code of a response, for the figures.
func (a answer) code() string {
	if a.err != nil {
		if a.outcome() == refused {
			return "no connection"
		}
		return "no response"
	}
	var problem struct {
		Code string `json:"code"`
	}
	if json.Unmarshal(a.body, &problem) != nil || problem.Code == "" {
		return fmt.Sprintf("%d by the balancer", a.status)
	}
	return fmt.Sprintf("%d %s", a.status, problem.Code)
}

// data decodes the field "data" of a response.
func (a answer) data(into any) error {
	if err := json.Unmarshal(a.body, &struct {
		Data any `json:"data"`
	}{into}); err != nil {
		return fmt.Errorf("%w in %s", err, a.body)
	}
	return nil
}

// apiClient sends requests to one or several base URLs in turn.
type apiClient struct {
	urls    []string
	next    atomic.Uint64
	client  *http.Client
	figures *figures
}

func newAPIClient(figures *figures, urls ...string) *apiClient {
	transport := &http.Transport{
		MaxIdleConnsPerHost: 64,
		DialContext:         (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		IdleConnTimeout:     30 * time.Second,
	}
	return &apiClient{urls: urls, figures: figures, client: &http.Client{Timeout: patience, Transport: transport}}
}

// call sends a request with a JSON body.
func (f *apiClient) call(ctx context.Context, method, path, secret string, body any, headers ...string) answer {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return answer{err: err}
		}
		content = bytes.NewReader(text)
		headers = append(headers, "Content-Type", "application/json")
	}
	return f.send(ctx, method, path, secret, content, headers...)
}

func (f *apiClient) send(ctx context.Context, method, path, secret string, body io.Reader, headers ...string) answer {
	base := f.urls[int(f.next.Add(1))%len(f.urls)]
	// net/http retries requests with an Idempotency-Key when the connection breaks, and
	// then returns the error of the last attempt only.
	var sent atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }})
	r, err := http.NewRequestWithContext(ctx, method, base+path, body)
	if err != nil {
		return answer{err: err}
	}
	if secret != "" {
		r.Header.Set("Authorization", "Bearer "+secret)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	begin := time.Now()
	response, err := f.client.Do(r)
	if err != nil {
		return f.figures.count(method, answer{err: err, sent: sent.Load(), took: time.Since(begin)})
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	a := answer{
		status: response.StatusCode,
		header: response.Header,
		body:   text,
		err:    err,
		sent:   true,
		took:   time.Since(begin),
	}
	return f.figures.count(method, a)
}

// upload uploads a file.
func (f *apiClient) upload(ctx context.Context, secret, warranty, name string, content []byte) answer {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	_ = form.WriteField("warranty_id", warranty) // into memory
	_ = form.WriteField("type", "receipt")
	part, _ := form.CreateFormFile("file", name)
	_, _ = part.Write(content)
	_ = form.Close()
	return f.send(ctx, http.MethodPost, "/api/documents", secret, &body, "Content-Type", form.FormDataContentType())
}

// page is a page of a list.
type page[T any] struct {
	Data       []T `json:"data"`
	Pagination struct {
		Total      int `json:"total"`
		TotalPages int `json:"total_pages"`
	} `json:"pagination"`
}

// all reads every page of a list, and its total.
func all[T any](ctx context.Context, f *apiClient, path, secret string) (items []T, total int, err error) {
	separator := "?"
	if strings.Contains(path, "?") {
		separator = "&"
	}
	for n := 1; ; n++ {
		a := f.call(ctx, http.MethodGet, fmt.Sprintf("%s%slimit=100&page=%d", path, separator, n), secret, nil)
		if a.err != nil || a.status != http.StatusOK {
			return nil, 0, fmt.Errorf("GET %s: %s", path, a)
		}
		var p page[T]
		if err := json.Unmarshal(a.body, &p); err != nil {
			return nil, 0, err
		}
		items = append(items, p.Data...)
		if n >= p.Pagination.TotalPages {
			return items, p.Pagination.Total, nil
		}
	}
}
