package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"warranty.example/svc/e2e/lab"
	"warranty.example/svc/internal/testenv"
)

// formAround returns the parts of an upload before and after the file.
func formAround(warranty, name string) (before, after string) {
	const boundary = "boundary"
	for _, field := range [][2]string{{"warranty_id", warranty}, {"type", "receipt"}} {
		before += "--" + boundary + "\r\nContent-Disposition: form-data; name=\"" + field[0] + "\"\r\n\r\n" + field[1] + "\r\n"
	}
	return before + "--" + boundary + "\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" + name + "\"\r\n\r\n", "\r\n--" + boundary + "--\r\n"
}

// upload streams a file of this size with the content of its seed.
func upload(p *lab.Process, session, warranty string, seed uint64, size int64) (lab.Answer, error) {
	before, after := formAround(warranty, fmt.Sprintf("%d.pdf", seed))
	req, err := http.NewRequest("POST", p.URL+"/api/documents", io.MultiReader(strings.NewReader(before), content(seed, size), strings.NewReader(after)))
	if err != nil {
		return lab.Answer{}, err
	}
	req.ContentLength = int64(len(before)+len(after)) + size
	req.Header.Set("Content-Type", "multipart/form-data; boundary=boundary")
	req.Header.Set("Authorization", "Bearer "+session)
	resp, err := p.Client.Do(req)
	if err != nil {
		return lab.Answer{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return lab.Answer{Status: resp.StatusCode, Header: resp.Header, Body: string(text)}, err
}

// content returns pseudorandom data with the header of a PDF.
func content(seed uint64, size int64) io.Reader {
	var key [32]byte
	copy(key[:], strconv.FormatUint(seed, 10))
	return io.LimitReader(io.MultiReader(strings.NewReader("%PDF-1.7\n"), rand.NewChaCha8(key)), size)
}

func sumOf(r io.Reader) (string, error) {
	hash := sha256.New()
	_, err := io.Copy(hash, r)
	return hex.EncodeToString(hash.Sum(nil)), err
}

// documents returns the checksums of all documents of a person, by id.
func documents(t *testing.T, p *lab.Process, session string) map[string]string {
	t.Helper()
	sums := map[string]string{}
	for page := 1; page <= 1000; page++ {
		a := p.Want(t, 200, lab.Call{Method: "GET", Path: fmt.Sprintf("/api/v1/documents?limit=100&page=%d", page), Secret: session})
		var list struct{ Data []struct{ ID, SHA256 string } }
		if err := json.Unmarshal([]byte(a.Body), &list); err != nil {
			t.Fatal(err)
		}
		for _, d := range list.Data {
			sums[d.ID] = d.SHA256
		}
		if len(list.Data) < 100 {
			return sums
		}
	}
	t.Fatal("the list does not end")
	return nil
}

// filesIn counts the files in one of the two folders of a data folder.
func filesIn(t *testing.T, dir, folder string) int {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, "data", "files", folder))
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// TestPeopleFilesSurviveKills uploads and deletes documents while the server is killed
// repeatedly. After each restart every record has its file, and no acknowledged upload
// is missing. Orphaned files go to the trash after a day
// (TestOrphanedFilesGoThroughTheTrash).
func TestPeopleFilesSurviveKills(t *testing.T) {
	t.Parallel()
	const rounds, uploaders = 8, 4
	dir := t.TempDir()
	p := lab.StartIn(t, dir, lab.Unthrottled...)
	session := p.Register(t, "olga")
	record := p.Want(t, 201, lab.Create(session, "Kettle", "")).Must(t, "data.id")
	var mu sync.Mutex
	var seed atomic.Uint64
	acknowledged, removed, attempted := map[string]string{}, map[string]bool{}, map[string]bool{} // by id
	for round := range rounds {
		var running sync.WaitGroup
		enough := len(acknowledged) + 5 + rand.IntN(20)
		for i := range uploaders {
			running.Go(func() {
				for n := 0; ; n++ {
					seed := seed.Add(1)
					size := int64(20_000 + 150_000*(seed%5))
					a, err := upload(p, session, record, seed, size)
					if err != nil {
						return // the server was killed
					}
					var d struct{ Data struct{ ID, SHA256 string } }
					if err := json.Unmarshal([]byte(a.Body), &d); err != nil || a.Status != http.StatusCreated {
						t.Errorf("upload: %d %s", a.Status, a.Body)
						return
					}
					mu.Lock()
					acknowledged[d.Data.ID] = d.Data.SHA256
					mu.Unlock()
					if want, _ := sumOf(content(seed, size)); d.Data.SHA256 != want {
						t.Errorf("the checksum of file %d is %s, want %s", seed, d.Data.SHA256, want)
					}
					if (n+i)%3 != 0 {
						continue
					}
					mu.Lock()
					attempted[d.Data.ID] = true
					mu.Unlock()
					a, err = p.Try(lab.Call{Method: "DELETE", Path: "/api/documents/" + d.Data.ID, Secret: session})
					if err != nil {
						return
					}
					if a.Status != http.StatusNoContent {
						t.Errorf("delete: %d %s", a.Status, a.Body)
					}
					mu.Lock()
					removed[d.Data.ID] = true
					mu.Unlock()
				}
			})
		}
		testenv.Wait(t, "uploads before a kill", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(acknowledged) >= enough || t.Failed()
		})
		p.Kill()
		running.Wait()
		p = lab.StartIn(t, dir, lab.Unthrottled...)
		have := documents(t, p, session)
		if n := filesIn(t, dir, "complete"); n < len(have) {
			t.Errorf("round %d: %d files for %d records", round, n, len(have))
		}
		for id, sum := range acknowledged {
			if have[id] == "" && !attempted[id] || have[id] != "" && (removed[id] || have[id] != sum) {
				t.Errorf("round %d: document %s was acknowledged, removal %t: have %q", round, id, removed[id], have[id])
			}
		}
	}
	have := documents(t, p, session)
	for id, sum := range have {
		a := p.Want(t, 200, lab.Call{Method: "GET", Path: "/api/documents/" + id + "/file", Secret: session})
		if got, _ := sumOf(strings.NewReader(a.Body)); got != sum {
			t.Errorf("the file of %s has the checksum %s, its record %s", id, got, sum)
		}
	}
	t.Logf("%d kills: %d uploads and %d removals acknowledged, %d documents at the end", rounds, len(acknowledged), len(removed), len(have))
	if len(acknowledged) < 5*rounds {
		t.Errorf("too few uploads to test anything: %d", len(acknowledged))
	}
}
