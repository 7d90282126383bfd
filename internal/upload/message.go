package upload

import (
	"context"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"

	"warranty.example/svc/internal/service"
	"warranty.example/svc/warranty"
)

const (
	// MaxFiles is the number of files in one form.
	MaxFiles     = 5
	maxFormParts = 64
)

// MessageForm is a form with text fields and stored files.
type MessageForm struct {
	Values  url.Values
	Files   []MessageFile
	Refused warranty.Checks // files that were refused
}

// MessageFile is a stored file without a document.
type MessageFile struct {
	service.StoredFile
	Name string
}

// ReadMessage reads a multipart form with text fields and files in the fields "file" and "photo", and streams the files to their
// store. On an error, it returns the text fields that it read, and no file is stored. Files that are too large or not
// supported are no error: the form has them in Refused.
func ReadMessage(
	w http.ResponseWriter, r *http.Request, s *service.Service, p warranty.Principal,
) (f MessageForm, err error) {
	f.Values = url.Values{}
	if err := ExtendDeadlines(w); err != nil {
		return f, err
	}
	r.Body = http.MaxBytesReader(w, r.Body, MaxFiles*maxUpload+maxFields)
	done, err := begin(r, s, p)
	if err != nil {
		return f, err
	}
	defer done()
	form, err := r.MultipartReader()
	if err != nil {
		return f, errForm
	}
	transfer := context.WithoutCancel(r.Context()) // it may take longer than other requests
	err = f.read(form, func(part *multipart.Part, name string) error {
		if len(f.Files) == MaxFiles {
			var c warranty.Checks
			c.Add("file", "too_many", "Choose at most 5 files.")
			return c.Err()
		}
		stored, err := s.StoreFile(transfer, part)
		var refusal *warranty.Error
		if errors.As(err, &refusal) && len(refusal.Fields) > 0 {
			f.Refused.Add("file", refusal.Fields[0].Code, name+": "+refusal.Fields[0].Message)
			return nil
		}
		if refusal != nil && refusal.Code == warranty.BodyTooLarge { // this file alone; the next part is read
			f.Refused.Add("file", "too_large", name+": "+refusal.Message)
			return nil
		}
		if err == nil {
			f.Files = append(f.Files, MessageFile{stored, name})
		}
		return err
	})
	if err != nil {
		_, _ = io.CopyN(io.Discard, r.Body, MaxFiles*maxUpload) // browsers show the response after they sent everything
		for _, file := range f.Files {
			err = errors.Join(err, s.ForgetFile(transfer, file.StoredFile))
		}
		f.Files = nil
		err = formError(err)
		if refusal := warranty.AsError(err); refusal.Code == warranty.BodyTooLarge {
			f.Refused.Add("file", "too_large", "Together the files are too large. Choose the other files again.")
			return f, nil
		}
		return f, err
	}
	return f, nil
}

// SkipFiles reads the text fields of a multipart form and skips its files. It reports whether there were any.
func SkipFiles(w http.ResponseWriter, r *http.Request) (values url.Values, files bool, err error) {
	f := MessageForm{Values: url.Values{}}
	if err := ExtendDeadlines(w); err != nil {
		return nil, false, err
	}
	r.Body = http.MaxBytesReader(w, r.Body, MaxFiles*maxUpload+maxFields)
	form, err := r.MultipartReader()
	if err != nil {
		return nil, false, errForm
	}
	err = f.read(form, func(part *multipart.Part, _ string) error {
		files = true
		_, err := io.Copy(io.Discard, part)
		return err
	})
	return f.Values, files, err
}

// read reads the parts of a form. A file input without a file sends an empty name.
func (f *MessageForm) read(form *multipart.Reader, file func(part *multipart.Part, name string) error) error {
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
			if err := file(part, fileName); err != nil {
				return err
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
