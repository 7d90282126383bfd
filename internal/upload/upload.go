// Package upload streams document files between HTTP and the service, for the API and
// the web pages.
package upload

import (
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/warranty"
)

const (
	// TransferTimeout allows 20 MiB at about 70 KiB per second.
	TransferTimeout = 5 * time.Minute
	// maxUpload leaves room for the form around a file.
	maxUpload = warranty.MaxFileSize + 64<<10
	maxField  = 1 << 10
	// maxParts is higher than the number of fields, so that unknown ones can be reported.
	maxParts = 16
	// workTimeout bounds the work after a transfer.
	workTimeout = 20 * time.Second
)

// ExtendDeadlines gives a transfer more time than other requests.
func ExtendDeadlines(w http.ResponseWriter) error {
	control, until := http.NewResponseController(w), time.Now().Add(TransferTimeout)
	return errors.Join(control.SetReadDeadline(until), control.SetWriteDeadline(until))
}

// RenewContext gives the work after a transfer a new deadline, because the transfer
// may have used up the one of the request.
func RenewContext(r *http.Request) (*http.Request, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), workTimeout)
	return r.WithContext(ctx), cancel
}

// Receive reads a document from a multipart form with the fields file, warranty_id,
// type and optionally claim_id and draft. The warranty comes before the file, so that nobody sends a file to a warranty
// where they may not add it. The file is streamed to its store. in is what was read of the other fields, even if the
// upload fails.
func Receive(
	w http.ResponseWriter, r *http.Request, s *service.Service, p warranty.Principal,
) (d warranty.Document, in warranty.UploadDocument, err error) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "multipart/form-data" {
		return d, in, warranty.Refuse(warranty.UnsupportedMediaType, "Send the document as multipart/form-data.")
	}
	if err := ExtendDeadlines(w); err != nil {
		return d, in, err
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxUpload)
	done, err := begin(r, s, p)
	if err != nil {
		return d, in, err
	}
	defer done()
	form, err := r.MultipartReader()
	if err != nil {
		return d, in, errForm
	}
	transfer := context.WithoutCancel(r.Context()) // it may take longer than other requests
	in, stored, err := readForm(transfer, form, s, p)
	if keys := r.Header.Values("Idempotency-Key"); err == nil && len(keys) > 0 {
		if in.IdempotencyKey = &keys[0]; len(keys) > 1 {
			err = warranty.Refuse(warranty.MalformedRequest, "Send the Idempotency-Key header once.")
		}
	}
	if err != nil {
		drain(r)
		if stored != nil {
			err = errors.Join(err, s.ForgetFile(transfer, *stored))
		}
		return d, in, err
	}
	r, cancel := RenewContext(r)
	defer cancel()
	d, err = s.UploadDocument(r.Context(), p, *stored, in)
	return d, in, err
}

var errForm = warranty.Refuse(warranty.MalformedRequest, "The multipart/form-data body is malformed or incomplete.")

// begin counts an upload until done is called.
func begin(r *http.Request, s *service.Service, p warranty.Principal) (done func(), err error) {
	if done, err = s.BeginUpload(p); err != nil {
		drain(r)
	}
	return done, err
}

// drain reads the rest of a refused upload: many clients read the response after they have sent everything.
func drain(r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }

// readForm reads the parts of the form and stores the file. It returns the stored file
// even on an error, so that the caller can remove it.
func readForm(
	ctx context.Context, form *multipart.Reader, s *service.Service, p warranty.Principal,
) (in warranty.UploadDocument, stored *service.StoredFile, err error) {
	var c warranty.Checks
	seen, parts := map[string]bool{}, 0
	early := false // the file came before the warranty, and was not stored
	for {
		part, err := form.NextRawPart()
		if err == io.EOF { //nolint:errorlint // a wrapped EOF means an incomplete form
			break
		}
		if err == nil && parts == maxParts {
			err = errForm
		}
		if err != nil {
			return in, stored, formError(err)
		}
		parts++
		name, fileName := disposition(part)
		if seen[name] {
			c.Add(api.Printable(name), "duplicate", "Send this field once.")
			continue
		}
		seen[name] = true
		if name == "file" {
			in.FileName = fileName
			if early = !seen["warranty_id"]; early {
				if _, err := io.Copy(io.Discard, part); err != nil {
					return in, nil, formError(err)
				}
				continue
			}
			if !in.WarrantyID.IsZero() {
				if err := s.MayUpload(ctx, p, in); err != nil {
					return in, nil, err
				}
			}
			got, err := s.StoreFile(ctx, part)
			if err != nil {
				return in, nil, formError(err)
			}
			stored = &got
			continue
		}
		value, err := io.ReadAll(io.LimitReader(part, maxField))
		if err != nil {
			return in, stored, formError(err)
		}
		setField(&c, &in, name, string(value))
	}
	switch {
	case early && seen["warranty_id"]:
		c.Add("warranty_id", "order", "Send this field before the file.")
	case stored == nil && !early:
		c.Add("file", "required", "Send the file as a part named file, with a file name.")
	}
	if err := in.Check(); len(c.Fields) > 0 {
		c.Merge(err)
		return in, stored, c.Err()
	} else if err != nil {
		return in, stored, err
	}
	return in, stored, nil
}

