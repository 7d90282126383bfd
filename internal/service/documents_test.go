package service_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// mebibytes returns a PDF of n MiB.
func mebibytes(n int) string { return pdf + strings.Repeat("\x00", n<<20-len(pdf)) }

// TestPeopleUploadDocuments uploads every accepted file type, with form fields in
// other orders, and reads back the documents and their files.
func TestPeopleUploadDocuments(t *testing.T) {
	eachStore(t, func(t *testing.T, w *world) {
		owner := w.Verified("Olga")
		record := w.Warranty(owner.Session, nil)
		claim := w.Claim(owner.Session, record.ID)
		id, kind, of := field("warranty_id", record.ID), field("type", "invoice"), field("claim_id", claim)
		var all []string
		for _, c := range []struct {
			what        string
			parts       []part
			contentType string
			fileName    string
		}{
			{"a PDF", []part{id, kind, file("receipt.pdf", pdf)}, "application/pdf", "receipt.pdf"},
			{"the file before the type", []part{id, file("receipt.PDF", pdf), kind}, "application/pdf", "receipt.PDF"},
			{"the file last", []part{kind, id, file("photo.jpeg", jpeg)}, "image/jpeg", "photo.jpeg"},
			{"of a claim", []part{of, id, file("photo.jpg", jpeg), kind}, "image/jpeg", "photo.jpg"},
			{"a PNG", []part{id, kind, file("scan.png", png)}, "image/png", "scan.png"},
			{"a WebP", []part{id, kind, file("scan.webp", webp)}, "image/webp", "scan.webp"},
			{"text", []part{id, kind, file("terms.txt", text)}, "text/plain", "terms.txt"},
			{"a name without an ending", []part{id, kind, file("terms", text)}, "text/plain", "terms.txt"},
			{"a name with a dot and no ending", []part{id, kind, file("Mr. Smith's receipt", png)}, "image/png", "Mr. Smith's receipt.png"},
			{"a name in another alphabet", []part{id, kind, file("保証書 – März.pdf", pdf)}, "application/pdf", "保証書 – März.pdf"},
			{"an encoded name", []part{id, kind, {Disposition: `form-data; name="file"; filename*=UTF-8''R%C3%BCckgabe.pdf`, Value: pdf}}, "application/pdf", "Rückgabe.pdf"},
			{"a name with blanks around", []part{id, kind, file(" a.pdf ", pdf)}, "application/pdf", "a.pdf"},
			{"text that is split inside its characters", []part{id, kind, file("a.txt", strings.Repeat("x", 511)+strings.Repeat("€", 40_000))}, "text/plain", "a.txt"},
			{"a file with another declared type", []part{id, kind, {Disposition: "form-data; name=\"file\"; filename=\"a.pdf\"\r\nContent-Type: text/html", Value: pdf}}, "application/pdf", "a.pdf"},
			{"a file that holds the boundary, nearly", []part{id, kind, file("a.txt", "x\r\n--"+boundary[:len(boundary)-1]+"?\r\n")}, "text/plain", "a.txt"},
			{"the longest name", []part{id, kind, file(strings.Repeat("é", 196)+".pdf", pdf)}, "application/pdf", strings.Repeat("é", 196) + ".pdf"},
			{"20 MiB", []part{id, kind, file("big.pdf", mebibytes(20))}, "application/pdf", "big.pdf"},
		} {
			content := c.parts[slices.IndexFunc(c.parts, func(p part) bool { return p.Name == "file" || strings.Contains(p.Disposition, `"file"`) })].Value
			a := w.Do(uploading(owner.Session, c.parts...))
			want(t, c.what, a, 201, "")
			var got uploaded
			a.Into(t, &got)
			wanted := uploaded{ID: got.ID, WarrantyID: record.ID, Type: "invoice", FileName: c.fileName, ContentType: c.contentType, SizeBytes: int64(len(content)), SHA256: sum(content)}
			if slices.Contains(c.parts, of) {
				wanted.ClaimID = &claim
			}
			equal(t, c.what, got, wanted)
			equal(t, c.what+": Location", a.Header.Get("Location"), servertest.PublicURL+"/api/v1/documents/"+got.ID)
			equal(t, c.what+", read", w.Get("/api/v1/documents/"+got.ID, owner.Session).Body, a.Body)
			if body := w.Get("/api/documents/"+got.ID+"/file", owner.Session).Body; body != content {
				t.Errorf("%s: the file has %d bytes and the sum %s, want %d bytes and the sum %s",
					c.what, len(body), sum(body), len(content), sum(content))
			}
			all = append(all, got.ID)
		}
		equal(t, "the list", ids(t, w.Get("/api/v1/documents?limit=100&warranty_id="+record.ID, owner.Session)), newest(all...))
		equal(t, "found by name", len(ids(t, w.Get("/api/v1/documents?limit=100&q=RECEIPT", owner.Session))), 3)
		equal(t, "found by type", len(ids(t, w.Get("/api/v1/documents?limit=100&q=invoice", owner.Session))), len(all))
		equal(t, "a wildcard is none", len(ids(t, w.Get("/api/v1/documents?limit=100&q=%25", owner.Session))), 0)
		equal(t, "files on the disk", len(w.Stored()), len(all))
	}, busy)
}

