package server

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"warranty.example/svc/internal/describe"
	"warranty.example/svc/internal/service"
)

// certificate serves the certificate of a warranty as a compact JWS.
func (s *Server) certificate(w http.ResponseWriter, r *http.Request) {
	s.sendCertificate(w, r, "application/jwt", ".jwt",
		func(_ *http.Request, c service.PrintedCertificate) ([]byte, error) { return []byte(c.Signed), nil })
}

// printedCertificate serves the certificate of a warranty as a page to print, in the reader's language.
func (s *Server) printedCertificate(w http.ResponseWriter, r *http.Request) {
	s.sendCertificate(w, r, "application/pdf", ".pdf", s.pages.CertificatePDF)
}

func (s *Server) sendCertificate(w http.ResponseWriter, r *http.Request, mediaType, suffix string,
	encode func(*http.Request, service.PrintedCertificate) ([]byte, error),
) {
	c, err := s.Service.PublicCertificate(r.Context(), callerOf(r).Principal, r.PathValue("reference"))
	var body []byte
	if err == nil {
		body, err = encode(r, c)
	}
	certificateHeaders(w)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	sendFile(w, mediaType, string(c.ReferenceNumber)+suffix, len(body))
	_, _ = w.Write(body) // fails only when the client has disconnected
}

// certificateHeaders sets the headers of everything about one certificate, as verifications have them.
func certificateHeaders(w http.ResponseWriter) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Robots-Tag", "noindex")
}

// sendFile sets the headers of a file to save.
func sendFile(w http.ResponseWriter, mediaType, name string, length int) {
	h := w.Header()
	h.Set("Content-Type", mediaType)
	h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
	h.Set("Content-Length", strconv.Itoa(length))
}

// keysAge is how long clients may keep the public keys. After a rotation, a certificate can have a newer key.
const keysAge = 5 * time.Minute

// publicKeys serves the keys that verify certificates.
func (s *Server) publicKeys(w http.ResponseWriter, r *http.Request) {
	set, err := s.Service.PublicKeys(r.Context())
	var body []byte
	if err == nil {
		body, err = json.Marshal(set)
	}
	if err != nil {
		s.edge.Refuse(w, r, err)
		return
	}
	w.Header().Set("Link", describe.CatalogLink(s.PublicURL))
	serveCacheable(w, r, describe.KeysType, keysAge, body)
}
