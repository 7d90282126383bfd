package servertest

import (
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"warranty.example/svc/internal/files"
	"warranty.example/svc/internal/server"
	"warranty.example/svc/internal/testenv"
)

// Small files of every accepted type.
var (
	PDF  = "%PDF-1.7\n%\xE2\xE3\xCF\xD3\n1 0 obj\x00endobj"
	JPEG = "\xFF\xD8\xFF\xE0\x00\x10JFIF\x00\x01"
	PNG  = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
	WebP = "RIFF\x24\x00\x00\x00WEBPVP8 "
	Text = "Terms: none.\nGrüße, 保証書\n"
)

// Part is a part of a multipart form. Disposition overrides the header that the names produce.
type Part struct{ Name, FileName, Value, Disposition string }

// FormBoundary is the boundary of all forms.
const FormBoundary = "--------boundary"

// Form encodes parts without validating or escaping them.
func Form(parts ...Part) string {
	var b strings.Builder
	for _, p := range parts {
		if p.Disposition == "" {
			p.Disposition = `form-data; name="` + p.Name + `"`
			if p.FileName != "" {
				p.Disposition += `; filename="` + p.FileName + `"`
			}
		}
		b.WriteString("--" + FormBoundary + "\r\nContent-Disposition: " + p.Disposition +
			"\r\nContent-Type: application/octet-stream\r\n\r\n" + p.Value + "\r\n")
	}
	return b.String() + "--" + FormBoundary + "--\r\n"
}

// Field returns a form field.
func Field(name, value string) Part { return Part{Name: name, Value: value} }

// File returns the part "file".
func File(name, content string) Part { return Part{Name: "file", FileName: name, Value: content} }

// DocumentForm returns the parts of an ordinary upload.
func DocumentForm(record, name, content string) []Part {
	return []Part{Field("warranty_id", record), Field("type", "receipt"), File(name, content)}
}

// UploadRequest returns a request that uploads a form.
func UploadRequest(secret string, parts ...Part) Request {
	mediaType := `multipart/form-data; boundary="` + FormBoundary + `"`
	return NewRequest("POST", "/api/documents", secret, Form(parts...), "Content-Type", mediaType)
}

// Uploaded is a document in a response.
type Uploaded struct {
	ID, Type, SHA256 string
	WarrantyID       string  `json:"warranty_id"`
	ClaimID          *string `json:"claim_id"`
	FileName         string  `json:"file_name"`
	ContentType      string  `json:"content_type"`
	SizeBytes        int64   `json:"size_bytes"`
}

// Upload uploads a form and returns the document.
func (w *World) Upload(secret string, parts ...Part) Uploaded {
	w.T.Helper()
	var d Uploaded
	w.Must(201, UploadRequest(secret, parts...)).Into(w.T, &d)
	return d
}

// OnS3 keeps the files in S3 instead of the folder.
func OnS3(t testing.TB) Option {
	t.Helper()
	where := testenv.S3(t)
	return func(s *server.Server) {
		_ = s.Service.Files.Close() // the folder, which is not used
		bucket, err := files.ParseS3(where)
		if err == nil {
			s.Service.Files, err = bucket.Connect()
		}
		if err == nil {
			err = s.Service.BindFolder(context.Background(), false, true)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Stored lists the stored files, except those of deleted documents, which are kept
// for a day.
func (w *World) Stored() []string {
	w.T.Helper()
	deleted := w.Rows(`SELECT storage_key FROM unused_files WHERE state = 1`)
	list := []string{}
	if bucket, remote := w.Service.Files.(*files.Bucket); remote {
		for _, place := range []files.Place{files.Arriving, files.Complete, files.Trash} {
			if err := bucket.Keys(context.Background(), place, 100, func(keys []string) error {
				for _, key := range keys {
					if !slices.Contains(deleted, key) {
						list = append(list, string(place)+"/"+key)
					}
				}
				return nil
			}); err != nil {
				w.T.Fatal(err)
			}
		}
		return list
	}
	err := filepath.WalkDir(w.Folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && entry.Name() != "id" && !slices.Contains(deleted, entry.Name()) {
			path, err = filepath.Rel(w.Folder, path)
			list = append(list, path)
		}
		return err
	})
	if err != nil {
		w.T.Fatal(err)
	}
	slices.Sort(list)
	return list
}
