package describe

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// fileTypes are the supported media types of files.
var fileTypes = []string{"application/pdf", "image/jpeg", "image/png", "image/webp", "text/plain"}

// documentFiles describes the upload and download of files. They are not in the
// operation table because they are streams.
func (b *builder) documentFiles() {
	b.upload()
	b.download()
}

func (b *builder) upload() {
	s := &api.Spec{
		Name:     "documents.upload",
		Method:   http.MethodPost,
		Base:     api.Host,
		Path:     "/documents",
		Auth:     api.SessionOnly,
		Summary:  "Upload a document to a warranty or a claim.",
		Status:   http.StatusCreated,
		Location: "/v1/documents/{id}",
		Errors: []warranty.Code{
			warranty.BodyTooLarge, warranty.UnsupportedMediaType, warranty.NotFound, warranty.RoleNotAllowed,
			warranty.IdempotencyKeyReused,
		},
		Params: slices.DeleteFunc(slices.Clone(api.FileClaim.Params), func(p api.Param) bool { return p.In != api.Header }),
		In:     reflect.TypeFor[warranty.UploadDocument](),
		Out:    reflect.TypeFor[warranty.Document](),
	}
	op := b.describe(s)
	op.Description += fmt.Sprintf(" Send each form field once, and warranty_id before the file. "+
		"The file is a PDF, a JPEG, PNG or WebP image, or UTF-8 text of at most %d MiB. "+
		"We detect the type from the content. "+
		"Uploads beyond your storage limit are rejected with storage_full.",
		warranty.MaxFileSize>>20)
	op.RequestBody = &requestBody{Required: true, Content: ordered[*mediaType]{{"multipart/form-data", &mediaType{
		Schema:   b.uploadForm(s.In.Name()),
		Encoding: ordered[encoding]{{"file", encoding{strings.Join(fileTypes, ", ")}}},
	}}}}
	op.Responses.add(strconv.Itoa(s.Status), b.success(s))
	b.refusals(op, s.Refusals())
	b.add(s.Method, s.Route(), op)
}

// uploadForm adds the form fields of an upload as a component.
func (b *builder) uploadForm(name string) *schema {
	closed := false
	kind := b.schemaOf(reflect.TypeFor[warranty.DocumentType]())
	kind.Description, kind.Examples = "Kind of document.", []any{warranty.ClaimEvidence}
	of, claim := b.schemaOf(reflect.TypeFor[warranty.WarrantyKey]()), b.schemaOf(reflect.TypeFor[warranty.ClaimKey]())
	of.Description, of.Examples = "ID or reference number of the warranty.", []any{sampleID(1)}
	claim.Description = "ID or number of a claim on the same warranty, if the document belongs to one."
	claim.Examples = []any{sampleID(2)}
	draft := b.schemaOf(reflect.TypeFor[bool]())
	draft.Description = "true keeps the file for a message about the claim: nobody else sees it before you send its id " +
		"with the message, and it is deleted after a day if you do not."
	file := fileSchema()
	file.MaxLength = number(warranty.MaxFileSize)
	file.Description = fmt.Sprintf("The file and its name. The name has at most %d characters, no path, "+
		"and an extension that matches the content; a missing extension is added.", warranty.MaxFileName)
	b.doc.Components.Schemas.add(name, &schema{
		Type:                 "object",
		AdditionalProperties: &closed,
		Required:             []string{"warranty_id", "type", "file"},
		Properties:           ordered[*schema]{{"warranty_id", of}, {"type", kind}, {"claim_id", claim}, {"draft", draft}, {"file", file}},
	})
	return &schema{Ref: "#/components/schemas/" + name}
}

// fileSchema returns the schema of raw bytes.
func fileSchema() *schema { return &schema{Type: "string", Format: "binary"} }

// downloadHeaders are the request headers for partial and conditional downloads.
var downloadHeaders = []api.Param{
	{
		Name:    "range",
		In:      api.Header,
		Type:    reflect.TypeFor[string](),
		Doc:     "Byte ranges to return.",
		Example: "bytes=0-65535",
	},
	{
		Name:    "if_range",
		In:      api.Header,
		Type:    reflect.TypeFor[string](),
		Doc:     "Return the ranges only if the file's ETag matches, and otherwise the whole file.",
		Example: strconv.Quote(sampleSHA256),
	},
	{
		Name:    "if_none_match",
		In:      api.Header,
		Type:    reflect.TypeFor[string](),
		Doc:     "Return the file only if its ETag is not in this list.",
		Example: strconv.Quote(sampleSHA256),
	},
}

func (b *builder) download() {
	s := &api.Spec{
		Name:    "documents.download",
		Method:  http.MethodGet,
		Base:    api.Host,
		Path:    "/documents/{id}/file",
		Auth:    api.SessionOnly,
		Summary: "Download the file of a document.",
		Errors:  []warranty.Code{warranty.FileMissing},
		Params:  slices.Concat(api.GetDocument.Params, downloadHeaders),
	}
	op := b.describe(s)
	op.Description += " Files are untrusted: they are sent as attachments, and browsers do not display them."
	files := func(more ...string) (content ordered[*mediaType]) {
		for _, name := range slices.Concat(fileTypes, more) {
			content.add(name, &mediaType{Schema: fileSchema()})
		}
		return content
	}
	add := func(status int, text string, content ordered[*mediaType], headers []string, more ...string) {
		op.Responses.add(strconv.Itoa(status), &response{
			Description: text,
			Headers:     b.headersOf(slices.Concat(headers, more)...),
			Content:     content,
		})
	}
	fileHeaders := slices.Concat(apiHeaders, []string{"Content-Disposition", "ETag", "Last-Modified", "Accept-Ranges"})
	add(http.StatusOK, "The file.", files(), fileHeaders)
	add(http.StatusPartialContent, "The requested ranges; several are sent as `multipart/byteranges`.",
		files("multipart/byteranges"), fileHeaders, "Content-Range")
	add(http.StatusNotModified, "The file has not changed. No body.", nil, apiHeaders, "ETag")
	// The handler ignores Accept.
	b.refusals(op, slices.DeleteFunc(s.Refusals(), func(c warranty.Code) bool { return c == warranty.NotAcceptable }))
	add(http.StatusPreconditionFailed, "The file does not match If-Match or If-Unmodified-Since. No body.",
		nil, apiHeaders)
	// http.ServeContent sends this response and removes Cache-Control.
	add(http.StatusRequestedRangeNotSatisfiable, "The requested range is outside the file. The body is plain text.",
		ordered[*mediaType]{{"text/plain", &mediaType{Schema: &schema{Type: "string"}}}},
		slices.DeleteFunc(slices.Clone(apiHeaders), func(name string) bool { return name == "Cache-Control" }),
		"Content-Range")
	slices.SortStableFunc(op.Responses, func(a, b member[*response]) int { return strings.Compare(a.name, b.name) })
	b.add(s.Method, s.Route(), op)
}
