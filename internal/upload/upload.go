// Package upload carries files between HTTP and the service, for programs and for
// people alike: streamed, never whole in memory.
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
	// TransferTimeout is for people with slow lines: 20 MiB at about 70 KiB a second.
	TransferTimeout = 5 * time.Minute
	// maxUpload leaves room for the form around a file.
	maxUpload = warranty.MaxFileSize + 64<<10
	maxField  = 1 << 10
	// maxParts leaves room to say of some parts that they are not taken.
	maxParts = 16
	// workTimeout is for what follows a transfer, which may have taken longer than a request has.
	workTimeout = 20 * time.Second
)

// Slow gives a transfer the time it needs, where other requests have less.
func Slow(w http.ResponseWriter) error {
	control, until := http.NewResponseController(w), time.Now().Add(TransferTimeout)
	return errors.Join(control.SetReadDeadline(until), control.SetWriteDeadline(until))
}

// Renew gives the work that follows a transfer its own time: the transfer may have
// used up the request's.
func Renew(r *http.Request) (*http.Request, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), workTimeout)
	return r.WithContext(ctx), cancel
}

// Receive takes a document as a multipart form: file, warranty_id, type and
// perhaps claim_id, in any order. The file goes straight to the disk. said is what
// stood beside it, as far as it was read, also when it is refused.
func Receive(w http.ResponseWriter, r *http.Request, s *service.Service, p warranty.Principal) (d warranty.Document, said warranty.UploadDocument, err error) {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "multipart/form-data" {
		return d, said, warranty.Refuse(warranty.UnsupportedMediaType, "Send the document as multipart/form-data.")
	}
	if err := Slow(w); err != nil {
		return d, said, err
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxUpload)
	form, err := r.MultipartReader()
	if err != nil {
		return d, said, errForm
	}
	said, stored, err := readForm(form, s)
	if err != nil {
		if stored != nil {
			err = errors.Join(err, s.ForgetFile(*stored))
		}
		return d, said, err
	}
	r, cancel := Renew(r)
	defer cancel()
	d, err = s.UploadDocument(r.Context(), p, *stored, said)
	return d, said, err
}

var errForm = warranty.Refuse(warranty.MalformedRequest, "The form is not well-formed multipart/form-data, or ends too early.")

// readForm reads the parts as they come and stores the file. On an error it
// returns the file, if one was stored, for the caller to forget.
func readForm(form *multipart.Reader, s *service.Service) (in warranty.UploadDocument, stored *service.StoredFile, err error) {
	var c warranty.Checks
	seen, parts := map[string]bool{}, 0
	for {
		part, err := form.NextRawPart()
		if err == io.EOF { //nolint:errorlint // wrapped, it is a form that ends too early
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
			c.Add(api.Sayable(name), "duplicate", "This field is given more than once.")
			continue
		}
		seen[name] = true
		if name == "file" {
			in.FileName = fileName
			got, err := s.StoreFile(part)
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
	if stored == nil {
		c.Add("file", "required", "Send the file as the part named file, with its name.")
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
	case "type":
		in.Type, err = warranty.ParseEnum[warranty.DocumentType](value)
	default:
		c.Add(api.Sayable(name), "unknown_field", "An upload takes: file, warranty_id, type, claim_id.")
		return
	}
	if err != nil {
		c.Add(name, "invalid", strings.ToUpper(err.Error()[:1])+err.Error()[1:]+".")
	}
}

// disposition reads a part's name and its file's name as they were sent. The
// standard library's FileName would quietly cut a path off, and with it the
// evidence of a trick.
func disposition(part *multipart.Part) (name, fileName string) {
	_, params, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	if err != nil {
		return "", ""
	}
	return params["name"], params["filename"]
}

// formError keeps refusals; all else that ends a form early is the sender's or the line's.
func formError(err error) error {
	var refusal *warranty.Error
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &refusal):
		return refusal
	case errors.As(err, &tooLarge):
		return warranty.Refuse(warranty.BodyTooLarge, "A file has at most 20 MiB.")
	}
	return errForm
}

// Send gives out a file, always to be saved and never to be shown: it came from
// somebody else.
func Send(w http.ResponseWriter, r *http.Request, s *service.Service, p warranty.Principal) error {
	id, err := warranty.ParseID(r.PathValue("id"))
	if err != nil {
		return warranty.ErrNotFound
	}
	d, content, err := s.OpenDocument(r.Context(), p, warranty.GetDocument{ID: id})
	if err != nil {
		return err
	}
	defer content.Close()
	if err := Slow(w); err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", d.ContentType)
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	// All but letters, digits and "-_.~" is escaped, which is a little more than RFC 8187 asks for.
	h.Set("Content-Disposition", "attachment; filename*=UTF-8''"+strings.ReplaceAll(url.QueryEscape(d.FileName), "+", "%20"))
	h.Set("ETag", strconv.Quote(d.SHA256))
	http.ServeContent(w, r, "", d.CreatedAt, content)
	return nil
}
