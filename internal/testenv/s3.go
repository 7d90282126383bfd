package testenv

import (
	"crypto/rand"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// S3 returns the URL of a prefix that no other test uses, in a bucket of an S3 server.
func S3(t testing.TB) string {
	t.Helper()
	u, err := url.Parse(require(t, "SVC_TEST_S3", "S3 server"))
	if err != nil {
		t.Fatal("SVC_TEST_S3 is not a URL") // err would contain the keys
	}
	u.Path = "/" + strings.ToLower(rand.Text())
	return u.String()
}

// S3Server is an S3 server of a test, which can be killed.
type S3Server struct {
	Address string
	Folder  string // has the buckets in the subfolder buckets

	program string
	keys    *url.Userinfo
	running *exec.Cmd
}

const s3Bucket = "documents"

// NewS3Server starts an S3 server with a folder of its own. Folder may be empty.
func NewS3Server(t testing.TB, folder string) *S3Server {
	t.Helper()
	if folder == "" {
		folder = t.TempDir()
	}
	s := &S3Server{
		Address: FreeAddress(t),
		Folder:  folder,
		program: require(t, "SVC_TEST_S3_SERVER", "S3 server"),
		keys:    url.UserPassword("test", rand.Text()),
	}
	if err := os.MkdirAll(filepath.Join(folder, "buckets", s3Bucket), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	s.Start(t)
	return s
}

// URL returns the URL of a prefix, with the server at another address if it is not empty.
func (s *S3Server) URL(prefix, address string) string {
	if address == "" {
		address = s.Address
	}
	query := url.Values{"endpoint": {"http://" + address}}
	return (&url.URL{Scheme: "s3", User: s.keys, Host: s3Bucket, Path: "/" + prefix, RawQuery: query.Encode()}).String()
}

// Start starts the server and waits until it accepts connections.
func (s *S3Server) Start(t testing.TB) {
	t.Helper()
	secret, _ := s.keys.Password()
	s.running = exec.Command(s.program, s.Address, s.Folder)
	s.running.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+s.keys.Username(), "ROOT_SECRET_KEY="+secret)
	var log strings.Builder
	s.running.Stderr = &log
	out, err := s.running.StdoutPipe()
	if err == nil {
		err = s.running.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fscanln(out, new(string)); err != nil && !strings.Contains(err.Error(), "newline") {
		t.Fatalf("the S3 server did not start: %v: %s", err, log.String())
	}
}

// Kill kills the server.
func (s *S3Server) Kill() {
	if s.running != nil {
		_ = s.running.Process.Kill()
		_ = s.running.Wait()
		s.running = nil
	}
}
