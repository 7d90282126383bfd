package files

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/minio/minio-go/v7"

	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// impatient limits are for servers that never answer.
var impatient = s3Limits{
	request:  100 * time.Millisecond,
	transfer: 100 * time.Millisecond,
	stall:    100 * time.Millisecond,
	cleanup:  100 * time.Millisecond,
	wait:     100 * time.Millisecond,
	slots:    1,
}

// behind returns a bucket on a server of its own, through a proxy.
func behind(t *testing.T) (*Bucket, *testenv.S3Server, *testenv.Proxy) {
	t.Helper()
	server := testenv.NewS3Server(t, "")
	proxy, address := testenv.NewProxy(t, "http://"+server.Address)
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return bucket(t, server.URL("a/b", u.Host), defaultLimits), server, proxy
}

// isOutage reports whether an error is that of a server that fails, with a reason that
// names neither the server's secret nor a key.
func isOutage(err error, key string) bool {
	var remote RemoteError
	return errors.As(err, &remote) && !remote.Setting && !strings.Contains(err.Error(), key) &&
		!strings.Contains(err.Error(), "\n")
}

// TestSettingsThatOnlyAnOperatorCanFix are reported at startup, in one line without keys.
func TestSettingsThatOnlyAnOperatorCanFix(t *testing.T) {
	base, err := url.Parse(testenv.S3(t))
	if err != nil {
		t.Fatal(err)
	}
	secret, _ := base.User.Password()
	with := func(change func(u *url.URL)) string {
		u := *base
		change(&u)
		return u.String()
	}
	for name, c := range map[string]struct{ url, want string }{
		"unknown key":    {with(func(u *url.URL) { u.User = url.UserPassword("hunter2", "hunter2") }), "does not know the access key"},
		"wrong secret":   {with(func(u *url.URL) { u.User = url.UserPassword(u.User.Username(), "hunter2") }), "rejects the secret key"},
		"missing bucket": {with(func(u *url.URL) { u.Host = "nowhere" }), "the bucket does not exist"},
		"wrong region":   {with(func(u *url.URL) { u.RawQuery += "&region=eu-nowhere-1" }), "rejects the region"},
	} {
		t.Run(name, func(t *testing.T) {
			where, err := ParseS3(c.url)
			if err != nil {
				t.Fatal(err)
			}
			b, err := where.Connect()
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			err = b.Probe(t.Context())
			var remote RemoteError
			if !errors.As(err, &remote) || !remote.Setting || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			for _, word := range []string{"hunter2", secret, "\n"} {
				if strings.Contains(fmt.Sprint(err), word) {
					t.Errorf("%q is in %v", word, err)
				}
			}
		})
	}
	skewed := remoteError(minio.ErrorResponse{Code: minio.RequestTimeTooSkewed, StatusCode: 403})
	if !strings.Contains(skewed.Error(), "set the clock") {
		t.Error(skewed)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	where, err := ParseS3(with(func(u *url.URL) { u.User = nil }))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := where.Connect(); err == nil || !strings.Contains(err.Error(), "AWS_ACCESS_KEY_ID") {
		t.Errorf("without keys: %v", err)
	}
}

// TestKeysFromTheEnvironmentAndTheRole work like keys in the URL. The role's are requested
// from an address that containers get from their platform.
func TestKeysFromTheEnvironmentAndTheRole(t *testing.T) {
	base, err := url.Parse(testenv.S3(t))
	if err != nil {
		t.Fatal(err)
	}
	access := base.User.Username()
	secret, _ := base.User.Password()
	base.User = nil
	platform := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]string{
			"Code": "Success", "AccessKeyId": access, "SecretAccessKey": secret,
			"Expiration": time.Now().Add(time.Hour).Format(time.RFC3339),
		})
	}))
	defer platform.Close()
	t.Run("environment", func(t *testing.T) {
		t.Setenv("AWS_ACCESS_KEY_ID", access)
		t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
		bucket(t, base.String(), defaultLimits)
	})
	t.Run("role", func(t *testing.T) {
		t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", platform.URL)
		base.RawQuery += "&credentials=iam"
		bucket(t, base.String(), defaultLimits)
	})
}

