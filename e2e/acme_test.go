package e2e

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"warranty.example/svc/e2e/lab"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/internal/testenv"
)

// authority is a running Pebble, an ACME certificate authority for tests.
type authority struct {
	directory, root string // URLs
	trust           string // the file with the certificate of its API
	log             string // a file
}

// startAuthority starts Pebble and a DNS server that resolves every name to 127.0.0.1. Hosts are
// checked on these ports instead of 80 and 443.
func startAuthority(t *testing.T, httpAddress, tlsAddress string) authority {
	t.Helper()
	programs := os.Getenv("SVC_TEST_BIN")
	if !exists(filepath.Join(programs, "pebble")) {
		if os.Getenv("CI") != "" {
			t.Fatal("CI is set and Pebble is missing; make test builds it")
		}
		t.Skip("no Pebble; make test builds it")
	}
	dir := t.TempDir()
	key, certs := certificates(t, 1)
	api, management, dns := lab.FreeAddress(t), lab.FreeAddress(t), lab.FreeAddress(t)
	port := func(address string) int {
		addr, err := net.ResolveTCPAddr("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		return addr.Port
	}
	config, err := json.Marshal(map[string]any{"pebble": map[string]any{
		"listenAddress": api, "managementListenAddress": management, "certificate": certs[0], "privateKey": key,
		"httpPort": port(httpAddress), "tlsPort": port(tlsAddress),
	}})
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "pebble.json"), string(config))
	log := filepath.Join(dir, "pebble.log")
	out, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	for _, args := range [][]string{
		{"pebble-challtestsrv", "-defaultIPv6=", "-dnsserver=" + dns, "-doh=", "-http01=", "-https01=", "-tlsalpn01=", "-management=" + lab.FreeAddress(t)},
		{"pebble", "-config=" + filepath.Join(dir, "pebble.json"), "-dnsserver=" + dns},
	} {
		cmd := exec.Command(filepath.Join(programs, args[0]), args[1:]...)
		cmd.Env, cmd.Stdout, cmd.Stderr = []string{"PEBBLE_VA_NOSLEEP=1"}, out, out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	}
	a := authority{directory: "https://" + api + "/dir", root: "https://" + management + "/roots/0", trust: certs[0], log: log}
	testenv.Wait(t, "Pebble", func() bool {
		_, err := a.get(a.directory)
		return err == nil
	})
	return a
}

func (a authority) get(url string) ([]byte, error) {
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, Timeout: testenv.Patience}
	resp, err := client.Get(url)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}

// orders counts the orders that the authority received.
func (a authority) orders(t *testing.T) int {
	t.Helper()
	log, err := os.ReadFile(a.log)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(log), "Added order ")
}

// handshake connects for a host, trusting only the authority, and returns the serial number.
func (a authority) handshake(t *testing.T, p *lab.Process, host string) (string, error) {
	t.Helper()
	root, err := a.get(a.root)
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(root)
	conn, err := tls.Dial("tcp", strings.TrimPrefix(p.URL, "https://"), &tls.Config{RootCAs: trusted, ServerName: host})
	if err != nil {
		return "", err
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.String(), nil
}

const acmeHost = "warranty.test"

// TestACMEByTLS obtains a certificate by tls-alpn-01. It survives a restart, handshakes for other hosts
// cause no order, and it is renewed while the service runs.
func TestACMEByTLS(t *testing.T) {
	t.Parallel()
	address := lab.FreeAddress(t)
	a := startAuthority(t, lab.FreeAddress(t), address)
	dir := t.TempDir()
	launchOne := func() *lab.Process {
		p, err := lab.Launch(dir, []string{"SSL_CERT_FILE=" + a.trust}, lab.Svcd(), "--data="+dir, "--listen="+address, "--public-url=https://"+acmeHost,
			"--acme", "--acme-email=ops@people.example", "--acme-directory="+a.directory)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Kill)
		return p
	}
	p := launchOne()
	serial, err := a.handshake(t, p, acmeHost)
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"evil.example", "www." + acmeHost, "localhost"} {
		if _, err := a.handshake(t, p, host); err == nil || !strings.Contains(err.Error(), "remote error") {
			t.Errorf("a handshake for %s: %v", host, err)
		}
	}
	challenge := &tls.Config{ServerName: acmeHost, NextProtos: []string{"acme-tls/1"}, InsecureSkipVerify: true}
	if conn, err := tls.Dial("tcp", address, challenge); err == nil { // the last challenge may still be known
		if got := conn.ConnectionState().PeerCertificates[0].SerialNumber.String(); got == serial {
			t.Error("the certificate is shown instead of a challenge")
		}
		conn.Close()
	}
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	p = launchOne()
	again, err := a.handshake(t, p, acmeHost)
	if err != nil || again != serial || a.orders(t) != 1 {
		t.Errorf("after a restart: certificate %s, then %s, %d orders, %v", serial, again, a.orders(t), err)
	}
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	doctor := func(want string) {
		t.Helper()
		// DNS does not know the host, which is another check.
		out, _ := exec.Command(lab.Svcd(), "doctor", "--data="+dir, "--public-url=https://"+acmeHost, "--acme", "--acme-directory="+a.directory).Output()
		if !strings.Contains(string(out), want) {
			t.Errorf("doctor prints no %q:\n%s", want, out)
		}
	}
	doctor("ok      acme      valid for " + acmeHost)
	a.expiresSoon(t, dir)
	doctor("warning acme      the certificate for " + acmeHost + " expires on")
	p = launchOne()
	testenv.Wait(t, "the renewed certificate", func() bool {
		next, err := a.handshake(t, p, acmeHost) // the one that expires soon is not trusted
		return err == nil && next != serial
	})
	if n := a.orders(t); n != 2 {
		t.Errorf("%d orders after a renewal", n)
	}
	if log := p.Log(); strings.Contains(log, "PRIVATE KEY") {
		t.Error("a key is logged")
	}
}