// uploadRefusal is an upload that must be refused and leave nothing behind.
type uploadRefusal struct {
	what    string
	code    warranty.Code
	wrong   []string
	request request
}

func uploadRefusals(me servertest.Person, record, claim, otherClaim, foreign, foreignClaim, deleted string) []uploadRefusal {
	id, kind, good := field("warranty_id", record), field("type", "receipt"), file("a.pdf", pdf)
	send := func(parts ...part) request { return uploading(me.Session, parts...) }
	raw := func(body, contentType string) request {
		return made("POST", "/api/documents", me.Session, body, "Content-Type", contentType)
	}
	const formData = "multipart/form-data; boundary=" + boundary
	with := func(r request, headers ...string) request {
		for i := 0; i < len(headers); i += 2 {
			r.Header[headers[i]] = headers[i+1]
		}
		return r
	}
	whole := form(id, kind, good)
	list := []uploadRefusal{
		{"no file", warranty.ValidationFailed, []string{"file required"}, send(id, kind)},
		{"no warranty", warranty.ValidationFailed, []string{"warranty_id required"}, send(kind, good)},
		{"no type", warranty.ValidationFailed, []string{"type required"}, send(id, good)},
		{"nothing at all", warranty.ValidationFailed, []string{"file required", "type required", "warranty_id required"}, send()},
		{"a file without a name", warranty.ValidationFailed, []string{"file required"}, send(id, kind, field("file", pdf))},
		{"the warranty twice", warranty.ValidationFailed, []string{"warranty_id duplicate"}, send(id, kind, good, id)},
		{"the type twice", warranty.ValidationFailed, []string{"type duplicate"}, send(kind, id, kind, good)},
		{"the file twice", warranty.ValidationFailed, []string{"file duplicate"}, send(id, kind, good, good)},
		{"an unknown field", warranty.ValidationFailed, []string{"owner unknown_field"}, send(id, kind, good, field("owner", "me"))},
		{"an unknown field twice", warranty.ValidationFailed, []string{"owner duplicate", "owner unknown_field"}, send(id, kind, good, field("owner", "me"), field("owner", "me"))},
		{"an unsayable field", warranty.ValidationFailed, []string{"?? unknown_field"}, send(id, kind, good, field("\u202e\u0085", "me"))},
		{"an unsayable field twice", warranty.ValidationFailed, []string{"? duplicate", "? unknown_field"}, send(id, kind, good, field("\xff", "me"), field("\xff", "me"))},
		{"a part without a name", warranty.ValidationFailed, []string{" unknown_field"}, send(id, kind, good, part{Disposition: "form-data", Value: "x"})},
		{"another file", warranty.ValidationFailed, []string{"file2 unknown_field"}, send(id, kind, good, part{Name: "file2", FileName: "b.pdf", Value: pdf})},
		{"no id", warranty.ValidationFailed, []string{"warranty_id invalid"}, send(field("warranty_id", "x"), kind, good)},
		{"an id and more", warranty.ValidationFailed, []string{"warranty_id invalid"}, send(field("warranty_id", record+strings.Repeat(" ", 2000)), kind, good)},
		{"an unknown type", warranty.ValidationFailed, []string{"type invalid"}, send(id, field("type", "virus"), good)},
		{"no id of a claim", warranty.ValidationFailed, []string{"claim_id invalid"}, send(id, kind, good, field("claim_id", "1"))},
		{"everything wrong", warranty.ValidationFailed, []string{"claim_id invalid", "file invalid_name", "size unknown_field", "type invalid", "warranty_id required"},
			send(field("type", "x"), field("claim_id", "x"), field("size", "1"), file("../a.pdf", pdf))},
		{"an unknown warranty", warranty.NotFound, nil, send(field("warranty_id", unknownID), kind, good)},
		{"a foreign warranty", warranty.NotFound, nil, send(field("warranty_id", foreign), kind, good)},
		{"a foreign warranty, whose file is not read", warranty.NotFound, nil, send(field("warranty_id", foreign), kind, file("a", "PK\x03\x04"))},
		{"the warranty after the file", warranty.ValidationFailed, []string{"warranty_id order"}, send(good, kind, id)},
		{"a foreign warranty after the file", warranty.ValidationFailed, []string{"warranty_id order"}, send(good, kind, field("warranty_id", foreign))},
		{"a deleted warranty", warranty.NotFound, nil, send(field("warranty_id", deleted), kind, good)},
		{"an unknown claim", warranty.NotFound, nil, send(id, kind, good, field("claim_id", unknownID))},
		{"a claim of another warranty", warranty.NotFound, nil, send(id, kind, good, field("claim_id", otherClaim))},
		{"a foreign claim", warranty.NotFound, nil, send(id, kind, good, field("claim_id", foreignClaim))},
		{"a warranty as a claim", warranty.NotFound, nil, send(id, kind, good, field("claim_id", record))},
		{"a claim as a warranty", warranty.NotFound, nil, send(field("warranty_id", claim), kind, good)},
		{"21 MiB", warranty.BodyTooLarge, nil, send(id, kind, file("a.pdf", mebibytes(21)))},
		{"21 MiB, first", warranty.BodyTooLarge, nil, send(file("a.pdf", mebibytes(21)), id, kind)},
		{"20 MiB and a byte", warranty.BodyTooLarge, nil, send(id, kind, file("a.pdf", mebibytes(20)+"\x00"))},
		{"21 MiB of a field", warranty.BodyTooLarge, nil, send(id, kind, good, field("note", strings.Repeat("x", 21<<20)))},
		{"JSON", warranty.UnsupportedMediaType, nil, raw(`{"warranty_id": "x"}`, "application/json")},
		{"a form of another kind", warranty.UnsupportedMediaType, nil, raw("type=receipt", "application/x-www-form-urlencoded")},
		{"multipart of another kind", warranty.UnsupportedMediaType, nil, raw(whole, "multipart/mixed; boundary="+boundary)},
		{"the file alone", warranty.UnsupportedMediaType, nil, raw(pdf, "application/pdf")},
		{"no type of the body", warranty.UnsupportedMediaType, nil, raw(whole, "")},
		{"no boundary", warranty.MalformedRequest, nil, raw(whole, "multipart/form-data")},
		{"another boundary", warranty.MalformedRequest, nil, raw(whole, "multipart/form-data; boundary=else")},
		{"an empty body", warranty.MalformedRequest, nil, raw("", formData)},
		{"no multipart", warranty.MalformedRequest, nil, raw("hello", formData)},
		{"cut in the file", warranty.MalformedRequest, nil, raw(whole[:len(whole)-len(boundary)-20], formData)},
		{"cut in a head", warranty.ValidationFailed, []string{"file required", "type required", "warranty_id required"}, raw(whole[:40], formData)},
		{"cut before its end", warranty.MalformedRequest, nil, raw(strings.TrimSuffix(whole, "--\r\n"), formData)},
		{"cut after the file", warranty.MalformedRequest, nil, raw(strings.TrimSuffix(form(good, id, kind), form()), formData)},
		{"a NUL in a head", warranty.MalformedRequest, nil, raw(strings.Replace(whole, "a.pdf", "a\x00.pdf", 1), formData)},
		{"very many parts", warranty.MalformedRequest, nil, send(slices.Repeat([]part{field("x", "")}, 20_000)...)},
		{"a very long head", warranty.MalformedRequest, nil, send(id, kind, file(strings.Repeat("a", 11<<20), pdf))},
		{"a query", warranty.ValidationFailed, []string{"warranty_id unknown_parameter"},
			made("POST", "/api/documents?warranty_id="+record, me.Session, whole, "Content-Type", formData)},
		{"a credential in the query", warranty.MalformedRequest, nil, made("POST", "/api/documents?token=x", me.Session, whole, "Content-Type", formData)},
		{"an unsupported Accept", warranty.NotAcceptable, nil, with(send(id, kind, good), "Accept", "text/html")},
		{"no credential", warranty.MissingCredential, nil, uploading("", id, kind, good)},
	}
	for name, content := range map[string]string{
		"HTML": "<!doctype html><script>alert(1)</script>", "HTML after blanks": " \r\n\f<html>", "SVG": `<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>`,
		"XML": `<?xml version="1.0"?><x/>`, "a script": "<script>alert(1)</script>", "binary": "\x7fELF\x02\x00", "text that turns binary": strings.Repeat("a", 100_000) + "\x00",
		"Latin-1": "Gr\xfc\xdfe", "nothing": "", "blanks": " \n", "an archive": "PK\x03\x04", "a GIF": "GIF89a\x01\x00",
	} {
		for _, fileName := range []string{"a.pdf", "a.txt", "a"} {
			list = append(list, uploadRefusal{name + " named " + fileName, warranty.ValidationFailed, []string{"file unsupported_file"}, send(id, kind, file(fileName, content))})
		}
	}
	for _, c := range []struct{ name, content string }{
		{"a.txt", pdf}, {"a.exe", pdf}, {"a.pdf.exe", pdf}, {"a.html", text}, {"a.svg", text}, {"a.pdf", text}, {"a.jpg", png}, {"a.js", text}, {"a.hta", text}, {"a.pdf", jpeg},
	} {
		list = append(list, uploadRefusal{c.name + " holding " + c.content[:4], warranty.ValidationFailed, []string{"file wrong_ending"}, send(id, kind, file(c.name, c.content))})
	}
	for name, wrong := range map[string]string{
		"../x.pdf": "invalid_name", `..\\x.pdf`: "invalid_name", `..\x.pdf`: "invalid_name", "/etc/passwd": "invalid_name", "a/b.pdf": "invalid_name", `C:\x.pdf`: "invalid_name",
		`C:\\x.pdf`: "invalid_name", "C:x.pdf": "invalid_name", "..": "invalid_name", ".": "invalid_name", ".pdf": "invalid_name", "a.pdf.": "invalid_name", "a?.pdf": "invalid_name",
		"a*.pdf": "invalid_name", "a|b.pdf": "invalid_name", "<a>.pdf": "invalid_name", `a\".pdf`: "invalid_name", "x.pdf:stream": "invalid_name",
		"\u202efdp.exe": "forbidden_character", "a\u200b.pdf": "forbidden_character", "a\u2028.pdf": "forbidden_character", "a\tb.pdf": "forbidden_character",
		"a\xff.pdf": "invalid", strings.Repeat("é", 197) + ".pdf": "too_long", strings.Repeat("é", 197): "too_long", "  ": "required",
	} {
		list = append(list, uploadRefusal{fmt.Sprintf("the name %.20q", name), warranty.ValidationFailed, []string{"file " + wrong}, send(id, kind, file(name, pdf))})
	}
	for encoded, wrong := range map[string]string{
		"..%2Fx.pdf": "invalid_name", "..%5Cx.pdf": "invalid_name", "a%00.pdf": "forbidden_character", "a%0D%0AContent-Type%3A%20text.pdf": "invalid_name", "a%1B%5B2J.pdf": "forbidden_character", "a%0D%0Ab.pdf": "forbidden_character",
		"%E2%80%AEfdp.exe": "forbidden_character", "%FF.pdf": "invalid",
	} {
		list = append(list, uploadRefusal{"the encoded name " + encoded, warranty.ValidationFailed, []string{"file " + wrong},
			send(id, kind, part{Disposition: `form-data; name="file"; filename*=UTF-8''` + encoded, Value: pdf})})
	}
	return list
}

