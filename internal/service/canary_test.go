package service_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"warranty.example/svc/api"
)

// overheard is a RoundTripper that records every response and its request.
type overheard struct {
	base    http.RoundTripper
	mu      sync.Mutex
	answers []spoken
}

type spoken struct{ secret, line, text string }

func (o *overheard) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := o.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	var text strings.Builder
	if err := resp.Header.Write(&text); err != nil {
		return nil, err
	}
	text.Write(body)
	o.mu.Lock()
	defer o.mu.Unlock()
	secret := r.Header.Get("X-Api-Key") + strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	o.answers = append(o.answers, spoken{secret, fmt.Sprintf("%s %s: %d", r.Method, r.URL.Path, resp.StatusCode), text.String()})
	return resp, nil
}

// TestPeopleNeverLearnWhereFilesAre takes the file names and other internal values
// from the database, and searches for them in the log and in the responses of every
// operation to every role, successful or not.
func TestPeopleNeverLearnWhereFilesAre(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ears := &overheard{base: w.Client.Transport}
		w.Client.Transport = ears
		s := w.scenes()(cast{creator: another, seller: third, owner: me})
		stranger := w.Person("Zoe")
		claim := s.claimAt("under_review")
		kept := s.Upload(s.who(me), append(document(s.record.ID, "kept.pdf", pdf), field("claim_id", claim))...)
		gone := s.Upload(s.who(third), document(s.record.ID, "gone.txt", text)...)
		secrets := w.Rows(`SELECT storage_key FROM documents`)
		w.Must(204, made("DELETE", "/api/documents/"+gone.ID, s.who(third), nil))
		key, token := w.Token(s.people[me])
		w.offer(s.record.ID, s.people[me], "new@people.example")

		// Every operation with every role on every record; most are refused. Operations
		// that end sessions are left out, and deletions come last.
		everybody := []string{s.who(me), s.who(another), s.who(third), stranger.Session, key, ""}
		things := []string{s.record.ID, claim, kept.ID, gone.ID, token, unknownID, s.record.ReferenceNumber}
		tried := 0
		for _, last := range []bool{false, true} {
			for _, op := range api.Operations() {
				if (op.Method == http.MethodDelete) != last || op.Name == "auth.sign_out" || op.Name == "auth.register" {
					continue
				}
				paths := []string{op.Route()}
				if open, _, found := strings.Cut(op.Route(), "{"); found {
					_, rest, _ := strings.Cut(op.Route(), "}")
					paths = nil
					for _, thing := range things {
						paths = append(paths, open+thing+rest)
					}
				}
				for _, secret := range everybody {
					for _, path := range paths {
						r := made(op.Method, path, secret, nil)
						if op.HasBody() {
							r.Body = fields{}
						}
						w.Do(r)
						tried++
					}
				}
			}
			if last {
				break
			}
			for _, secret := range everybody {
				for _, thing := range things {
					w.Get("/api/documents/"+thing+"/file", secret)
				}
				w.Do(uploading(secret, document(unknownID, "a.pdf", pdf)...))
				w.Do(uploading(secret, document(s.record.ID, "../a.pdf", pdf)...))
			}
			// The disk fails.
			for _, folder := range []string{"arriving", "complete"} {
				if err := os.Rename(filepath.Join(w.Folder, folder), w.Folder+" away"); err != nil {
					t.Fatal(err)
				}
				w.Do(uploading(s.who(me), document(s.record.ID, "a.pdf", pdf)...))
				w.Get("/api/documents/"+kept.ID+"/file", s.who(me))
				if err := os.Rename(w.Folder+" away", filepath.Join(w.Folder, folder)); err != nil {
					t.Fatal(err)
				}
			}
			secrets = append(secrets, w.Rows(`SELECT storage_key FROM documents`)...)
		}

		secrets = append(secrets, w.Folder, filepath.Dir(w.Folder), "storage_key", "complete/", "arriving/")
		secrets = append(secrets, w.Rows(`SELECT password_hash FROM users`)...)
		for _, secret := range secrets {
			if len(secret) < 8 {
				t.Fatalf("%q is too short to search for", secret)
			}
			for _, a := range ears.answers {
				if strings.Contains(a.text, secret) {
					t.Errorf("%s contains %q:\n%.600s", a.line, secret, a.text)
				}
			}
			if strings.Contains(w.Log.String(), secret) {
				t.Errorf("the log contains %q", secret)
			}
		}
		// Sellers and strangers do not see the email addresses of others, except that of a customer whose claim they decide.
		for _, a := range ears.answers {
			for _, p := range []string{me, another} {
				if strings.Contains(a.line, "/claims") && strings.HasSuffix(a.line, ": 200") && a.secret == s.who(third) {
					continue
				}
				if (a.secret == s.who(third) || a.secret == stranger.Session) && strings.Contains(a.text, s.people[p].Email) {
					t.Errorf("%s reveals the address of another person:\n%.600s", a.line, a.text)
				}
			}
		}
		if tried < 300 || len(ears.answers) < tried {
			t.Errorf("only %d requests were sent and %d responses recorded", tried, len(ears.answers))
		}
	}, busy)
}