// expiresSoon replaces the certificate in the database of a stopped service by one that expires soon.
func (a authority) expiresSoon(t *testing.T, dir string) {
	t.Helper()
	key, certs := certificates(t, 1)
	var text []byte
	for _, path := range []string{certs[0], key} {
		part, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, part...)
	}
	st, err := store.Open(t.Context(), filepath.Join(dir, "svc.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if err := st.Write(t.Context(), func(tx *store.Tx) error {
		return tx.PutACME("certificate "+a.directory+" "+acmeHost, string(text), st.Now())
	}); err != nil {
		t.Fatal(err)
	}
}

// TestACMEByHTTPOnTwoReplicas starts two replicas that have no certificate. One of them orders it by
// http-01, the other one answers the challenge, and both use the certificate.
func TestACMEByHTTPOnTwoReplicas(t *testing.T) {
	t.Parallel()
	database := "--database=" + servertest.Postgres(t)
	front, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer front.Close()
	a := startAuthority(t, front.Addr().String(), lab.FreeAddress(t))
	data := t.TempDir()
	var dirs, plain [2]string
	for i := range 2 {
		dirs[i], plain[i] = t.TempDir(), lab.FreeAddress(t)
	}
	// The front sends the authority to the replica that did not order.
	go func() {
		for {
			conn, err := front.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for i := range 2 {
					log, _ := os.ReadFile(filepath.Join(dirs[i], "server.log"))
					if strings.Contains(string(log), "ordering a certificate") {
						forward(conn, plain[1-i])
					}
				}
			}()
		}
	}()
	var replicas [2]*lab.Process
	var both sync.WaitGroup
	for i := range 2 {
		both.Go(func() {
			var err error
			replicas[i], err = lab.Launch(dirs[i], []string{"SSL_CERT_FILE=" + a.trust}, lab.Svcd(), "--listen="+lab.FreeAddress(t), "--http-listen="+plain[i],
				"--public-url=https://"+acmeHost, "--acme", "--acme-directory="+a.directory, database, "--data="+data)
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(replicas[i].Kill)
		})
	}
	both.Wait()
	if t.Failed() {
		return
	}
	one, err := a.handshake(t, replicas[0], acmeHost)
	other, err2 := a.handshake(t, replicas[1], acmeHost)
	if err != nil || err2 != nil || one != other || a.orders(t) != 1 {
		t.Errorf("certificates %s and %s, %d orders, %v, %v", one, other, a.orders(t), err, err2)
	}
	if got := redirecting(plain[0], plain[1]); got != plain[0]+" and "+plain[1] {
		t.Errorf("redirected by %q", got)
	}
}

// forward copies one request and its response, once the target listens.
func forward(conn net.Conn, address string) {
	for {
		target, err := net.Dial("tcp", address)
		if err != nil {
			continue
		}
		defer target.Close()
		go io.Copy(target, conn)
		io.Copy(conn, target)
		return
	}
}