// TestPeopleUploadsThatAreRefusedLeaveNothing tries every invalid upload. None may
// leave a file or a row behind.
func TestPeopleUploadsThatAreRefusedLeaveNothing(t *testing.T) {
	eachStore(t, func(t *testing.T, w *world) {
		me, stranger := w.Verified("Mia"), w.Verified("Zoe")
		record, other, deleted, foreign := w.Warranty(me.Session, nil), w.Warranty(me.Session, nil), w.Warranty(me.Session, nil), w.Warranty(stranger.Session, nil)
		claim, otherClaim, foreignClaim := w.Claim(me.Session, record.ID), w.Claim(me.Session, other.ID), w.Claim(stranger.Session, foreign.ID)
		w.Must(204, made("DELETE", "/api/v1/warranties/"+deleted.ID, me.Session, nil))
		before := w.Contents()
		var missing []string
		for _, c := range uploadRefusals(me, record.ID, claim, otherClaim, foreign.ID, foreignClaim, deleted.ID) {
			a := w.Do(c.request)
			refused(t, c.what, a, c.code)
			if c.code == warranty.ValidationFailed && a.Code() == string(c.code) {
				wrong := wrongFields(t, a)
				slices.Sort(wrong)
				// A name may have two errors; the expected one must be among them.
				if i := slices.Index(wrong, c.wrong[0]); len(c.wrong) == 1 && i >= 0 {
					wrong = c.wrong
				}
				equal(t, c.what, wrong, c.wrong)
			}
			if c.code == warranty.NotFound {
				p := problemOf(t, a)
				missing = append(missing, p.Title+p.Detail)
			}
			if len(a.Body) > 8<<10 {
				t.Errorf("%s: the error response has %d bytes", c.what, len(a.Body))
			}
			if left := w.Stored(); len(left) > 0 {
				t.Fatalf("%s left %v", c.what, left)
			}
		}
		equal(t, "the ways to say that there is nothing", len(slices.Compact(missing)), 1)
		equal(t, "changes by refused uploads", w.Contents(), before)
		w.Upload(me.Session, append(document(record.ID, "a.pdf", pdf), field("claim_id", claim))...)
		w.Upload(me.Session, append(document(record.ID, "a.pdf", pdf), field("claim_id", ""))...) // like a web form
	}, busy)
}

