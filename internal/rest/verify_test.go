package rest_test

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

// verifications are the two ways to verify: public, and with a credential.
func verifications(w *world, owner servertest.Person) map[string]func(reference, query string) answer {
	return map[string]func(string, string) answer{
		"public": func(reference, query string) answer {
			return w.Get("/verify/"+url.PathEscape(reference)+query, "")
		},
		"api": func(reference, query string) answer {
			return w.Get("/api/v1/verify/"+url.PathEscape(reference)+query, owner.Session)
		},
	}
}

// TestVerifyShows checks that verification returns public fields only.
func TestVerifyShows(t *testing.T) {
	eachStopped(t, func(t *testing.T, w *world, clock *stoppedClock) {
		clock.SetTo(t, "2030-06-01T12:00:00Z")
		owner, stranger := w.Person("Olga"), w.Person("Zoe")
		record := w.Warranty(owner.Session, fields{"product_name": "Drill", "category": "Tools",
			"serial_number": "WGG-244A20-0017", "description": "secret terms", "supplier": "ACME",
			"seller_name": "The Shop", "seller_email": "shop@example.com", "start_date": "2030-01-01", "end_date": "2030-12-31"})
		for _, asker := range []servertest.Person{owner, stranger} {
			for door, verify := range verifications(w, asker) {
				a := verify(record.ReferenceNumber, "")
				var got map[string]any
				a.Into(t, &got)
				equal(t, door, got, map[string]any{"reference_number": record.ReferenceNumber, "product_name": "Drill",
					"category": "Tools", "status": "active",
					"start_date": "2030-01-01", "end_date": "2030-12-31", "serial_number": "••••0017", "serial_matches": nil,
					"registered": true, "assurance": "unverified",
					"statement": "Recorded by its owner. No seller or manufacturer has confirmed it.", "issuer": nil, "seller": nil, "checked_at": "2030-06-01T12:00:00Z"})
				for _, private := range []string{record.ID, owner.ID, owner.Email, "secret terms", "ACME", "The Shop",
					"shop@example.com", "WGG"} {
					if strings.Contains(a.Body, private) {
						t.Errorf("%s: the response contains %s", door, private)
					}
				}
				var envelope map[string]json.RawMessage
				if err := json.Unmarshal([]byte(a.Body), &envelope); err != nil {
					t.Fatal(err)
				}
				equal(t, door+": the envelope", slices.Collect(maps.Keys(envelope)), []string{"data"})
				equal(t, door+": Cache-Control", a.Header.Get("Cache-Control"), "no-store")
				if door == "public" {
					equal(t, "X-Robots-Tag", a.Header.Get("X-Robots-Tag"), "noindex")
				}
			}
		}
		for serial, masked := range map[string]any{"1234567": "••••", "12345678": "••••5678", "": nil,
			"ÄÖÜ-äöü-x": "••••öü-x"} {
			short := w.Warranty(owner.Session, fields{"serial_number": serial})
			for door, verify := range verifications(w, owner) {
				var got map[string]any
				verify(short.ReferenceNumber, "").Into(t, &got)
				equal(t, door+" shows the serial number "+serial, got["serial_number"], masked)
			}
		}
		for status, shown := range map[string]string{"void": "void", "cancelled": "cancelled"} {
			other := w.Warranty(owner.Session, nil)
			w.Must(200, made("PUT", "/api/v1/warranties/"+other.ID, owner.Session, fields{"status": status}))
			for door, verify := range verifications(w, owner) {
				var got map[string]any
				verify(other.ReferenceNumber, "").Into(t, &got)
				equal(t, door+": status", got["status"], shown)
			}
		}
	})
}

