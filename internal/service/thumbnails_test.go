package service_test

import (
	"bytes"
	"context"
	"errors"
	"image"
	jpegs "image/jpeg"
	pngs "image/png"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"warranty.example/svc/internal/picture"
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
	d := w.pictureOf(olga, "a.png", photo(t, 1000, 1000))
	done := make(chan []byte)
	for range 8 {
		go func() {
			small, err := w.Service.Thumbnail(t.Context(), olga.Principal, warranty.GetDocument{ID: d})
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

// TestAnInterruptedPictureIsTriedAFewTimes: an attempt is counted before the file is decoded, so that a file that ends
// the process or outlasts every request is not decoded forever. A good picture is made later.
func TestAnInterruptedPictureIsTriedAFewTimes(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		olga := w.person("Olga", true)
		d := w.pictureOf(olga, "a.png", photo(t, 600, 300))
		decoded, interrupted := 0, true
		w.Service.DecodeWith(func(ctx context.Context, content []byte, mediaType string) ([]byte, error) {
			decoded++
			equal(t, "attempts that are counted while it is decoded", w.Count(`SELECT tries FROM thumbnails`), min(decoded, 4))
			if interrupted {
				return nil, context.Canceled
			}
			return picture.Small(ctx, content, mediaType)
		})
		show := func() ([]byte, error) {
			return w.Service.Thumbnail(t.Context(), olga.Principal, warranty.GetDocument{ID: d})
		}
		for range 3 {
			if small, err := show(); !errors.Is(err, context.Canceled) || len(small) > 0 {
				t.Errorf("interrupted: %d bytes, %v", len(small), err)
			}
		}
		for range 5 {
			if small, err := show(); err != nil || len(small) > 0 {
				t.Errorf("after three interruptions: %d bytes, %v", len(small), err)
			}
		}
		equal(t, "attempts on a day", decoded, 3)
		interrupted = false
		w.Clock.Advance(25 * time.Hour)
		first, err := show()
		if err != nil || len(first) == 0 {
			t.Fatalf("the next day: %d bytes, %v", len(first), err)
		}
		if again, err := show(); err != nil || !bytes.Equal(again, first) {
			t.Errorf("again: %d bytes, %v", len(again), err)
		}
		equal(t, "attempts", decoded, 4)
	})
}

// TestARequestThatEndsDoesNotLoseThePicture: it is made nevertheless, and a file that takes too long is decoded once.
func TestARequestThatEndsDoesNotLoseThePicture(t *testing.T) {
	w := newWorld(t, servertest.SQLite(t))
	olga := w.person("Olga", true)
	d := w.pictureOf(olga, "a.png", photo(t, 600, 300))
	ending, end := context.WithCancel(t.Context())
	decoded := 0
	w.Service.DecodeWith(func(ctx context.Context, content []byte, mediaType string) ([]byte, error) {
		end()
		decoded++
		return picture.Small(ctx, content, mediaType)
	})
	for _, ctx := range []context.Context{ending, t.Context()} {
		small, err := w.Service.Thumbnail(ctx, olga.Principal, warranty.GetDocument{ID: d})
		if err != nil || len(small) == 0 {
			t.Errorf("%d bytes, %v", len(small), err)
		}
	}
	equal(t, "decoded", decoded, 1)
	d, decoded = w.pictureOf(olga, "b.png", photo(t, 300, 600)), 0
	w.Service.DecodeWith(func(context.Context, []byte, string) ([]byte, error) {
		decoded++
		return nil, context.DeadlineExceeded
	})
	for range 3 {
		small, err := w.Service.Thumbnail(t.Context(), olga.Principal, warranty.GetDocument{ID: d})
		if err != nil || len(small) > 0 {
			t.Errorf("too slow: %d bytes, %v", len(small), err)
		}
	}
	equal(t, "decoded slowly", decoded, 1)
}

// TestADamagedPictureIsDecodedOnce: that a file has no picture is kept.
func TestADamagedPictureIsDecodedOnce(t *testing.T) {
	w := newWorld(t, servertest.SQLite(t))
	olga := w.person("Olga", true)
	d, decoded := w.pictureOf(olga, "a.png", png), 0
	w.Service.DecodeWith(func(ctx context.Context, content []byte, mediaType string) ([]byte, error) {
		decoded++
		return picture.Small(ctx, content, mediaType)
	})
	for range 5 {
		small, err := w.Service.Thumbnail(t.Context(), olga.Principal, warranty.GetDocument{ID: d})
		if err != nil || len(small) > 0 {
			t.Errorf("%d bytes, %v", len(small), err)
		}
	}
	equal(t, "decoded", decoded, 1)
}

// pictureOf adds an image to a new record of a person.
func (w *world) pictureOf(who person, name, content string) warranty.ID {
	w.T.Helper()
	stored, err := w.Service.StoreFile(ctx, strings.NewReader(content))
	if err != nil {
		w.T.Fatal(err)
	}
	d, err := w.Service.UploadDocument(ctx, who.Principal, stored, warranty.UploadDocument{
		WarrantyID: warranty.WarrantyKey{ID: w.record(who, "").ID}, Type: warranty.Photo, FileName: name})
	if err != nil {
		w.T.Fatal(err)
	}
	return d.ID
}

// TestTheFilesOfOneAccountDoNotHoldUpOthers: while one account waits for many pictures, another one is next.
func TestTheFilesOfOneAccountDoNotHoldUpOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		olga, otto := warranty.ID{1}, warranty.ID{2}
		wait := service.NewPictureSlots()
		done, err := wait(t.Context(), olga)
		if err != nil {
			t.Fatal(err)
		}
		turns := make(chan warranty.ID, 7)
		enter := func(account warranty.ID) {
			done, err := wait(t.Context(), account)
			if err != nil {
				t.Error(err)
				return
			}
			turns <- account
			done()
		}
		for range 5 {
			go enter(olga)
		}
		synctest.Wait()
		go enter(otto)
		gone, cancel := context.WithCancel(t.Context())
		go func() {
			if _, err := wait(gone, otto); !errors.Is(err, context.Canceled) {
				t.Errorf("a request that ended: %v", err)
			}
		}()
		synctest.Wait()
		cancel()
		synctest.Wait()
		equal(t, "pictures at once", len(turns), 0)
		done()
		synctest.Wait()
		equal(t, "pictures", len(turns), 6)
		equal(t, "the next one", <-turns, otto)
	})
}