// rawUpload opens a connection and sends an upload up to the middle of its file. It
// returns the connection and the rest of the request.
func (w *world) rawUpload(t *testing.T, session string, parts ...part) (net.Conn, string) {
	t.Helper()
	conn, err := net.Dial("tcp", w.HTTP.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() }) // closed already unless the test failed
	body := form(parts...)
	half := strings.LastIndex(body, pdf) + len(pdf)/2
	if _, err := fmt.Fprintf(conn, "POST /api/documents HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: multipart/form-data; boundary=%s\r\nContent-Length: %d\r\n\r\n%s",
		session, boundary, len(body), body[:half]); err != nil {
		t.Fatal(err)
	}
	return conn, body[half:]
}

// TestPeopleWhoseLineBreaksLeaveNothing closes connections in the middle of a file.
func TestPeopleWhoseLineBreaksLeaveNothing(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		me := w.Verified("Mia")
		record := w.Warranty(me.Session, nil)
		before := w.Contents()
		long := file("a.pdf", strings.Repeat("\x00", 100_000)+pdf)
		long.Value = pdf + long.Value
		var conns []net.Conn
		for range 4 {
			conn, _ := w.rawUpload(t, me.Session, field("warranty_id", record.ID), field("type", "receipt"), long)
			conns = append(conns, conn)
		}
		testenv.Wait(t, "four files are arriving", func() bool { return len(w.Stored()) == 4 })
		for _, conn := range conns {
			if err := conn.Close(); err != nil {
				t.Error(err)
			}
		}
		testenv.Wait(t, "they are gone", func() bool { return len(w.Stored()) == 0 })
		equal(t, "changes by broken connections", w.Contents(), before)
	}, busy)
}