// TestVerifyForgivesTyping verifies references with common typing variations.
func TestVerifyForgivesTyping(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		owner := w.Person("Olga")
		// The reference needs a 0 and a 1, which are mistaken for letters.
		var reference string
		for tries := 0; !strings.Contains(reference, "0") || !strings.Contains(reference, "1"); tries++ {
			reference = w.Warranty(owner.Session, nil).ReferenceNumber
			if tries == 60 {
				t.Fatal("no reference has a 0 and a 1")
			}
		}
		bare := strings.TrimPrefix(reference, "WR-")
		for door, verify := range verifications(w, owner) {
			for _, typed := range []string{
				reference, strings.ToLower(reference), strings.ReplaceAll(reference, "-", ""),
				strings.ReplaceAll(reference, "-", " "), bare, "  " + bare + " ",
				"WR-" + strings.ReplaceAll(bare, "0", "O"), "WR-" + strings.ReplaceAll(bare, "0", "o"),
				"WR-" + strings.ReplaceAll(bare, "1", "I"), "WR-" + strings.ReplaceAll(bare, "1", "l"),
				strings.ReplaceAll(reference, "-", "–"),
			} {
				var got map[string]any
				a := verify(typed, "")
				want(t, door+": "+typed, a, 200, "")
				a.Into(t, &got)
				equal(t, door+": "+typed, got["reference_number"], reference)
			}
		}
	})
}

// TestVerifyTellsNotWhy compares the responses for unknown, mistyped, deleted and malformed references.
func TestVerifyTellsNotWhy(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		owner := w.Person("Olga")
		deleted := w.Warranty(owner.Session, fields{"serial_number": "12345678"})
		w.Must(204, made("DELETE", "/api/v1/warranties/"+deleted.ID, owner.Session, nil))
		live := w.Warranty(owner.Session, nil).ReferenceNumber
		mistyped := live[:len(live)-1] + map[bool]string{true: "1", false: "0"}[strings.HasSuffix(live, "0")]
		for door, verify := range verifications(w, owner) {
			unknown := verify("WR-0000-0000-0000-0000", "")
			refused(t, door, unknown, warranty.NotFound)
			for _, reference := range []string{deleted.ReferenceNumber, mistyped, "CL" + live[2:], "WR-", "nonsense", "%",
				"' OR 1=1", strings.Repeat("0", 300), "\x00"} {
				for _, query := range []string{"", "?serial=12345678"} {
					equal(t, door+": "+reference+query, anonymised(t, verify(reference, query)), anonymised(t, unknown))
				}
			}
			refused(t, "a mistyped one is not sent on", verify(live+"/", ""), warranty.NotFound)
		}
	})
}

// TestVerifyComparesSerials checks that the response says only whether the serial number matches.
func TestVerifyComparesSerials(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		owner := w.Person("Olga")
		with, without := w.Warranty(owner.Session, fields{"serial_number": "WGG-244A20"}), w.Warranty(owner.Session, nil)
		for door, verify := range verifications(w, owner) {
			for serial, matches := range map[string]bool{"WGG-244A20": true, "wgg244a20": true, "WGG 244 A20": true,
				"WGG-244A2": false, "%": false, "4A20": false} {
				var got struct {
					SerialMatches *bool `json:"serial_matches"`
				}
				verify(with.ReferenceNumber, "?serial="+url.QueryEscape(serial)).Into(t, &got)
				equal(t, door+": "+serial, got.SerialMatches, &matches)
				verify(without.ReferenceNumber, "?serial="+url.QueryEscape(serial)).Into(t, &got)
				no := false
				equal(t, door+": "+serial+" of a record without", got.SerialMatches, &no)
			}
			a := verify(with.ReferenceNumber, "?serial="+strings.Repeat("x", 121))
			refused(t, door+": too long", a, warranty.ValidationFailed)
			equal(t, door+": too long", wrongFields(t, a), []string{"serial too_long"})
		}
	})
}

// TestPublicPagesIgnoreCredentials checks that pages outside /api/ ignore credentials and set no cookies.
func TestPublicPagesIgnoreCredentials(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		owner := w.Person("Olga")
		reference := w.Warranty(owner.Session, nil).ReferenceNumber
		with, without := w.Get("/verify/"+reference, owner.Session), w.Get("/verify/"+reference, "")
		var a, b map[string]any
		with.Into(t, &a)
		without.Into(t, &b)
		delete(a, "checked_at")
		delete(b, "checked_at")
		equal(t, "with a credential", a, b)
		equal(t, "a bad one is not looked at", w.Get("/verify/"+reference, "nonsense").Status, 200)
	})
}
