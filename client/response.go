package client

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// Response is an unparsed response of the service.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// maxResponse is larger than any page of records.
const maxResponse = 64 << 20

// sendOnce sends a request without retries, except that a rejected credential is replaced
// if there is another one. A response with an error is an error of the service.
func (c *Client) sendOnce(ctx context.Context, r api.Request) (Response, error) {
	credential, err := c.credential(ctx, "")
	if err != nil {
		return Response{}, err
	}
	response, err := c.sendAs(ctx, r, credential)
	if response.Status != http.StatusUnauthorized || credential == "" {
		return response, err
	}
	other, sourceErr := c.credential(ctx, credential)
	switch {
	case sourceErr != nil:
		return response, sourceErr
	case other == credential:
		return response, err
	}
	return c.sendAs(ctx, r, other) // the service did nothing for the rejected one
}

func (c *Client) sendAs(ctx context.Context, r api.Request, credential string) (Response, error) {
	if !strings.HasPrefix(r.Path, "/") {
		return Response{}, errors.New("the path must begin with a slash")
	}
	request, err := http.NewRequestWithContext(ctx, r.Method, c.root+r.Path, bytes.NewReader(r.Body))
	if err != nil {
		return Response{}, err
	}
	if request.URL.Host != c.host || request.URL.User != nil {
		return Response{}, errors.New("the path leads to another host")
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
	if c.account != "" {
		request.Header.Set("X-Account", c.account)
	}
	if trace := cmp.Or(api.Traceparent(ctx), c.traceparent); trace != "" {
		request.Header.Set(api.TraceparentHeader, trace)
	}
	authorize(request.Header, credential)
	response, err := c.http.Do(request)
	if err != nil {
		return Response{}, &NetworkError{err}
	}
	defer response.Body.Close() // read to the end
	body, err := io.ReadAll(io.LimitReader(response.Body, maxResponse+1))
	if err != nil {
		return Response{}, &NetworkError{err}
	}
	if len(body) > maxResponse {
		return Response{}, &NetworkError{fmt.Errorf("the response is larger than %d MiB", maxResponse>>20)}
	}
	result := Response{Status: response.StatusCode, Header: response.Header, Body: body}
	return result, result.err()
}

// err returns the error in the response, if any.
func (r Response) err() error {
	if r.Status < http.StatusMultipleChoices {
		return nil
	}
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	var e Error
	if err != nil || media != "application/problem+json" || api.ReadJSON(r.Body, &e.Problem) != nil || e.Code == "" {
		reason := "it is not from this service; check the base URL"
		switch r.Status {
		case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			reason = "it is from a proxy; the service behind it may be down"
		}
		return &NetworkError{&UnexpectedResponse{r.Status, media, reason}}
	}
	e.RetryAfter = r.retryAfter(time.Now())
	e.RetryAfterSeconds = int64((e.RetryAfter + time.Second - 1) / time.Second)
	return &e
}

// decode reads a successful response into out. The ETag and Idempotent-Replayed
// headers are stored in the record.
func (r Response) decode(s *api.Spec, out any) error {
	if _, ok := out.(*warranty.None); ok {
		return nil
	}
	var err error
	if page, ok := out.(interface {
		Paged() warranty.Pagination
		Changes() *warranty.Feed
	}); ok {
		if err = api.ReadJSON(r.Body, out); err == nil && page.Paged().Limit == 0 && page.Changes() == nil {
			err = errors.New("no pagination")
		}
	} else {
		envelope := struct {
			Data present `json:"data"`
		}{present{target: out}}
		if err = api.ReadJSON(r.Body, &envelope); err == nil && !envelope.Data.seen {
			err = errors.New("no data")
		}
	}
	if err != nil {
		return &NetworkError{&UnexpectedResponse{
			Status:      r.Status,
			ContentType: r.Header.Get("Content-Type"),
			Reason:      "it is not a valid response to " + s.Name + "; check the base URL, or update this client",
		}}
	}
	if tagged, ok := out.(interface{ SetETag(string) }); ok {
		tagged.SetETag(r.Header.Get("ETag"))
	}
	if created, ok := out.(interface{ SetReplayed(bool) }); ok {
		created.SetReplayed(r.Header.Get("Idempotent-Replayed") == "true")
	}
	return nil
}

// present records whether a value exists, so that another program's response is not
// read as an empty record.
type present struct {
	target any
	seen   bool
}

// UnmarshalJSON reads the value into target.
func (p *present) UnmarshalJSON(b []byte) error {
	p.seen = !bytes.Equal(b, []byte("null"))
	return api.ReadJSON(b, p.target)
}