// TestPeopleWhoMayNoMoreWhenTheFileHasArrived ends the session, the role or the record
// during an upload, which must then be refused.
func TestPeopleWhoMayNoMoreWhenTheFileHasArrived(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		recipient := w.Verified("Hedi")
		for name, c := range map[string]struct {
			take func(me servertest.Person, record string)
			code warranty.Code
		}{
			"Sid": {func(me servertest.Person, _ string) {
				w.Must(204, made("DELETE", "/api/auth/sessions/current", me.Session, nil))
			}, warranty.SessionExpired},
			"Rosa": {func(me servertest.Person, id string) {
				w.Must(204, made("DELETE", "/api/v1/warranties/"+id, me.Session, nil))
			}, warranty.NotFound},
			"Tess": {func(me servertest.Person, id string) {
				w.Transfer(id, me, recipient)
				w.Must(204, made("DELETE", "/api/v1/warranties/"+id, recipient.Session, nil))
			}, warranty.NotFound},
			"Dora": {func(me servertest.Person, _ string) {
				if err := w.Service.DisableUser(t.Context(), me.Email); err != nil {
					t.Error(err)
				}
			}, warranty.SessionExpired},
		} {
			me := w.Verified(name)
			record := w.Warranty(me.Session, nil)
			conn, rest := w.rawUpload(t, me.Session, document(record.ID, "a.pdf", pdf+pdf)...)
			testenv.Wait(t, "the file is arriving", func() bool { return len(w.Stored()) == 1 })
			c.take(me, record.ID)
			if _, err := io.WriteString(conn, rest); err != nil {
				t.Fatal(err)
			}
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(resp.Body) // an incomplete body fails the checks below
			_ = resp.Body.Close()
			refused(t, name, answer{Status: resp.StatusCode, Body: string(body)}, c.code)
			equal(t, name+": documents", w.Count(`SELECT count(*) FROM documents`), 0)
			equal(t, name+": files", w.Stored(), []string{})
		}
	}, busy)
}

