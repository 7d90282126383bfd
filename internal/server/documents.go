package server

import (
	"net/http"
	"reflect"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/rest"
	"warranty.example/svc/internal/upload"
	"warranty.example/svc/warranty"
)

// Uploads and downloads are streams, so they are plain handlers instead of operations.

// sessionOnly requires a session and no query parameters, like api.SessionOnly does
// for operations.
func (s *Server) sessionOnly(serve func(http.ResponseWriter, *http.Request, warranty.Principal) error) http.Handler {
	guard := api.Spec{Auth: api.SessionOnly, In: reflect.TypeFor[warranty.None]()}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := callerOf(r).Principal
		err := guard.Allow(p)
		if err == nil {
			_, err = guard.Decode(api.Parts{Query: r.URL.RawQuery})
		}
		if err == nil {
			err = serve(w, r, p)
		}
		if err != nil {
			s.edge.Refuse(w, r, err)
		}
	})
}

// upload stores a document.
func (s *Server) upload(w http.ResponseWriter, r *http.Request, p warranty.Principal) error {
	if !rest.Accepts(r, "application/json") {
		return warranty.Refuse(warranty.NotAcceptable, "The response is application/json. Send Accept: application/json.")
	}
	d, _, err := upload.Receive(w, r, s.Service, p)
	if err != nil {
		return err
	}
	w.Header().Set("Location", s.PublicURL+string(api.V1)+"/documents/"+d.ID.String())
	if d.Replayed() {
		w.Header().Set("Idempotent-Replayed", "true")
	}
	s.writeJSON(w, r, http.StatusCreated, d)
	return nil
}

// download sends a document's file.
func (s *Server) download(w http.ResponseWriter, r *http.Request, p warranty.Principal) error {
	return upload.Send(w, r, s.Service, p)
}
