// Package rest serves the operations as JSON over HTTP.
package rest

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// MaxBody is the maximum size of a JSON body.
const MaxBody = 1 << 20

// Handler returns the handler of an operation.
func (e *Edge) Handler(op api.Bound) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := e.serve(w, r, op); err != nil {
			e.Refuse(w, r, err)
		}
	})
}

// serve checks the scope and the headers, decodes the request, performs the operation
// and writes the response.
func (e *Edge) serve(w http.ResponseWriter, r *http.Request, op api.Bound) error {
	caller := api.CallerOf(r.Context())
	if err := op.Allow(caller.Principal); err != nil {
		return err
	}
	if !Accepts(r, "application/json") {
		return warranty.Refuse(warranty.NotAcceptable, "The response is application/json. Send Accept: application/json.")
	}
	parts := api.Parts{Path: r.PathValue, Query: r.URL.RawQuery, Header: r.Header}
	if op.HasBody() {
		var err error
		if parts.Body, err = readBody(w, r, op.Spec); err != nil {
			return err
		}
	}
	in, err := op.Decode(parts)
	if err != nil {
		return err
	}
	out, err := op.Do(r.Context(), caller.Principal, in)
	if err != nil {
		return err
	}
	return e.answer(w, r, op, out, api.Selected(in))
}

func readBody(w http.ResponseWriter, r *http.Request, op *api.Spec) ([]byte, error) {
	if op.BodyOptional && r.ContentLength == 0 {
		return nil, nil
	}
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	lines := op.Items && media == "application/x-ndjson"
	if err != nil || media != "application/json" && !lines {
		return nil, warranty.Refuse(warranty.UnsupportedMediaType,
			"The Content-Type is not supported. Send JSON with Content-Type: application/json.")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	var tooLarge *http.MaxBytesError
	if err != nil && !errors.As(err, &tooLarge) {
		return nil, warranty.Refuse(warranty.MalformedRequest, "The body is incomplete. Send the request again.")
	}
	if op.Items && err == nil {
		body = api.ItemsBody(body, lines)
	}
	return body, err
}

var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 4096); return &b }}

// answer writes the result of an operation, with the selected fields or all.
func (e *Edge) answer(w http.ResponseWriter, r *http.Request, op api.Bound, out any, fields []string) error {
	if _, ok := out.(warranty.None); ok {
		w.WriteHeader(op.Status)
		return nil
	}
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	body, err := Envelope((*buffer)[:0], out)
	if err != nil {
		return err
	}
	*buffer = body
	if fields != nil {
		if body, err = api.Pick(body, fields); err != nil {
			return err
		}
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if page, ok := out.(interface {
		Paged() warranty.Pagination
		Changes() *warranty.Feed
	}); ok && page.Changes() != nil {
		if err := e.linkNext(h, r, page.Changes().Next); err != nil {
			return err
		}
	} else if ok {
		e.paginate(h, r, page.Paged())
	}
	if tagged, ok := out.(interface{ ETag() string }); ok {
		h.Set("ETag", tagged.ETag())
	}
	if again, ok := out.(interface{ Replayed() bool }); ok && again.Replayed() {
		h.Set("Idempotent-Replayed", "true")
	}
	if made, ok := out.(interface{ RecordID() warranty.ID }); ok && op.Location != "" {
		h.Set("Location", e.PublicURL+string(op.Base)+strings.Replace(op.Location, "{id}", made.RecordID().String(), 1))
	}
	w.WriteHeader(op.Status)
	_, _ = w.Write(body) // fails only if the client disconnected
	return nil
}

// Envelope appends a result as JSON: a page as it is, a single record inside "data".
func Envelope(b []byte, out any) ([]byte, error) {
	if _, ok := out.(interface{ Paged() warranty.Pagination }); ok {
		return api.AppendJSON(b, out)
	}
	b, err := api.AppendJSON(append(b, `{"data":`...), out)
	return append(b, '}'), err
}

// paginate sets the Link and X-Total-Count headers.
func (e *Edge) paginate(h http.Header, r *http.Request, p warranty.Pagination) {
	query := r.URL.Query()
	var links []string
	link := func(rel string, page int64) {
		query.Set("page", strconv.FormatInt(page, 10))
		query.Set("limit", strconv.Itoa(p.Limit))
		target := url.URL{Path: r.URL.Path, RawQuery: query.Encode()}
		links = append(links, "<"+e.PublicURL+target.String()+`>; rel="`+rel+`"`)
	}
	last := max(p.TotalPages, 1)
	link("first", 1)
	if p.Page > 1 {
		link("prev", min(int64(p.Page)-1, last))
	}
	if int64(p.Page) < last {
		link("next", int64(p.Page)+1)
	}
	link("last", last)
	h.Set("Link", strings.Join(links, ", "))
	h.Set("X-Total-Count", strconv.FormatInt(p.Total, 10))
}

// linkNext sets the Link header of a list of changes.
func (e *Edge) linkNext(h http.Header, r *http.Request, next *warranty.FeedPosition) error {
	query := r.URL.Query()
	link := func(rel string) string {
		target := url.URL{Path: r.URL.Path, RawQuery: query.Encode()}
		return "<" + e.PublicURL + target.String() + `>; rel="` + rel + `"`
	}
	query.Del("after")
	links := link("first")
	if next != nil {
		after, err := next.MarshalText()
		if err != nil {
			return err
		}
		query.Set("after", string(after))
		links += ", " + link("next")
	}
	h.Set("Link", links)
	return nil
}

// Accepts reports whether the request's Accept header allows the media type.
func Accepts(r *http.Request, media string) bool {
	values := r.Header.Values("Accept")
	if len(values) == 0 {
		return true
	}
	group, _, _ := strings.Cut(media, "/")
	for item := range strings.SplitSeq(strings.Join(values, ","), ",") {
		kind, params, err := mime.ParseMediaType(strings.TrimSpace(item))
		if err != nil || strings.Trim(params["q"], "0.") == "" && params["q"] != "" {
			continue // q=0 excludes the type
		}
		if kind == "*/*" || kind == group+"/*" || kind == media ||
			kind == "application/problem+json" && media == "application/json" {
			return true
		}
	}
	return false
}