// TestBucketGoesToOneDatabase: of databases that bind one prefix at the same time, one
// succeeds, and the others do not overwrite its id.
func TestBucketGoesToOneDatabase(t *testing.T) {
	t.Parallel()
	where := testenv.S3(t)
	buckets, bound := []*Bucket{}, make(chan ID, 8)
	for range 8 {
		b := bucket(t, where, defaultLimits)
		if _, err := b.ID(t.Context()); !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		buckets = append(buckets, b)
	}
	testenv.Together(8, func(i int) {
		id := ID{Database: warranty.ID{byte(i)}}
		if buckets[i].SetID(t.Context(), id) == nil {
			bound <- id
		}
	})
	if len(bound) != 1 {
		t.Fatalf("%d databases have bound the bucket", len(bound))
	}
	if got, err := buckets[0].ID(t.Context()); err != nil || got != <-bound {
		t.Errorf("the id is %v, %v", got, err)
	}
	// A server that read the id before another one replaced it does not overwrite it.
	if err := buckets[0].SetID(t.Context(), ID{Database: warranty.ID{100}}); err != nil {
		t.Fatal(err)
	}
	if err := buckets[1].SetID(t.Context(), ID{Database: warranty.ID{101}}); err == nil {
		t.Error("an id was overwritten that had changed since it was read")
	}
}

// TestWhatIsNotOursIsNotListed skips objects that are not named like a key, and rejects
// such keys.
func TestWhatIsNotOursIsNotListed(t *testing.T) {
	t.Parallel()
	b := bucket(t, testenv.S3(t), defaultLimits)
	for _, name := range []string{"complete/README", "complete/" + newKey(t) + "/x", newKey(t), "complete" + newKey(t)} {
		if err := b.putWhole(t.Context(), b.name(name), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Keys(t.Context(), Complete, 10, func(keys []string) error { return fmt.Errorf("%q", keys) }); err != nil {
		t.Error(err)
	}
	for _, key := range []string{"", "..", "../id", "a/b", "README", strings.ToUpper(newKey(t))} {
		_, getting := b.Get(t.Context(), key, "")
		_, looking := b.Has(t.Context(), Complete, key)
		for _, err := range []error{
			getting, looking, b.Put(t.Context(), key, strings.NewReader("x")), b.Delete(t.Context(), key),
			b.Remove(t.Context(), Arriving, key), b.Move(t.Context(), key, Complete, Trash),
		} {
			if err == nil || errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%q is accepted: %v", key, err)
			}
		}
	}
}

// TestLostAnswers loses the answers to requests. The repetition of an upload finds its own
// object, so the upload succeeds.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	b, _, proxy := behind(t)
	for range 5 {
		key, want := newKey(t), content(1000)
		proxy.Arrange(testenv.ResponseLost)
		if err := b.Put(t.Context(), key, bytes.NewReader(want)); err != nil {
			t.Fatal(err)
		}
		file, err := b.Get(t.Context(), key, hexSum(want))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(file); err != nil || !bytes.Equal(got, want) {
			t.Error(err)
		}
		_ = file.Close()
		proxy.Arrange(testenv.ResponseLost)
		if err := b.SetID(t.Context(), ID{Database: warranty.ID{want[0]}, Folder: warranty.ID{want[1]}}); err != nil {
			t.Error(err)
		}
		proxy.Arrange(testenv.ResponseLost)
		if err := b.Delete(t.Context(), key); err != nil {
			t.Error(err)
		}
	}
}

