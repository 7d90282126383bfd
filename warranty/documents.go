package warranty

import (
	"errors"
	"path"
	"strings"
	"time"
	"unicode/utf8"
)

// Document is the metadata of an uploaded file.
type Document struct {
	ID          ID           `json:"id" doc:"Identifier of the document."`
	WarrantyID  ID           `json:"warranty_id" doc:"Identifier of the warranty."`
	ClaimID     *ID          `json:"claim_id" doc:"Identifier of the claim it belongs to, if any."`
	Warranty    WarrantyName `json:"warranty" doc:"Summary of the warranty."`
	FileName    string       `json:"file_name" doc:"Name of the file."`
	Type        DocumentType `json:"type" doc:"Kind of document."`
	ContentType string       `json:"content_type" doc:"Media type, detected from the content."`
	SizeBytes   int64        `json:"size_bytes" doc:"Size of the stored file in bytes. Pictures are stored without their metadata."`
	SHA256      string       `json:"sha256" doc:"SHA-256 of the stored file, in hexadecimal."`
	CreatedAt   time.Time    `json:"created_at" doc:"When it was uploaded."`
	WebURL      string       `json:"web_url" format:"uri" doc:"URL of the page of the document, for signed-in people."`
	MessageID   *ID          `json:"-"` // the message that it was sent with
	Filed       bool         `json:"-"` // it was sent with the form of its claim
	Attached    bool         `json:"-"` // it is a document of the warranty that was sent with a claim
	Stored      bool         `json:"-"` // it is one of these, listed with the claim
	Kept        bool         `json:"-"` // its former owner kept it and does not see the warranty
	Replay      bool         `json:"-"` // a stored response to an earlier request
}

// RecordID returns the ID used in the Location header of a created record.
func (d Document) RecordID() ID { return d.ID }

// Replayed reports whether this is the stored result of an earlier request.
func (d Document) Replayed() bool { return d.Replay }

// SetReplayed sets Replay.
func (d *Document) SetReplayed(replayed bool) { d.Replay = replayed }

// DocumentType is the kind of a document.
type DocumentType string

// The types of document.
const (
	Receipt       DocumentType = "receipt"
	Invoice       DocumentType = "invoice"
	Certificate   DocumentType = "certificate"
	Terms         DocumentType = "terms"
	Manual        DocumentType = "manual"
	Photo         DocumentType = "photo"
	ClaimEvidence DocumentType = "claim_evidence"
	OtherDocument DocumentType = "other"
)

var documentTypeNames = namesOf(Receipt, Invoice, Certificate, Terms, Manual, Photo, ClaimEvidence, OtherDocument)

// Values lists the known document types.
func (DocumentType) Values() []string { return documentTypeNames }

// String returns the type's name.
func (t DocumentType) String() string { return string(t) }

// ListDocuments is the input of documents.list.
type ListDocuments struct {
	Paging
	WarrantyID WarrantyKey `json:"warranty_id,omitzero" in:"query" doc:"Only documents of this warranty. ID or reference number."`
	Q          string      `json:"q,omitzero" in:"query" max:"200" doc:"Words to search for in the file name and type and in the product it belongs to."`
	Selection
}

// Check validates the input.
func (in *ListDocuments) Check() error {
	var c Checks
	in.Paging.Check(&c)
	in.Q = c.query(in.Q)
	return c.Err()
}

// GetDocument is the input of documents.get.
type GetDocument struct {
	ID ID `json:"id" in:"path" required:"true" doc:"Identifier of the document."`
	Selection
}

// DeleteDocument is the input of documents.delete.
type DeleteDocument struct {
	ID ID `json:"id" in:"path" required:"true" doc:"Identifier of the document."`
}

// RenameDocument changes the name of a document's file.
type RenameDocument struct {
	ID       ID
	FileName string
}

// Apply validates the new name of a document and returns it. The extension stays that of the content.
func (in RenameDocument) Apply(d Document) (name string, err error) {
	if err := d.mayChange(); err != nil {
		return "", err
	}
	var c Checks
	upload := UploadDocument{FileName: c.fileName("file_name", in.FileName)}
	if len(c.Fields) > 0 {
		return "", c.Err()
	}
	err = upload.NameFor(d.ContentType)
	var refusal *Error
	if errors.As(err, &refusal) {
		for i := range refusal.Fields {
			refusal.Fields[i].Field = "file_name"
		}
	}
	return upload.FileName, err
}

