// Package outbound reads documents from addresses that strangers choose. It connects to public addresses only, over
// https, without a proxy, and follows no redirects.
package outbound

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"time"

	"warranty.example/svc/internal/netaddr"
)

// Limits of a document.
const (
	MaxSize = 16 << 10 // of the body, and of the header
	Timeout = 5 * time.Second
)

// Client reads documents. The zero value is ready to use.
type Client struct {
	// Allow reports whether the client may connect to an address; nil means netaddr.IsPublic.
	Allow func(netip.Addr) bool
	// Resolver and Roots are those of the system if they are nil.
	Resolver *net.Resolver
	Roots    *x509.CertPool
	// Internal allows http too. With an Allow that allows all, it is for addresses that the operator names.
	Internal bool
}

// JSON reads a JSON document. fresh is how long its header says that it may be kept, 0 if it does not say.
func (c *Client) JSON(ctx context.Context, address string) (body []byte, fresh time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, 0, err
	}
	if req.URL.Scheme != "https" {
		return nil, 0, errors.New("not an https address")
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "svcd")
	resp, err := c.transport().RoundTrip(req) // follows no redirects
	if err != nil {
		return nil, 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, 0, fmt.Errorf("the status is %d", resp.StatusCode)
	}
	media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil || media != "application/json" && !strings.HasSuffix(media, "+json") {
		return nil, 0, errors.New("not a JSON document")
	}
	if body, err = io.ReadAll(io.LimitReader(resp.Body, MaxSize+1)); err != nil {
		return nil, 0, err
	}
	if len(body) > MaxSize {
		return nil, 0, fmt.Errorf("larger than %d bytes", MaxSize)
	}
	return body, freshness(resp.Header), nil
}

// transport connects to addresses that are allowed.
func (c *Client) transport() *http.Transport {
	dialer := &net.Dialer{Resolver: c.Resolver, ControlContext: c.control}
	return &http.Transport{ // without Proxy, so that the address that is checked is that of the document
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{RootCAs: c.Roots, MinVersion: tls.VersionTLS12},
		DisableKeepAlives:      true,
		DisableCompression:     true,
		MaxResponseHeaderBytes: MaxSize,
	}
}

// MaxDocument is the size of a body that HTTP reads.
const MaxDocument = 256 << 10

// HTTP returns a client for libraries that make requests of their own. It reads at most MaxDocument bytes of a body, ends
// each request after Timeout and returns redirects as they are.
func (c *Client) HTTP() *http.Client {
	return &http.Client{
		Transport:     bounded{c.transport(), c.Internal},
		Timeout:       Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

type bounded struct {
	next     http.RoundTripper
	internal bool
}

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != "https" && !b.internal {
		return nil, errors.New("not an https address")
	}
	resp, err := b.next.RoundTrip(req)
	if err == nil {
		resp.Body = &boundedBody{resp.Body, MaxDocument}
	}
	return resp, err
}

// boundedBody fails after so many bytes, so that a part of a document is never taken for all of it.
type boundedBody struct {
	io.ReadCloser
	left int
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if len(p) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, fmt.Errorf("larger than %d bytes", MaxDocument)
	}
	return n, err
}

// control refuses a connection to an address that is not allowed. It is called after the name was resolved, with the
// address that the socket connects to.
func (c *Client) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	allow := c.Allow
	if allow == nil {
		allow = netaddr.IsPublic
	}
	if peer, err := netip.ParseAddrPort(address); err != nil || !allow(peer.Addr()) {
		return errors.New("not a public address")
	}
	return nil
}

// freshness returns how long a response may be kept.
func freshness(h http.Header) (fresh time.Duration) {
	control := strings.ToLower(strings.Join(h.Values("Cache-Control"), ","))
	if strings.Contains(control, "no-store") || strings.Contains(control, "no-cache") {
		return 0
	}
	for directive := range strings.SplitSeq(control, ",") {
		if age, ok := strings.CutPrefix(strings.TrimSpace(directive), "max-age="); ok {
			seconds, _ := strconv.ParseUint(age, 10, 31) // 0 or the largest number if it is not valid
			return time.Duration(seconds) * time.Second
		}
	}
	expires, err := http.ParseTime(h.Get("Expires"))
	if date, bad := http.ParseTime(h.Get("Date")); err == nil && bad == nil {
		fresh = expires.Sub(date)
	}
	return max(0, fresh)
}
