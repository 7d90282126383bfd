package warranty

import (
	"path"
	"strings"
	"time"
	"unicode/utf8"
)

// Document is what is known of a file; the file itself has no address here.
type Document struct {
	ID          ID           `json:"id" doc:"Identifier of the document."`
	WarrantyID  ID           `json:"warranty_id" doc:"Identifier of the warranty."`
	ClaimID     *ID          `json:"claim_id" doc:"Identifier of the claim it belongs to, if any."`
	Warranty    WarrantyName `json:"warranty" doc:"The warranty in short."`
	FileName    string       `json:"file_name" doc:"Name of the file."`
	Type        DocumentType `json:"type" doc:"What the document is."`
	ContentType string       `json:"content_type" doc:"Media type, as found in the file."`
	SizeBytes   int64        `json:"size_bytes" doc:"Size of the file."`
	SHA256      string       `json:"sha256" doc:"SHA-256 of the file, in hexadecimal."`
	CreatedAt   time.Time    `json:"created_at" doc:"When it was uploaded."`
}

// RecordID is the id that a created record's Location is made of.
func (d Document) RecordID() ID { return d.ID }

// DocumentType is what a document is.
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

// Values lists the names a DocumentType may have.
func (DocumentType) Values() []string { return documentTypeNames }

// String is the type's name.
func (t DocumentType) String() string { return string(t) }

// ListDocuments asks for the documents of the caller's warranties, newest first.
type ListDocuments struct {
	Paging
	WarrantyID ID     `json:"warranty_id,omitzero" in:"query" doc:"Only documents of this warranty."`
	Q          string `json:"q,omitzero" in:"query" max:"200" doc:"Text to find in the file name and the type."`
}

// Check refuses what no list can be asked for.
func (in *ListDocuments) Check() error {
	var c Checks
	in.Paging.Check(&c)
	in.Q = c.text("q", in.Q, 0, MaxQuery)
	return c.Err()
}

// GetDocument asks for the metadata of one document.
type GetDocument struct {
	ID ID `json:"id" in:"path" required:"true" doc:"Identifier of the document."`
}

// DeleteDocument removes a document and its file.
type DeleteDocument struct {
	ID ID `json:"id" in:"path" required:"true" doc:"Identifier of the document."`
}

// Bounds of documents.
const (
	MaxFileSize = 20 << 20
	MaxFileName = 200
)

// UploadDocument is a file that somebody adds to a warranty. The file itself is
// streamed beside it.
type UploadDocument struct {
	WarrantyID ID
	ClaimID    ID // of a claim on the same warranty, or none
	Type       DocumentType
	FileName   string
}

// Check refuses what no document can be. Names are refused rather than mended:
// a name with tricks in it was not chosen by the person who uploads.
func (in *UploadDocument) Check() error {
	var c Checks
	if in.WarrantyID.IsZero() {
		c.Add("warranty_id", "required", "This field is required.")
	}
	if in.Type == "" {
		c.Add("type", "required", "This field is required; write one of: "+strings.Join(documentTypeNames, ", ")+".")
	}
	in.FileName = c.text("file", in.FileName, 1, MaxFileName)
	if strings.ContainsAny(in.FileName, `/\:*?"<>|`) || strings.Trim(in.FileName, ". ") != in.FileName {
		c.Add("file", "invalid_name", "The file's name can not hold a path, quotation marks or wildcards, nor begin or end with a dot.")
	}
	return c.Err()
}

// extensions says how files of each media type may be named, the usual one first.
var extensions = map[string][]string{
	"application/pdf": {".pdf"},
	"image/jpeg":      {".jpg", ".jpeg"},
	"image/png":       {".png"},
	"image/webp":      {".webp"},
	"text/plain":      {".txt", ".text", ".md", ".log"},
}

// NameFor makes the name fit what was found in the file: one without an ending
// gets the usual one, and one whose ending says something else is refused, so
// that nobody is handed a program as a receipt.
func (in *UploadDocument) NameFor(mediaType string) error {
	var c Checks
	usual := extensions[mediaType]
	extension := strings.ToLower(path.Ext(in.FileName))
	if extension == "" || utf8.RuneCountInString(extension) > 6 {
		in.FileName = c.text("file", in.FileName+usual[0], 1, MaxFileName)
		return c.Err()
	}
	for _, e := range usual {
		if e == extension {
			return nil
		}
	}
	c.Add("file", "wrong_ending", "The file is "+mediaType+", so its name should end in "+usual[0]+".")
	return c.Err()
}
