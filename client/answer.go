package client

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// Answer is what the service answered, as it came.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// maxAnswer is more than any page of records takes.
const maxAnswer = 64 << 20

// once sends a request a single time. An answer with an error is a refusal.
func (c *Client) once(ctx context.Context, r api.Request) (Answer, error) {
	if !strings.HasPrefix(r.Path, "/") {
		return Answer{}, errors.New("a path begins with a slash")
	}
	request, err := http.NewRequestWithContext(ctx, r.Method, c.root+r.Path, bytes.NewReader(r.Body))
	if err != nil {
		return Answer{}, err
	}
	if request.URL.Host != c.host || request.URL.User != nil {
		return Answer{}, errors.New("the path leads to another host")
	}
	if r.Header != nil {
		request.Header = r.Header.Clone()
	}
	if request.Header.Get("Accept") == "" {
		request.Header.Set("Accept", "application/json")
	}
	request.Header.Set("User-Agent", c.userAgent)
	if r.Body != nil && request.Header.Get("Content-Type") == "" {
		request.Header.Set("Content-Type", "application/json")
	}
	c.authorize(request.Header)
	response, err := c.http.Do(request)
	if err != nil {
		return Answer{}, &NetworkError{err}
	}
	defer response.Body.Close() // nothing is left to be read
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return Answer{}, &NetworkError{err}
	}
	if len(body) > maxAnswer {
		return Answer{}, &NetworkError{errors.New("the answer has more than " + strconv.Itoa(maxAnswer>>20) + " MiB")}
	}
	a := Answer{Status: response.StatusCode, Header: response.Header, Body: body}
	return a, a.refusal()
}

// refusal is the error that the answer is, if it is one.
func (a Answer) refusal() error {
	if a.Status < http.StatusMultipleChoices {
		return nil
	}
	media, _, err := mime.ParseMediaType(a.Header.Get("Content-Type"))
	var e Error
	if err != nil || media != "application/problem+json" || api.ReadJSON(a.Body, &e.Problem) != nil || e.Code == "" {
		reason := "it is not from this service; check the base address"
		if a.Status == http.StatusBadGateway || a.Status == http.StatusServiceUnavailable || a.Status == http.StatusGatewayTimeout {
			reason = "it is from a proxy; the service behind it may be down"
		}
		return &NetworkError{&UnexpectedAnswer{a.Status, media, reason}}
	}
	e.RetryAfter = a.retryAfter(time.Now())
	e.RetryAfterSeconds = int64((e.RetryAfter + time.Second - 1) / time.Second)
	return &e
}

// decode reads a success into out. The headers that belong to a record are put back into it.
func (a Answer) decode(s *api.Spec, out any) error {
	if _, ok := out.(*warranty.None); ok {
		return nil
	}
	var err error
	if page, ok := out.(interface{ Paged() warranty.Pagination }); ok {
		if err = api.ReadJSON(a.Body, out); err == nil && page.Paged().Limit == 0 {
			err = errors.New("no page")
		}
	} else {
		envelope := struct {
			Data present `json:"data"`
		}{present{target: out}}
		if err = api.ReadJSON(a.Body, &envelope); err == nil && !envelope.Data.seen {
			err = errors.New("no data")
		}
	}
	if err != nil {
		return &NetworkError{&UnexpectedAnswer{a.Status, a.Header.Get("Content-Type"),
			"it cannot be read as the answer to " + s.Name + "; check the base address, and whether this client is older than the service"}}
	}
	if tagged, ok := out.(interface{ SetETag(string) }); ok {
		tagged.SetETag(a.Header.Get("ETag"))
	}
	if again, ok := out.(interface{ SetReplayed(bool) }); ok {
		again.SetReplayed(a.Header.Get("Idempotent-Replayed") == "true")
	}
	return nil
}

// present is a value that knows whether it was there: what is not this
// service's answer must not be taken for an empty record.
type present struct {
	target any
	seen   bool
}

// UnmarshalJSON reads the value into its target.
func (p *present) UnmarshalJSON(b []byte) error {
	p.seen = !bytes.Equal(b, []byte("null"))
	return api.ReadJSON(b, p.target)
}
