package service_test

import (
	"bytes"
	"image"
	jpegs "image/jpeg"
	pngs "image/png"
	"strings"
	"testing"

	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/warranty"
)

// photo returns a PNG of a size.
func photo(t testing.TB, width, height int) string {
	t.Helper()
	var b bytes.Buffer
	if err := pngs.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestThumbnails makes small pictures once, for those who see the document, from files in a folder and in S3.
func TestThumbnails(t *testing.T) {
	eachStore(t, func(t *testing.T, w *world) {
		olga, otto := w.Verified("Olga"), w.Verified("Otto")
		record := w.Warranty(olga.Session, nil).ID
		upload := func(name, content string) string {
			return w.Upload(olga.Session, document(record, name, content)...).ID
		}
		shown, damaged, paper := upload("a.png", photo(t, 600, 300)), upload("b.png", png), upload("c.pdf", pdf)
		b, other := w.SignedIn(t, olga), w.SignedIn(t, otto)
		small := b.Get("/documents/" + shown + "/thumbnail")
		m, err := jpegs.Decode(strings.NewReader(small.Body))
		if err != nil || m.Bounds() != image.Rect(0, 0, 240, 120) {
			t.Fatalf("the small picture: %d, %v", small.Status, err)
		}
		equal(t, "its type", small.Header.Get("Content-Type"), "image/jpeg")
		for _, id := range []string{damaged, paper} {
			if p := b.Get("/documents/" + id + "/thumbnail"); p.Status != 303 || !strings.HasSuffix(p.Location, "/file.svg") {
				t.Errorf("no picture: %d, %s", p.Status, p.Location)
			}
		}
		equal(t, "to someone else", other.Get("/documents/"+shown+"/thumbnail").Status, 404)
		equal(t, "kept", w.Count(`SELECT count(*) FROM thumbnails`), 2) // of the damaged image too
		equal(t, "pictures count as storage", w.Count(`SELECT count(*) FROM documents`), 3)

		equal(t, "the same again", b.Get("/documents/"+shown+"/thumbnail").Body, small.Body)
		w.Must(204, made("DELETE", "/api/documents/"+shown, olga.Session, nil))
		if err := w.Store.Sweep(t.Context(), w.Clock.Now()); err != nil {
			t.Fatal(err)
		}
		equal(t, "after the document was deleted", w.Count(`SELECT count(*) FROM thumbnails`), 1)
	})
}

// TestSmallPicturesAreMadeOneAtATime asks for a picture that many wait for: it is made once.
func TestSmallPicturesAreMadeOneAtATime(t *testing.T) {
	w := newWorld(t, servertest.SQLite(t))
	olga := w.person("Olga", true)
	stored, err := w.Service.StoreFile(t.Context(), strings.NewReader(photo(t, 1000, 1000)))
	if err != nil {
		t.Fatal(err)
	}
	d, err := w.Service.UploadDocument(t.Context(), olga.Principal, stored, warranty.UploadDocument{
		WarrantyID: warranty.WarrantyKey{ID: w.record(olga, "").ID}, Type: warranty.Photo, FileName: "a.png"})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan []byte)
	for range 8 {
		go func() {
			small, err := w.Service.Thumbnail(t.Context(), olga.Principal, warranty.GetDocument{ID: d.ID})
			if err != nil {
				t.Error(err)
			}
			done <- small
		}()
	}
	first := <-done
	for range 7 {
		if !bytes.Equal(<-done, first) {
			t.Error("two pictures differ")
		}
	}
	equal(t, "kept", w.Count(`SELECT count(*) FROM thumbnails`), 1)
	if service.HasThumbnail("text/plain") || service.HasThumbnail("image/svg+xml") {
		t.Error("other files have small pictures")
	}
}
