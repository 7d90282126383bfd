package upload

import (
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"

	"warranty.example/svc/internal/service"
	"warranty.example/svc/warranty"
)

const (
	// maxFields is the maximum size of all fields of a form that may have files.
	maxFields = 256 << 10
	// maxFiles is the number of files in one form.
	maxFiles     = 5
	maxFormParts = 64
)

// Form is a form with text fields and stored files, which are no documents yet.
type Form struct {
	Values  url.Values
	Files   []File
	Refused Refusals
	Failed  error // why a file could not be stored, although nothing is wrong with it
}

// File is a stored file.
type File struct {
	service.StoredFile
	Name string
}

// Refusal is why a file is not accepted. Name is empty if it is about all of them.
type Refusal struct {
	Name, Code string
	Message    warranty.Text
}

// Refusals lists the files that are not accepted.
type Refusals []Refusal

// Add adds a refusal.
func (l *Refusals) Add(name, code string, message warranty.Text) {
	*l = append(*l, Refusal{name, code, message})
}

// IsForm reports whether a request sends a multipart form.
func IsForm(r *http.Request) bool {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && media == "multipart/form-data"
}

// ReadForm reads a multipart form with text fields and files in the fields "file" and "photo", and streams the files to
// their store. Files that are too large or not supported are no error.
func ReadForm(w http.ResponseWriter, r *http.Request, s *service.Service, p warranty.Principal) (f Form, err error) {
	f.Values = url.Values{}
	if err := prepare(w, r); err != nil {
		return f, err
	}
	done, err := begin(r, s, p)
	if err != nil {
		return f, err
	}
	defer done()
	transfer := context.WithoutCancel(r.Context()) // it may take longer than other requests
	err = f.read(r, func(part *multipart.Part, name string) error {
		if len(f.Files) == maxFiles {
			return errTooMany
		}
		stored, err := s.StoreFile(transfer, part)
		var refusal *warranty.Error
		switch errors.As(err, &refusal); {
		case err == nil:
			f.Files = append(f.Files, File{stored, name})
		case refusal == nil:
			return err
		case len(refusal.Fields) > 0:
			f.Refused.Add(name, refusal.Fields[0].Code, refusal.Fields[0].Text())
		case refusal.Code == warranty.BodyTooLarge: // this file alone; the next part is read
			f.Refused.Add(name, "too_large", refusal.Text())
		default:
			f.Failed = refusal
		}
		return nil
	})
	if err == nil {
		return f, nil
	}
	_, _ = io.CopyN(io.Discard, r.Body, maxFiles*maxUpload) // browsers show the response after they sent everything
	forgotten := f.Forget(transfer, s)
	switch {
	case errors.Is(err, errTooMany):
		f.Refused.Add("", "too_many", warranty.Textf("Choose at most %d files.", maxFiles))
		err = nil
	case warranty.AsError(err).Code == warranty.BodyTooLarge:
		f.Refused.Add("", "too_large", warranty.Textf("Together the files are too large. Choose the other files again."))
		err = nil
	}
	return f, errors.Join(err, forgotten)
}

var errTooMany = errors.New("the form has too many files")

// SkipFiles reads the text fields of a multipart form and skips its files. It reports whether there were any.
func SkipFiles(w http.ResponseWriter, r *http.Request) (values url.Values, files bool, err error) {
	f := Form{Values: url.Values{}}
	if err := prepare(w, r); err != nil {
		return nil, false, err
	}
	err = f.read(r, func(part *multipart.Part, _ string) error {
		files = true
		_, err := io.Copy(io.Discard, part)
		return err
	})
	return f.Values, files, err
}

// prepare gives a form with files its limits.
func prepare(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, maxFiles*maxUpload+maxFields)
	return ExtendDeadlines(w)
}

// Forget removes the files of the form that nobody took.
func (f *Form) Forget(ctx context.Context, s *service.Service) (err error) {
	for _, file := range f.Files {
		err = errors.Join(err, s.ForgetFile(ctx, file.StoredFile))
	}
	f.Files = nil
	return err
}

// read reads the parts of a form. A file input without a file sends an empty name.
func (f *Form) read(r *http.Request, file func(part *multipart.Part, name string) error) error {
	form, err := r.MultipartReader()
	if err != nil {
		return errForm
	}
	for parts, size := 0, 0; ; parts++ {
		part, err := form.NextRawPart()
		if err == io.EOF { //nolint:errorlint // a wrapped EOF means an incomplete form
			return nil
		}
		if err == nil && parts == maxFormParts {
			err = errForm
		}
		if err != nil {
			return formError(err)
		}
		name, fileName := disposition(part)
		if name == "file" || name == "photo" {
			if fileName == "" {
				continue
			}
			if err := file(part, fileName); errors.Is(err, errTooMany) {
				return err
			} else if err != nil {
				return formError(err)
			}
			continue
		}
		if name == "" || fileName != "" { // a file would be lost
			return errForm
		}
		value, err := io.ReadAll(io.LimitReader(part, maxFields+1))
		if size += len(value); err != nil || size > maxFields {
			return errForm
		}
		f.Values.Add(name, string(value))
	}
}
