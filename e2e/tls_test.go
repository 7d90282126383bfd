package e2e

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/e2e/lab"
	"warranty.example/svc/internal/testenv"
)

// certificates writes a key and certificates for it with serial numbers from 1. A quarter of their
// validity is left.
func certificates(t *testing.T, count int64) (key string, certs []string) {
	t.Helper()
	dir := t.TempDir()
	signer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(signer)
	if err != nil {
		t.Fatal(err)
	}
	key = filepath.Join(dir, "key.pem")
	writeFile(t, key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})))
	for serial := range count {
		template := &x509.Certificate{SerialNumber: big.NewInt(serial + 1), DNSNames: []string{"w.example"},
			IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: time.Now().Add(-3 * time.Hour), NotAfter: time.Now().Add(time.Hour)}
		der, err := x509.CreateCertificate(rand.Reader, template, template, &signer.PublicKey, signer)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, fmt.Sprintf("cert%d.pem", serial+1))
		writeFile(t, path, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
		certs = append(certs, path)
	}
	return key, certs
}

// servedSerial returns the serial number of the certificate that the server presents.
func servedSerial(t *testing.T, p *lab.Process) string {
	t.Helper()
	conn, err := tls.Dial("tcp", strings.TrimPrefix(p.URL, "https://"), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.String()
}

func TestTLS(t *testing.T) {
	t.Parallel()
	key, certs := certificates(t, 1)
	plain := lab.FreeAddress(t)
	p := lab.Start(t, "--tls-cert="+certs[0], "--tls-key="+key, "--http-listen="+plain, "--connections-per-address=3", "--admin-listen="+lab.FreeAddress(t))
	address := strings.TrimPrefix(p.URL, "https://")

	resp, err := p.Client.Get(p.URL + "/sign-in")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.ProtoMajor != 2 || resp.Header.Get("Strict-Transport-Security") == "" {
		t.Errorf("%s, headers %v", resp.Proto, resp.Header)
	}
	location := p.Want(t, 201, lab.Create(p.Register(t, "olga"), "Kettle", "")).Header.Get("Location")
	if !strings.HasPrefix(location, "https://"+address+"/") {
		t.Errorf("the public URL is not https by default: %s", location)
	}
	p.Client.CloseIdleConnections()
	if conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS11}); err == nil {
		conn.Close()
		t.Error("TLS 1.1 is accepted")
	}

	// The limit per address counts connections before their handshake, and a connection without a
	// handshake is closed.
	var silent []net.Conn
	for range 3 {
		conn, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 3)}}).Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(testenv.Patience))
		silent = append(silent, conn)
	}
	io.WriteString(silent[0], "\x16\x03\x01") // half a record
	fourth := tls.Dialer{NetDialer: &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 3)}}, Config: &tls.Config{InsecureSkipVerify: true}}
	if conn, err := fourth.Dial("tcp", address); err == nil {
		conn.Close()
		t.Error("a fourth connection of the address is served")
	}
	for i, conn := range silent {
		if n, err := io.Copy(io.Discard, conn); err != nil && !strings.Contains(err.Error(), "reset") {
			t.Errorf("connection %d without a handshake: %d bytes, %v", i, n, err)
		}
	}

	// Plain HTTP on the TLS port gets an error; the redirect listener redirects pages only.
	if resp, err := http.Get("http://" + address + "/healthz"); err == nil {
		resp.Body.Close()
		if resp.StatusCode != http.StatusBadRequest {
			t.Errorf("plain HTTP on the TLS port: %d", resp.StatusCode)
		}
	}
	for request, want := range map[string]string{
		"GET /warranties?page=2":            "308 https://" + address + "/warranties?page=2",
		"HEAD /":                            "308 https://" + address + "/",
		"GET //evil.example/%0d%0aX:y":      "308 https://" + address + "//evil.example/%0d%0aX:y",
		"GET http://evil.example/x":         "308 https://" + address + "/x",
		"GET /api/v1/warranties":            "403 ",
		"POST /sign-in":                     "403 ",
		"GET /.well-known/acme-challenge/x": "308 https://" + address + "/.well-known/acme-challenge/x",
	} {
		conn, err := net.Dial("tcp", plain)
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(testenv.Patience))
		fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", request)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		conn.Close()
		if err != nil {
			t.Fatal(request, err)
		}
		if got := fmt.Sprint(resp.StatusCode, " ", resp.Header.Get("Location")); got != want {
			t.Errorf("%s: %s, want %s", request, got, want)
		}
	}
	if log := p.Log(); strings.Contains(log, "TLS handshake error") {
		t.Error("failed handshakes are logged at info")
	}
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
}