func setField(c *warranty.Checks, in *warranty.UploadDocument, name, value string) {
	var err error
	switch name {
	case "warranty_id":
		err = in.WarrantyID.UnmarshalText([]byte(value))
	case "claim_id":
		err = in.ClaimID.UnmarshalText([]byte(value))
	case "draft":
		if in.Draft, err = strconv.ParseBool(value); err != nil {
			err = errors.New("use true or false")
		}
	case "type":
		in.Type, err = warranty.ParseEnum[warranty.DocumentType](value)
	default:
		c.Add(api.Printable(name), "unknown_field",
			"Unknown field. The fields are file, warranty_id, type, claim_id and draft.")
		return
	}
	if err != nil {
		c.Add(name, "invalid", "%s", warranty.Sentence(err))
	}
}

// disposition returns the name and file name of a part as sent. The standard library's
// FileName would silently remove a path, which must be rejected.
func disposition(part *multipart.Part) (name, fileName string) {
	_, params, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	if err != nil {
		return "", ""
	}
	return params["name"], params["filename"]
}

// formError keeps API errors. Any other error comes from the client or the network.
func formError(err error) error {
	var refusal *warranty.Error
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &refusal):
		return refusal
	case errors.As(err, &tooLarge):
		return warranty.Refuse(warranty.BodyTooLarge,
			"The file is too large. The limit is %d MiB.", warranty.MaxFileSize>>20)
	}
	return errForm
}

// shown lists the media types that browsers display, and the Content-Security-Policy that they get. The style is
// that of the browser's own page around the file.
var shown = map[string]string{
	"image/jpeg": "sandbox; " + nothing,
	"image/png":  "sandbox; " + nothing,
	"image/webp": "sandbox; " + nothing,
	// Chromium does not start its PDF viewer, which has a sandbox of its own, in a sandboxed document.
	"application/pdf": nothing + "; object-src 'self'",
}

const nothing = "default-src 'none'; script-src 'none'; style-src 'unsafe-inline'; form-action 'none'; " +
	"base-uri 'none'; frame-ancestors 'none'"

// Shows reports whether Show serves files of a media type for display.
func Shows(mediaType string) bool { return shown[mediaType] != "" }

// Send serves a file as an attachment. Browsers must not display it, because another
// user uploaded it.
func Send(w http.ResponseWriter, r *http.Request, s *service.Service, p warranty.Principal) error {
	return send(w, r, s, p, false)
}

// Show serves a file for display if browsers can show it without running anything in it, and as an attachment
// otherwise.
func Show(w http.ResponseWriter, r *http.Request, s *service.Service, p warranty.Principal) error {
	return send(w, r, s, p, true)
}

func send(w http.ResponseWriter, r *http.Request, s *service.Service, p warranty.Principal, show bool) error {
	id, err := warranty.ParseID(r.PathValue("id"))
	if err != nil {
		return warranty.ErrNotFound
	}
	d, content, err := s.OpenDocument(r.Context(), p, warranty.GetDocument{ID: id})
	if err != nil {
		return err
	}
	defer content.Close()
	if err := ExtendDeadlines(w); err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", d.ContentType)
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	disposition := "attachment"
	if policy, ok := shown[d.ContentType]; show && ok {
		h.Set("Content-Security-Policy", policy)
		disposition = "inline"
	}
	// QueryEscape escapes slightly more characters than RFC 8187 requires.
	h.Set("Content-Disposition",
		disposition+"; filename*=UTF-8''"+strings.ReplaceAll(url.QueryEscape(d.FileName), "+", "%20"))
	h.Set("ETag", strconv.Quote(d.SHA256))
	http.ServeContent(w, r, "", d.CreatedAt, content)
	return nil
}
