package outbound_test

import (
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"warranty.example/svc/internal/outbound"
	"warranty.example/svc/internal/testenv"
)

// The web servers of the tests are at two addresses of this machine: the client is told that the first one is public.
var (
	public  = netip.MustParseAddr("127.0.0.1")
	private = netip.MustParseAddr("127.0.0.2")
)

// TestMain sets a proxy, which the client must not use: it would connect to any address.
func TestMain(m *testing.M) {
	if err := os.Setenv("HTTPS_PROXY", "http://127.0.0.1:1"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

const name = "example.com" // in the certificate of httptest

// site is a web server at both addresses.
type site struct {
	zone   *testenv.Zone
	client *outbound.Client
	port   string
	visits map[netip.Addr]*atomic.Int32 // connections by address
}

func newSite(t *testing.T, handler http.HandlerFunc) *site {
	t.Helper()
	s := &site{zone: testenv.NewZone(t), visits: map[netip.Addr]*atomic.Int32{public: {}, private: {}}}
	roots := x509.NewCertPool()
	s.port = "0"
	for _, at := range []netip.Addr{public, private} {
		server := httptest.NewUnstartedServer(handler)
		_ = server.Listener.Close() // replaced
		var err error
		if server.Listener, err = net.Listen("tcp", net.JoinHostPort(at.String(), s.port)); err != nil {
			t.Skip("no second loopback address: ", err)
		}
		_, s.port, _ = net.SplitHostPort(server.Listener.Addr().String())
		server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				s.visits[at].Add(1)
			}
		}
		server.Config.ErrorLog = nil
		server.StartTLS()
		t.Cleanup(server.Close)
		roots.AddCert(server.Certificate())
	}
	s.zone.SetAddresses(name+".", public)
	s.client = &outbound.Client{
		Allow: func(a netip.Addr) bool { return a == public }, Resolver: s.zone.Resolver(), Roots: roots,
	}
	return s
}

func (s *site) get(t *testing.T) (string, time.Duration, error) {
	t.Helper()
	body, fresh, err := s.client.JSON(t.Context(), "https://"+net.JoinHostPort(name, s.port)+"/client.json")
	return string(body), fresh, err
}

// TestDocument reads documents that are small enough, and no others.
func TestDocument(t *testing.T) {
	var handler atomic.Pointer[http.HandlerFunc]
	var asked atomic.Int32
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) { asked.Add(1); (*handler.Load())(w, r) })
	serve := func(h http.HandlerFunc) { handler.Store(&h) }
	reply := func(status int, size int, headers ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			for i := 0; i < len(headers); i += 2 {
				w.Header().Set(headers[i], headers[i+1])
			}
			w.WriteHeader(status)
			_, _ = w.Write([]byte(strings.Repeat(" ", size)))
		}
	}
	serve(reply(200, outbound.MaxSize))
	if body, fresh, err := s.get(t); err != nil || len(body) != outbound.MaxSize || fresh != 0 {
		t.Errorf("%d bytes, %v, %v", len(body), fresh, err)
	}
	for what, h := range map[string]http.HandlerFunc{
		"one byte too many": reply(200, outbound.MaxSize+1),
		"giant header":      reply(200, 2, "X", strings.Repeat("x", 64<<10)),
		"compressed bomb":   reply(200, outbound.MaxSize+1, "Content-Encoding", "gzip"),
		"redirect":          reply(302, 2, "Location", "https://"+net.JoinHostPort(name, s.port)+"/other"),
		"permanent":         reply(308, 2, "Location", "/other"),
		"not found":         reply(404, 2),
		"no content":        reply(204, 0),
		"partial":           reply(206, 2),
		"a page":            reply(200, 2, "Content-Type", "text/html"),
		"a file of a user":  reply(200, 2, "Content-Type", "text/plain"),
		"endless": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			for range 32 << 20 / (32 << 10) { // what is on the way does not get near 32 MiB
				if _, err := w.Write(make([]byte, 32<<10)); err != nil {
					return
				}
			}
			t.Error("all of an endless document was read")
		},
	} {
		asked.Store(0)
		serve(h)
		if body, _, err := s.get(t); err == nil || body != "" {
			t.Errorf("%s: %d bytes", what, len(body))
		}
		if n := asked.Load(); n != 1 {
			t.Errorf("%s: %d requests", what, n)
		}
	}
	for control, want := range map[string]time.Duration{
		"": 0, "max-age=60": time.Minute, "public, Max-Age=3600, immutable": time.Hour, "max-age=60, no-store": 0, "no-cache": 0,
		"max-age=-1": 0, "max-age=x": 0, "max-age=99999999999999999999": (1<<31 - 1) * time.Second, "s-maxage=9": 0,
	} {
		serve(reply(200, 2, "Cache-Control", control))
		if _, fresh, err := s.get(t); err != nil || fresh != want {
			t.Errorf("%q: %v %v, want %v", control, fresh, err, want)
		}
	}
	serve(reply(200, 2, "Date", "Tue, 17 Nov 2026 10:00:00 GMT", "Expires", "Tue, 17 Nov 2026 11:00:00 GMT"))
	if _, fresh, err := s.get(t); err != nil || fresh != time.Hour {
		t.Errorf("Expires: %v %v", fresh, err)
	}
	asked.Store(0)
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { asked.Add(1); reply(200, 2)(w, r) }))
	t.Cleanup(plain.Close)
	for _, address := range []string{plain.URL, "ftp://" + name, "", "https://", "file:///etc/hosts"} {
		if _, _, err := s.client.JSON(t.Context(), address); err == nil || asked.Load() != 0 {
			t.Errorf("%q is read", address)
		}
	}
}

