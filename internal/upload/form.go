package upload

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"

	"warranty.example/svc/internal/service"
	"warranty.example/svc/warranty"
)

// maxFields is the maximum size of all fields of a form that may have a file.
const maxFields = 256 << 10

// File is the file of a form: stored without a document yet, or refused.
type File struct {
	Name    string
	Refused error
	stored  *service.StoredFile
	service *service.Service
}

// Form reads a multipart form whose fields may come with a file, which is named like one of fileFields. An
// empty file input sends a part without a file name. The caller must pass the file to Attach, Keep or Forget.
func Form(
	w http.ResponseWriter, r *http.Request, s *service.Service, p warranty.Principal, fileFields ...string,
) (values url.Values, file *File, err error) {
	if err := ExtendDeadlines(w); err != nil {
		return nil, nil, err
	}
	r.Body = http.MaxBytesReader(w, r.Body, warranty.MaxFileSize+maxFields)
	done, err := begin(r, s, p)
	if err != nil {
		return nil, nil, err
	}
	defer done()
	form, err := r.MultipartReader()
	if err != nil {
		return nil, nil, errForm
	}
	transfer := context.WithoutCancel(r.Context()) // it may take longer than other requests
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Forget(transfer))
		}
	}()
	isFile := map[string]bool{}
	for _, name := range fileFields {
		isFile[name] = true
	}
	values = url.Values{}
	for left := int64(maxFields); ; {
		part, err := form.NextRawPart()
		if err == io.EOF { //nolint:errorlint // a wrapped EOF means an incomplete form
			return values, file, nil
		}
		if err != nil {
			return values, file, formError(err)
		}
		name, fileName := disposition(part)
		if isFile[name] {
			if fileName == "" || file != nil {
				continue
			}
			file = &File{Name: fileName, service: s}
			stored, err := s.StoreFile(transfer, part)
			if file.Refused = err; err == nil {
				file.stored = &stored
			}
			continue
		}
		value, err := io.ReadAll(io.LimitReader(part, left+1))
		if left -= int64(len(value)); err == nil && left < 0 {
			err = errForm
		}
		if err != nil {
			return values, file, formError(err)
		}
		values.Add(name, string(value))
	}
}

// IsForm reports whether a request sends a multipart form.
func IsForm(r *http.Request) bool {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && media == "multipart/form-data"
}

// Attach makes the file a document.
func (f *File) Attach(
	ctx context.Context, p warranty.Principal, in warranty.UploadDocument,
) (warranty.Document, error) {
	if f.Refused != nil {
		return warranty.Document{}, formError(f.Refused)
	}
	stored := *f.stored
	f.stored = nil // the service forgets it if it refuses
	in.FileName = f.Name
	return f.service.UploadDocument(ctx, p, stored, in)
}

// Replace gives a document this file.
func (f *File) Replace(ctx context.Context, p warranty.Principal, id warranty.ID) (warranty.Document, error) {
	if f.Refused != nil {
		return warranty.Document{}, formError(f.Refused)
	}
	stored := *f.stored
	f.stored = nil // the service forgets it if it refuses
	return f.service.ReplaceDocument(ctx, p, id, stored, f.Name)
}

// SHA256 returns the checksum of the file, or "" if it was refused. There may be no file.
func (f *File) SHA256() string {
	if f == nil || f.stored == nil {
		return ""
	}
	return f.stored.SHA256
}

// Keep keeps the file for the person, because its form was refused.
func (f *File) Keep(
	ctx context.Context, p warranty.Principal, in warranty.UploadDocument,
) (service.KeptFile, error) {
	if f.Refused != nil {
		return service.KeptFile{}, formError(f.Refused)
	}
	if f.stored == nil {
		return service.KeptFile{}, errForm // it was passed to Attach, which refused it
	}
	stored := *f.stored
	f.stored = nil // the service forgets it if it refuses
	in.FileName = f.Name
	return f.service.KeepFile(ctx, p, stored, in, nil)
}

// Forget removes the file unless it was passed to Attach. There may be no file.
func (f *File) Forget(ctx context.Context) error {
	if f == nil || f.stored == nil {
		return nil
	}
	return f.service.ForgetFile(ctx, *f.stored)
}