// TestServerKilled kills S3 in the middle of uploads and downloads. Nothing incomplete is
// stored, and the next attempts succeed.
func TestServerKilled(t *testing.T) {
	t.Parallel()
	b, server, proxy := behind(t)
	key, want := newKey(t), content(3*partSize)
	if err := b.Put(t.Context(), key, bytes.NewReader(want)); err != nil {
		t.Fatal(err)
	}
	for _, after := range []int{1000, smallBuffer + 1, partSize + 1, 2*partSize + 1} {
		killed := newKey(t)
		err := b.Put(t.Context(), killed, io.MultiReader(bytes.NewReader(want[:after]), call(server.Kill), bytes.NewReader(want[after:])))
		if !isOutage(err, killed) {
			t.Errorf("killed after %d bytes: %v", after, err)
		}
		if _, err := b.ID(t.Context()); !isOutage(err, idFile) {
			t.Errorf("while it is down: %v", err)
		}
		if _, err := b.Get(t.Context(), killed, ""); !isOutage(err, killed) { // not fs.ErrNotExist
			t.Errorf("while it is down: %v", err)
		}
		server.Start(t)
		if _, err := b.Get(t.Context(), killed, ""); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("after %d bytes a file exists: %v", after, err)
		}
		// The parts that were sent are found by the sweep.
		if has, err := b.Has(t.Context(), Arriving, killed); err != nil || has != (after > partSize) {
			t.Errorf("after %d bytes: arriving %t, %v", after, has, err)
		}
		if err := b.Remove(t.Context(), Arriving, killed); err != nil {
			t.Error(err)
		}
		if has, err := b.Has(t.Context(), Arriving, killed); err != nil || has {
			t.Errorf("the upload was not removed: %v", err)
		}
	}
	file, err := b.Get(t.Context(), key, hexSum(want))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := io.ReadFull(file, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	proxy.Drop() // what it has read may be the rest of the file
	if _, err := io.Copy(io.Discard, file); !isOutage(err, key) {
		t.Errorf("killed during a download: %v", err)
	}
	server.Start(t)
	if _, err := file.Seek(1000, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(file); err != nil || !bytes.Equal(got, want[1000:]) {
		t.Errorf("the rest: %d bytes, %v", len(got), err)
	}
}

// call is an empty reader that calls a function.
type call func()

func (c call) Read([]byte) (int, error) { c(); return 0, io.EOF }

// TestServerThatDoesNotAnswer ends every request after a while, and leaves no goroutine.
func TestServerThatDoesNotAnswer(t *testing.T) {
	patient, _, proxy := behind(t)
	b, err := patient.where.connect(impatient)
	if err != nil {
		t.Fatal(err)
	}
	key, want := newKey(t), content(partSize+1)
	if err := patient.Put(t.Context(), key, bytes.NewReader(want)); err != nil {
		t.Fatal(err)
	}
	file, err := patient.Get(t.Context(), key, hexSum(want))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	file.(*object).bucket = b
	before := runtime.NumGoroutine()
	proxy.Freeze()
	_, reading := io.Copy(io.Discard, file)
	_, asking := b.ID(t.Context())
	_, getting := b.Get(t.Context(), key, "")
	for what, err := range map[string]error{
		"read": reading, "ask for the id": asking, "get": getting,
		"put":            b.Put(t.Context(), newKey(t), bytes.NewReader(want[:1000])),
		"put a part":     b.Put(t.Context(), newKey(t), bytes.NewReader(want)),
		"put, then stop": b.Put(t.Context(), newKey(t), iotest.TimeoutReader(bytes.NewReader(want))),
		"move":           b.Move(t.Context(), key, Complete, Trash),
		"delete":         b.Delete(t.Context(), key),
		"list":           b.Keys(t.Context(), Complete, 10, func([]string) error { return nil }),
		"list uploads":   b.Keys(t.Context(), Arriving, 10, func([]string) error { return nil }),
	} {
		if what == "put, then stop" && errors.Is(err, iotest.ErrTimeout) {
			continue // the reader failed first
		}
		if !isOutage(err, key) {
			t.Errorf("%s: %v", what, err)
		}
	}
	proxy.Release()
	proxy.Drop()
	_ = b.Close()
	_ = patient.Close()
	testenv.Wait(t, "goroutines to end", func() bool { return runtime.NumGoroutine() <= before })
	if has, err := patient.Has(t.Context(), Complete, key); err != nil || !has {
		t.Errorf("afterwards the file is there: %t, %v", has, err)
	}
}

// TestStalledDownload stops a server in the middle of an answer.
func TestStalledDownload(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	stalls := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte("half"))
		_ = http.NewResponseController(w).Flush()
		<-release
	}))
	defer stalls.Close()
	defer close(release)
	client := http.Client{Transport: stallGuard{http.DefaultTransport, 50 * time.Millisecond}}
	answer, err := client.Get(stalls.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if got, err := io.ReadAll(answer.Body); !errors.Is(err, errStalled) || string(got) != "half" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestUploadsHoldBoundedMemory: while as many uploads as there are slots hold their
// buffers, further large ones wait, and small ones do not.
func TestUploadsHoldBoundedMemory(t *testing.T) {
	limits := defaultLimits
	limits.slots, limits.wait = 2, 50*time.Millisecond
	b := bucket(t, testenv.S3(t), limits)
	release, holding := make(chan struct{}), make(chan struct{}, limits.slots)
	done := make(chan error, limits.slots)
	for range limits.slots {
		go func() {
			done <- b.Put(context.Background(), newKey(t), io.MultiReader(bytes.NewReader(content(smallBuffer+1)),
				call(func() { holding <- struct{}{} }), gate(release)))
		}()
	}
	for range limits.slots {
		testenv.Receive(t, "an upload with a buffer", holding)
	}
	if err := b.Put(t.Context(), newKey(t), bytes.NewReader(content(smallBuffer-1))); err != nil {
		t.Errorf("a small file: %v", err)
	}
	if err := b.Put(t.Context(), newKey(t), bytes.NewReader(content(smallBuffer+1))); !errors.Is(err, errBusy) {
		t.Errorf("a large file: %v", err)
	}
	close(release)
	for range limits.slots {
		if err := testenv.Receive(t, "an upload", done); err != nil {
			t.Error(err)
		}
	}
	if err := b.Put(t.Context(), newKey(t), bytes.NewReader(content(smallBuffer+1))); err != nil {
		t.Errorf("a large file, later: %v", err)
	}
}

// TestDamagedFileIsNotDelivered changes a file behind the server: reading it fails before
// its last bytes.
func TestDamagedFileIsNotDelivered(t *testing.T) {
	t.Parallel()
	b, server, _ := behind(t)
	for _, size := range []int{10, partSize + 1} {
		key, want := newKey(t), content(size)
		if err := b.Put(t.Context(), key, bytes.NewReader(want)); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(server.Folder, "buckets", "documents", "a/b/complete", key)
		damaged := bytes.Clone(want)
		damaged[size/2] ^= 1
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := b.Get(t.Context(), key, hexSum(want))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(file); err == nil || !strings.Contains(err.Error(), "damaged") || len(got) >= size {
			t.Errorf("read %d bytes of %d, %v", len(got), size, err)
		}
		_ = file.Close()
	}
}

// TestServerChecksTheContent sends content that is not what the checksum says.
func TestServerChecksTheContent(t *testing.T) {
	t.Parallel()
	b := bucket(t, testenv.S3(t), defaultLimits)
	name, sent, other := b.name("complete", newKey(t)), []byte("sent"), []byte("else")
	_, err := b.core.PutObject(t.Context(), b.where.bucket, name, bytes.NewReader(other), 4, "", hexSum(sent), putOptions(sent))
	if err == nil {
		t.Error("a damaged file was stored")
	}
	if _, err := b.stat(t.Context(), name); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
