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

// fileTypes are the media types of the files that are taken and given out.
var fileTypes = []string{"application/pdf", "image/jpeg", "image/png", "image/webp", "text/plain"}

// documentFiles describes the upload and the download of files. They have no row
// in the operation table, because they are streams.
func (b *builder) documentFiles() {
	b.upload()
	b.download()
}

func (b *builder) upload() {
	s := &api.Spec{
		Name: "documents.upload", Method: http.MethodPost, Base: api.Host, Path: "/documents", Auth: api.SessionOnly,
		Summary: "Upload a document of a warranty, or of a claim on it.", Status: http.StatusCreated, Location: "/v1/documents/{id}",
		In: reflect.TypeFor[warranty.UploadDocument](), Out: reflect.TypeFor[warranty.Document](),
		Errors: []warranty.Code{warranty.BodyTooLarge, warranty.UnsupportedMediaType, warranty.NotFound, warranty.RoleNotAllowed},
	}
	op := b.describe(s)
	op.Description += fmt.Sprintf(" The fields of the form may come in any order, each once. A file has at most %d MiB and is a PDF, a JPEG, PNG or WebP image, or plain text in UTF-8; what it is, is found in the file. What would be more than a person may have uploaded in all is refused as storage_full.",
		warranty.MaxFileSize>>20)
	op.RequestBody = &requestBody{Required: true, Content: ordered[*mediaType]{{"multipart/form-data", &mediaType{
		Schema: b.uploadForm(s.In.Name()), Encoding: ordered[encoding]{{"file", encoding{strings.Join(fileTypes, ", ")}}},
	}}}}
	op.Responses.add(strconv.Itoa(s.Status), b.success(s))
	b.refusals(op, s.Refusals())
	b.add(s.Method, s.Route(), op)
}

// uploadForm declares the fields of an upload as a component.
func (b *builder) uploadForm(name string) *schema {
	closed := false
	kind, id := b.schemaOf(reflect.TypeFor[warranty.DocumentType]()), reflect.TypeFor[warranty.ID]()
	kind.Description, kind.Examples = "What the document is.", []any{warranty.ClaimEvidence}
	of, claim := b.schemaOf(id), b.schemaOf(id)
	of.Description, of.Examples = "Identifier of the warranty.", []any{sampleID(1)}
	claim.Description, claim.Examples = "Identifier of a claim on the same warranty, if the document belongs to one.", []any{sampleID(2)}
	file := fileSchema()
	file.MaxLength = number(warranty.MaxFileSize)
	file.Description = fmt.Sprintf("The file, with its name: at most %d characters, without a path, and with an ending that fits what is in it; without an ending it gets the usual one.",
		warranty.MaxFileName)
	b.doc.Components.Schemas.add(name, &schema{Type: "object", AdditionalProperties: &closed, Required: []string{"file", "warranty_id", "type"},
		Properties: ordered[*schema]{{"file", file}, {"warranty_id", of}, {"type", kind}, {"claim_id", claim}}})
	return &schema{Ref: "#/components/schemas/" + name}
}

// fileSchema is the schema of bytes as they are: tools know it by its format.
func fileSchema() *schema { return &schema{Type: "string", Format: "binary"} }

// downloadHeaders are the headers of a request that ask for less than the whole file.
var downloadHeaders = []api.Param{
	{Name: "range", In: api.Header, Type: reflect.TypeFor[string](), Doc: "The parts of the file that are wanted.", Example: "bytes=0-65535"},
	{Name: "if_range", In: api.Header, Type: reflect.TypeFor[string](), Doc: "Give the parts only if this is the file's ETag, else the whole file.", Example: strconv.Quote(sampleSHA256)},
	{Name: "if_none_match", In: api.Header, Type: reflect.TypeFor[string](), Doc: "Give the file only if its ETag is none of these.", Example: strconv.Quote(sampleSHA256)},
}

func (b *builder) download() {
	s := &api.Spec{
		Name: "documents.download", Method: http.MethodGet, Base: api.Host, Path: "/documents/{id}/file", Auth: api.SessionOnly,
		Summary: "Download the file of a document.", Params: slices.Concat(api.GetDocument.Params, downloadHeaders),
		Errors: []warranty.Code{warranty.FileMissing},
	}
	op := b.describe(s)
	op.Description += " The file came from somebody else: it is given out to be saved and not to be shown."
	files := func(more ...string) (content ordered[*mediaType]) {
		for _, name := range slices.Concat(fileTypes, more) {
			content.add(name, &mediaType{Schema: fileSchema()})
		}
		return content
	}
	add := func(status int, text string, content ordered[*mediaType], headers []string, more ...string) {
		op.Responses.add(strconv.Itoa(status), &response{Description: text, Headers: b.headersOf(slices.Concat(headers, more)...), Content: content})
	}
	add(http.StatusOK, "The file.", files(), apiHeaders, "Content-Disposition", "ETag", "Last-Modified", "Accept-Ranges")
	add(http.StatusPartialContent, "The parts of the file that were asked for; several come as `multipart/byteranges`.",
		files("multipart/byteranges"), apiHeaders, "Content-Disposition", "ETag", "Last-Modified", "Accept-Ranges", "Content-Range")
	add(http.StatusNotModified, "The file is the one that you have; there is no body.", nil, apiHeaders, "ETag")
	// It does not look at Accept.
	b.refusals(op, slices.DeleteFunc(s.Refusals(), func(c warranty.Code) bool { return c == warranty.NotAcceptable }))
	add(http.StatusPreconditionFailed, "The file is not the one of your If-Match or If-Unmodified-Since; there is no body.", nil, apiHeaders)
	// The standard library answers, and takes Cache-Control away.
	add(http.StatusRequestedRangeNotSatisfiable, "The file has no such parts; the body says so in plain text.",
		ordered[*mediaType]{{"text/plain", &mediaType{Schema: &schema{Type: "string"}}}},
		slices.DeleteFunc(slices.Clone(apiHeaders), func(name string) bool { return name == "Cache-Control" }), "Content-Range")
	slices.SortStableFunc(op.Responses, func(a, b member[*response]) int { return strings.Compare(a.name, b.name) })
	b.add(s.Method, s.Route(), op)
}