// TestPeopleDownloadFiles checks the headers that keep browsers from rendering or
// running an uploaded file: attachment, nosniff and a sandbox.
func TestPeopleDownloadFiles(t *testing.T) {
	eachStore(t, func(t *testing.T, w *world) {
		s := w.scenes()(cast{creator: another, seller: third, owner: me})
		stranger := w.Person("Zoe")
		for name, content := range map[string]string{"terms.txt": text, "a.pdf": pdf, "a.jpg": jpeg, "a.png": png, "a.webp": webp,
			"Größe 100%; x=1, 'q' 保証書.pdf": pdf, strings.Repeat("é", 196) + ".pdf": mebibytes(1)} {
			d := s.Upload(s.who(another), document(s.record.ID, name, content)...)
			path := "/api/documents/" + d.ID + "/file"
			for _, who := range []string{me, another, third} {
				a := s.Get(path, s.who(who))
				want(t, name, a, 200, "")
				if a.Body != content {
					t.Errorf("%s: the file has %d bytes, want %d", name, len(a.Body), len(content))
				}
				disposition, params, err := mime.ParseMediaType(a.Header.Get("Content-Disposition"))
				if err != nil || disposition != "attachment" || params["filename"] != name {
					t.Errorf("%s: Content-Disposition is %q: %v", name, a.Header.Get("Content-Disposition"), err)
				}
				for header, wanted := range map[string]string{"Content-Type": d.ContentType, "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
					"Content-Security-Policy": "sandbox; default-src 'none'", "Content-Length": fmt.Sprint(len(content)), "Etag": `"` + d.SHA256 + `"`, "Accept-Ranges": "bytes"} {
					equal(t, name+": "+header, a.Header.Get(header), wanted)
				}
				head := s.Send("HEAD", path, s.who(who), nil)
				want(t, "HEAD of "+name, head, 200, "")
				for _, header := range []string{"Content-Type", "Content-Length", "Content-Disposition", "Content-Security-Policy", "X-Content-Type-Options", "Etag"} {
					equal(t, "HEAD of "+name+": "+header, head.Header.Get(header), a.Header.Get(header))
				}
			}
			refused(t, "as a stranger", s.Get(path, stranger.Session), warranty.NotFound)
			refused(t, "without a session", s.Get(path, ""), warranty.MissingCredential)
		}
		d := s.Upload(s.who(another), document(s.record.ID, "a.pdf", pdf)...)
		path, tag := "/api/documents/"+d.ID+"/file", `"`+d.SHA256+`"`
		for _, c := range []struct {
			what, header, value string
			status              int
			body                string
		}{
			{"the beginning", "Range", "bytes=0-4", 206, pdf[:5]},
			{"the middle", "Range", "bytes=5-8", 206, pdf[5:9]},
			{"from there on", "Range", "bytes=5-", 206, pdf[5:]},
			{"the end", "Range", "bytes=-3", 206, pdf[len(pdf)-3:]},
			{"past the end", "Range", "bytes=9999-", 416, "invalid range: failed to overlap\n"},
			{"no range", "Range", "bytes=x", 416, "invalid range\n"},
			{"known already", "If-None-Match", tag, 304, ""},
			{"another one known", "If-None-Match", `"x"`, 200, pdf},
			{"not as expected", "If-Match", `"x"`, 412, ""},
		} {
			a := s.Get(path, s.who(third), c.header, c.value)
			equal(t, c.what+": status", a.Status, c.status)
			equal(t, c.what+": body", a.Body, c.body)
			equal(t, c.what+": sniffing", a.Header.Get("X-Content-Type-Options"), "nosniff")
			equal(t, c.what+": policy", a.Header.Get("Content-Security-Policy"), "sandbox; default-src 'none'")
		}
		equal(t, "a range of the same version", s.Get(path, s.who(me), "Range", "bytes=5-8", "If-Range", tag).Body, pdf[5:9])
		equal(t, "a range of another version", s.Get(path, s.who(me), "Range", "bytes=5-8", "If-Range", `"x"`).Body, pdf)
		several := s.Get(path, s.who(me), "Range", "bytes=0-4,7-8")
		_, params, err := mime.ParseMediaType(several.Header.Get("Content-Type"))
		if err != nil {
			t.Fatal(err)
		}
		parts := multipart.NewReader(strings.NewReader(several.Body), params["boundary"])
		for _, wanted := range []string{pdf[:5], pdf[7:9]} {
			part, err := parts.NextPart()
			if err != nil {
				t.Fatal(err)
			}
			got, _ := io.ReadAll(part)
			equal(t, "one of several parts", string(got), wanted)
		}
		for what, r := range map[string]request{
			"an unknown document": made("GET", "/api/documents/"+unknownID+"/file", s.who(me), nil),
			"no id":               made("GET", "/api/documents/x/file", s.who(me), nil),
			"a warranty":          made("GET", "/api/documents/"+s.record.ID+"/file", s.who(me), nil),
			"a path":              made("GET", "/api/documents/..%2F..%2Fetc%2Fpasswd/file", s.who(me), nil),
		} {
			refused(t, what, s.Do(r), warranty.NotFound)
		}
		refused(t, "a query", s.Get(path+"?inline=1", s.who(me)), warranty.ValidationFailed)
		refused(t, "a credential in the address", s.Get(path+"?access_token=x", s.who(me)), warranty.MalformedRequest)
		equal(t, "another method", s.Send("POST", path, s.who(me), fields{}).Status, 405)
		equal(t, "its methods", s.Send("POST", path, s.who(me), fields{}).Header.Get("Allow"), "GET, HEAD")
		equal(t, "the folder's methods", s.Get("/api/documents", s.who(me)).Header.Get("Allow"), "POST")
	}, busy)
}