// mayChange returns an error if the document belongs to a claim, or if its owner transferred the warranty.
func (d Document) mayChange() error {
	if d.Kept {
		return Refuse(RoleNotAllowed, "You transferred the warranty of this document. You can download or delete it.")
	}
	if d.ClaimID != nil || d.Attached {
		return Refuse(InUse, "This document belongs to a claim, so that its file and name cannot change.")
	}
	return nil
}

// MayChange reports whether the file and its name may be changed: what others rely on in a claim stays, and so does what a
// former owner kept.
func (d Document) MayChange() bool { return d.mayChange() == nil }

// ReplacedBy validates a file that takes the place of a document's file, and returns its name.
func (d Document) ReplacedBy(fileName, mediaType string) (name string, err error) {
	if err := d.mayChange(); err != nil {
		return "", err
	}
	in := UploadDocument{FileName: fileName}
	err = in.CheckName(mediaType)
	return in.FileName, err
}

// Limits of documents.
const (
	MaxFileSize = 20 << 20
	MaxFileName = 200
)

// UploadDocument describes a file to add to a warranty. The content is streamed
// separately.
type UploadDocument struct {
	WarrantyID WarrantyKey
	ClaimID    ClaimKey // optional; a claim on the same warranty
	Type       DocumentType
	FileName   string
	// Draft keeps the file for a message: nobody else sees it before the message is sent.
	Draft bool `json:",omitzero"`

	IdempotencyKey *string // optional
}

// Check validates the input. Unsafe file names are rejected, not fixed: the user is
// unlikely to have chosen them.
func (in *UploadDocument) Check() error {
	var c Checks
	if in.WarrantyID.IsZero() {
		c.Add("warranty_id", "required", "This field is required.")
	}
	if in.Type == "" {
		c.Add("type", "required", "This field is required. Use one of: %s.", strings.Join(documentTypeNames, ", "))
	}
	if in.Draft && in.ClaimID.IsZero() {
		c.Add("claim_id", "required", "This field is required for a draft.")
	}
	in.FileName = c.fileName("file", in.FileName)
	in.IdempotencyKey = c.idempotencyKey(in.IdempotencyKey)
	return c.Err()
}

// fileName validates the name of a file.
func (c *Checks) fileName(field, name string) string {
	name = c.text(field, name, 1, MaxFileName)
	if strings.ContainsAny(name, `/\:*?"<>|`) || strings.Trim(name, ". ") != name {
		c.Add(field, "invalid_name", "Rename the file. Its name cannot contain a path, quotation marks or wildcards, "+
			"and cannot start or end with a dot.")
	}
	return name
}

// CheckName validates the file name alone.
func (in *UploadDocument) CheckName(mediaType string) error {
	var c Checks
	if in.FileName = c.fileName("file", in.FileName); len(c.Fields) > 0 {
		return c.Err()
	}
	return in.NameFor(mediaType)
}

// extensions lists the file extensions of each media type, the default one first.
var extensions = map[string][]string{
	"application/pdf": {".pdf"},
	"image/jpeg":      {".jpg", ".jpeg"},
	"image/png":       {".png"},
	"image/webp":      {".webp"},
	"text/plain":      {".txt", ".text", ".md", ".log"},
}

// NameFor matches the file name with the detected media type. A name without an
// extension gets the default one; a different extension is rejected, so that a
// program cannot be passed off as a receipt.
func (in *UploadDocument) NameFor(mediaType string) error {
	var c Checks
	allowed := extensions[mediaType]
	extension := strings.ToLower(path.Ext(in.FileName))
	if extension == "" || utf8.RuneCountInString(extension) > 6 {
		in.FileName = c.text("file", in.FileName+allowed[0], 1, MaxFileName)
		return c.Err()
	}
	for _, e := range allowed {
		if e == extension {
			return nil
		}
	}
	c.Add("file", "wrong_ending", "The file is %s. Rename it to end in %s.", mediaType, allowed[0])
	return c.Err()
}
