package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"warranty.example/svc/internal/describe"
	"warranty.example/svc/internal/rest"
	"warranty.example/svc/internal/web"
	"warranty.example/svc/warranty"
)

// pageOr serves a page to requests that accept HTML, and another answer to the rest.
func pageOr(page http.Handler, answer http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Accept")
		if !web.WantsHTML(r) {
			answer(w, r)
			return
		}
		page.ServeHTTP(w, r)
	})
}

// formsOnly refuses JSON that is posted to a page: OAuth clients that look for an authorization server post JSON to
// /register, which is a page.
func (s *Server) formsOnly(page http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
		if err == nil && (media == "application/json" || strings.HasSuffix(media, "+json")) && r.Method == http.MethodPost {
			s.edge.Refuse(w, r, warranty.ErrNotFound)
			return
		}
		page.ServeHTTP(w, r)
	})
}

// verify serves public verification as JSON.
func (s *Server) verify(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Robots-Tag", "noindex")
	in := warranty.VerifyWarranty{Reference: r.PathValue("reference"), Serial: r.URL.Query().Get("serial")}
	v, err := s.Service.VerifyPublicly(r.Context(), callerOf(r).Principal, in)
	if err != nil {
		s.edge.Refuse(w, r, err)
		return
	}
	s.writeJSON(w, r, http.StatusOK, v)
}

// verifyProduct serves public verification by GTIN and serial number as JSON.
func (s *Server) verifyProduct(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Robots-Tag", "noindex")
	v, err := s.Service.VerifyProduct(r.Context(), callerOf(r).Principal, web.ProductOf(r))
	if err != nil {
		s.edge.Refuse(w, r, err)
		return
	}
	s.writeJSON(w, r, http.StatusOK, v)
}

func (s *Server) writeJSON(w http.ResponseWriter, r *http.Request, status int, v any) {
	body, err := rest.Envelope(nil, v)
	if err != nil {
		s.edge.Refuse(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // fails only when the client has disconnected
}

// health reports that the process is running.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) { answer(w, `{"status":"ok"}`) }

// readiness reports whether requests should be sent to this replica: not while the
// database or the data folder is unavailable, and not during shutdown. A full disk
// does not count: reads still work, and other replicas may share the disk. Nor does a
// failing S3, which fails for all replicas: records work without it.
func (s *Server) readiness(w http.ResponseWriter, r *http.Request) {
	if s.draining.Load() {
		s.edge.Answer(w, r, &warranty.Error{
			Code:    warranty.Unavailable,
			Message: "The service is shutting down.",
			Wait:    s.StopTimeout,
		})
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	err := s.Service.Store.Ping(ctx)
	if err == nil {
		err = s.Service.FolderError()
	}
	if err != nil {
		s.edge.Refuse(w, r, err)
		return
	}
	writes, files := "ok", ""
	if s.Service.Store.WritesFail() {
		writes = "failing"
	}
	if s.Service.FilesFail() {
		files = `,"files":"failing"`
	}
	answer(w, `{"status":"ok","writes":"`+writes+`"`+files+`}`)
}

func answer(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write([]byte(body)) // fails only when the client has disconnected
}

// index serves the root URL as JSON: where the API and its documentation are.
func (s *Server) index(w http.ResponseWriter, r *http.Request) {
	s.writeJSON(w, r, http.StatusOK, map[string]string{
		"service": "Warranty Records",
		"version": s.Version,
		"api":     s.PublicURL + "/api/v1",
		"openapi": s.PublicURL + "/openapi.json",
		"verify":  s.PublicURL + "/verify/{reference}",
	})
}

// document serves a discovery document.
func (s *Server) document(d describe.Document) http.Handler {
	link := describe.CatalogLink(s.PublicURL)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := d.Body()
		if err != nil {
			s.edge.Refuse(w, r, err)
			return
		}
		w.Header().Set("Link", link)
		serveCacheable(w, r, d.MediaType, time.Hour, body)
	})
}

// serveCacheable serves a small public document, which clients may keep for a time.
func serveCacheable(w http.ResponseWriter, r *http.Request, mediaType string, keep time.Duration, body []byte) {
	sum := sha256.Sum256(body)
	h := w.Header()
	h.Set("ETag", `"`+hex.EncodeToString(sum[:16])+`"`)
	h.Set("Cache-Control", "public, max-age="+strconv.Itoa(int(keep.Seconds())))
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Content-Type", mediaType)
	// ServeContent handles If-None-Match. Range requests get the whole document, which is small.
	r.Header.Del("Range")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}