// TestPeopleRemoveDocuments deletes documents with their files, and checks the history.
func TestPeopleRemoveDocuments(t *testing.T) {
	eachStore(t, func(t *testing.T, w *world) {
		s := w.scenes()(cast{creator: another, seller: third, owner: me})
		kept := s.Upload(s.who(third), document(s.record.ID, "kept.pdf", pdf)...)
		for _, c := range []struct{ uploader, remover string }{{me, me}, {another, another}, {third, third}, {another, me}, {third, me}} {
			d := s.Upload(s.who(c.uploader), document(s.record.ID, "gone.pdf", pdf)...)
			equal(t, "files before", len(s.Stored()), 2)
			for _, other := range []string{another, third} {
				if other != c.uploader {
					code := warranty.RoleNotAllowed
					if c.uploader == me {
						code = warranty.NotFound // businesses do not see what the owner uploads
					}
					refused(t, "removed by "+other, s.Send("DELETE", "/api/documents/"+d.ID, s.who(other), nil), code)
				}
			}
			s.Must(204, made("DELETE", "/api/documents/"+d.ID, s.who(c.remover), nil))
			equal(t, "files after", len(s.Stored()), 1)
			for _, who := range []string{me, another, third} {
				for _, r := range []request{made("GET", "/api/v1/documents/"+d.ID, s.who(who), nil), made("GET", "/api/documents/"+d.ID+"/file", s.who(who), nil),
					made("DELETE", "/api/documents/"+d.ID, s.who(who), nil)} {
					refused(t, r.Method+" "+r.Path+" after it was removed", s.Do(r), warranty.NotFound)
				}
				equal(t, "the list after", ids(t, s.Get("/api/v1/documents", s.who(who))), []string{kept.ID})
			}
			last := s.history(s.record.ID, s.who(me))[0]
			equal(t, "the history", []string{last.Action, last.Actor, last.SubjectID, *last.Changes[0].From}, []string{"document.deleted", s.people[c.remover].Name, d.ID, "gone.pdf"})
		}
		refused(t, "an unknown one", s.Send("DELETE", "/api/documents/"+unknownID, s.who(me), nil), warranty.NotFound)

		// Of many concurrent deletions one succeeds, and concurrent downloads get the
		// whole file or 404.
		for range 10 {
			d := s.Upload(s.who(me), document(s.record.ID, "gone.pdf", mebibytes(1))...)
			removed := 0
			count, answers := servertest.Flood(t, []*world{w}, 12, func(i int) request {
				if i%3 == 0 {
					return made("DELETE", "/api/documents/"+d.ID, s.who(me), nil)
				}
				return made("GET", "/api/documents/"+d.ID+"/file", s.who(third), nil)
			})
			for i, a := range answers {
				if i%3 == 0 && a.Status == 204 {
					removed++
				}
				if a.Status == 200 && sum(a.Body) != d.SHA256 {
					t.Error("a download returned part of the file")
				}
			}
			if removed != 1 || count["200"]+count["204"]+count["404 not_found"] != 12 {
				t.Fatalf("removed %d times: %v", removed, count)
			}
		}
		equal(t, "files at the end", len(s.Stored()), 1)
	}, busy)
}

// TestPeopleHearWhenFilesCannotBeStored makes the disk fail, and recover.
func TestPeopleHearWhenFilesCannotBeStored(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		me := w.Verified("Mia")
		record := w.Warranty(me.Session, nil)
		d := w.Upload(me.Session, document(record.ID, "a.pdf", pdf)...)
		away := w.Folder + " away"
		for _, folder := range []string{"arriving", "complete"} {
			if err := os.Rename(filepath.Join(w.Folder, folder), away); err != nil {
				t.Fatal(err)
			}
			w.Unchanged(t, "an upload without "+folder, func() {
				a := w.Do(uploading(me.Session, document(record.ID, "b.pdf", pdf)...))
				refused(t, "an upload without "+folder, a, warranty.Unavailable)
				if number(t, a.Header, "Retry-After") < 1 {
					t.Error("no Retry-After")
				}
			})
			if folder == "complete" {
				refused(t, "a download", w.Get("/api/documents/"+d.ID+"/file", me.Session), warranty.FileMissing)
			}
			if err := os.Rename(away, filepath.Join(w.Folder, folder)); err != nil {
				t.Fatal(err)
			}
			equal(t, "files", len(w.Stored()), 1)
		}
		w.Upload(me.Session, document(record.ID, "b.pdf", pdf)...)
		for _, row := range w.Rows(`SELECT storage_key FROM documents`) {
			if strings.Contains(w.Log.String(), row) {
				t.Error("the log names a stored file")
			}
		}
		equal(t, "errors in the log", strings.Count(w.Log.String(), "cannot store a file"), 2)
	}, busy)
}