// TestSlowDocuments gives up, whether the header or the body is slow.
func TestSlowDocuments(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	var asked atomic.Int32
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) == 2 {
			w.Header().Set("Content-Type", "application/json")
			_ = http.NewResponseController(w).Flush()
		}
		<-done
	})
	defer close(done) // before the server is closed
	testenv.Together(2, func(int) {
		if _, _, err := s.get(t); err == nil {
			t.Error("a slow document is read")
		}
	})
	if asked.Load() != 2 {
		t.Errorf("%d requests", asked.Load())
	}
}

// TestPrivateAddressesAreNeverConnectedTo resolves a name to addresses that are not public. The servers there are
// reachable, and never see a connection.
func TestPrivateAddressesAreNeverConnectedTo(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, "{}")
	})
	if body, _, err := s.get(t); err != nil || body != "{}" {
		t.Fatal(body, err)
	}
	// DNS rebinding: the name has another address with every question.
	s.zone.SetAddresses(name+".", public, private)
	read := 0
	for range 6 {
		if _, _, err := s.get(t); err == nil {
			read++
		}
	}
	if read != 3 || s.visits[private].Load() != 0 {
		t.Errorf("rebinding: read %d of 6, %d connections to the private address", read, s.visits[private].Load())
	}
	// With the check that the service uses, no address of this machine or of a private network is left.
	s.client.Allow = nil
	before := s.visits[public].Load()
	for _, address := range []string{
		"127.0.0.1", "127.0.0.2", "::1", "::ffff:127.0.0.1", "::ffff:127.0.0.2", "0.0.0.0", "::", "169.254.169.254", "::ffff:a9fe:a9fe",
		"fd00:ec2::254", "10.0.0.1", "172.16.0.1", "192.168.0.1", "100.64.0.1", "fe80::1", "64:ff9b::7f00:1", "2002:7f00:1::", "::7f00:1",
	} {
		s.zone.SetAddresses(name+".", netip.MustParseAddr(address))
		if _, _, err := s.get(t); err == nil || !strings.Contains(err.Error(), "not a public address") {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1", "127.1"} {
		if _, _, err := s.client.JSON(t.Context(), "https://"+host+":"+s.port+"/client.json"); err == nil {
			t.Errorf("%s is read", host)
		}
	}
	if s.visits[private].Load() != 0 || s.visits[public].Load() != before {
		t.Error("a connection was made")
	}
}