// TestMissingFileIsGone deletes the file of a document: everyone with access to it gets
// the same error, and the log mentions the document once (D4).
func TestMissingFileIsGone(t *testing.T) {
	eachStore(t, func(t *testing.T, w *world) {
		me, stranger := w.Verified("Mia"), w.Verified("Stan")
		record := w.Warranty(me.Session, nil)
		d := w.Upload(me.Session, document(record.ID, "a.pdf", pdf)...)
		path := "/api/documents/" + d.ID + "/file"
		for _, name := range w.Stored() {
			if err := w.Service.Files.Delete(t.Context(), filepath.Base(name)); err != nil {
				t.Fatal(err)
			}
		}
		for range 3 {
			a := w.Get(path, me.Session)
			refused(t, "a download", a, warranty.FileMissing)
			equal(t, "its status", a.Status, http.StatusGone)
		}
		equal(t, "HEAD", w.Send("HEAD", path, me.Session, nil).Status, http.StatusGone)
		refused(t, "a stranger's download", w.Get(path, stranger.Session), warranty.NotFound)
		w.SignedIn(t, me).Get("/documents/"+d.ID+"/file").Says(t, "the page", http.StatusGone, "This file is missing on the server")
		w.Must(200, made("GET", "/api/v1/documents/"+d.ID, me.Session, nil)) // the record stays
		w.Must(200, made("GET", "/readyz", "", nil))
		lines := 0
		for line := range strings.Lines(w.Log.String()) {
			if strings.Contains(line, "document file missing") && strings.Contains(line, d.ID) && strings.Contains(line, `"level":"ERROR"`) {
				lines++
			}
		}
		equal(t, "lines in the log", lines, 1)
		w.Must(204, made("DELETE", "/api/documents/"+d.ID, me.Session, nil))
		refused(t, "after it was removed", w.Get(path, me.Session), warranty.NotFound)
	}, busy)
}

// lostAnswer returns the URL of the same PostgreSQL database through a proxy that,
// once armed, closes the connection instead of forwarding the response to a commit.
func lostAnswer(t *testing.T, database string) (address string, armed *atomic.Bool) {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	target := u.Host
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() }) // no more connections are expected
	armed = new(atomic.Bool)
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", target)
			if err != nil {
				_ = near.Close() // the client sees the error
				continue
			}
			go func() {
				_, _ = io.Copy(far, near) // ends when either side is closed
				_ = far.Close()
			}()
			go func() {
				defer near.Close()
				buffer := make([]byte, 64<<10)
				for {
					n, err := far.Read(buffer)
					if err != nil || bytes.Contains(buffer[:n], []byte("COMMIT\x00")) && armed.CompareAndSwap(true, false) {
						return
					}
					if _, err := near.Write(buffer[:n]); err != nil {
						return
					}
				}
			}()
		}
	}()
	u.Host = listener.Addr().String()
	return u.String(), armed
}

// TestPeopleKeepTheFileOfALostCommit drops the database's response to the commit of an
// upload: the record exists, so its file must too.
func TestPeopleKeepTheFileOfALostCommit(t *testing.T) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		address, armed := lostAnswer(t, databases[1].Open(t))
		w := newWorld(t, address, busy)
		me := w.Verified("Mia")
		record := w.Warranty(me.Session, nil)
		armed.Store(true)
		refused(t, "an upload whose commit was lost", w.Do(uploading(me.Session, document(record.ID, "a.pdf", pdf)...)), warranty.Unavailable)
		var list []uploaded
		w.Must(200, made("GET", "/api/v1/documents", me.Session, nil)).Into(t, &list)
		equal(t, "documents", len(list), 1)
		equal(t, "its file", w.Get("/api/documents/"+list[0].ID+"/file", me.Session).Body, pdf)
	})
}

// TestUploadsAtTheSameTimeAreLimited: uploads of a user that run are counted, not those of others.
func TestUploadsAtTheSameTimeAreLimited(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann, bob := w.Verified("Ann"), w.Verified("Bob")
		p := must[warranty.Principal](t)(w.Service.Authenticate(t.Context(), ann.Session, false))
		parts := servertest.DocumentForm(w.Warranty(ann.Session, nil).ID, "a.pdf", pdf)
		var all []func()
		for {
			done, err := w.Service.BeginUpload(p)
			if err != nil {
				break
			}
			all = append(all, done)
		}
		equal(t, "running uploads", len(all), 16)
		want(t, "another one", w.Do(uploading(ann.Session, parts...)), 429, warranty.RateLimited)
		w.Upload(bob.Session, servertest.DocumentForm(w.Warranty(bob.Session, nil).ID, "a.pdf", pdf)...)
		all[0]()
		w.Upload(ann.Session, parts...)
		w.Upload(ann.Session, parts...)
	})
}
