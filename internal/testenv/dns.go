package testenv

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// Zone is a DNS server on a loopback port. Names have a final dot; those without records do not exist.
type Zone struct {
	conn net.PacketConn

	mu        sync.Mutex
	texts     map[string][]string
	aliases   map[string]string
	addresses map[string][]netip.Addr
	silent    map[string]bool // never answered
}

// NewZone starts a DNS server that is closed at the end of the test.
func NewZone(t testing.TB) *Zone {
	t.Helper()
	conn, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	z := &Zone{
		conn:      conn,
		texts:     map[string][]string{},
		aliases:   map[string]string{},
		addresses: map[string][]netip.Addr{},
		silent:    map[string]bool{},
	}
	go z.serve()
	return z
}

// Resolver returns a resolver that asks the server.
func (z *Zone) Resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", z.conn.LocalAddr().String())
	}}
}

// SetTexts sets the TXT records of a name.
func (z *Zone) SetTexts(name string, texts ...string) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.texts[name] = texts
}

// SetAlias sets the CNAME record of a name.
func (z *Zone) SetAlias(name, target string) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.aliases[name] = target
}

// SetAddresses sets the addresses of a name. They are all of one kind, IPv4 or IPv6. Each question gets one of them, in
// turn.
func (z *Zone) SetAddresses(name string, addresses ...netip.Addr) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.addresses[name] = addresses
}

// SetSilent makes the server ignore questions about a name.
func (z *Zone) SetSilent(name string, silent bool) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.silent[name] = silent
}

func (z *Zone) serve() {
	buffer := make([]byte, 4096)
	for {
		n, from, err := z.conn.ReadFrom(buffer)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(buffer[:n]) != nil || len(m.Questions) != 1 {
			continue
		}
		if answer := z.answer(m); answer != nil {
			_, _ = z.conn.WriteTo(answer, from)
		}
	}
}

func (z *Zone) answer(m dnsmessage.Message) []byte {
	z.mu.Lock()
	defer z.mu.Unlock()
	question := m.Questions[0]
	name := strings.ToLower(question.Name.String())
	if z.silent[name] {
		return nil
	}
	reply := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: m.ID, Response: true, Authoritative: true, RecursionDesired: m.RecursionDesired, RecursionAvailable: true},
		Questions: m.Questions,
	}
	at := question.Name
	add := func(kind dnsmessage.Type, body dnsmessage.ResourceBody) {
		header := dnsmessage.ResourceHeader{Name: at, Type: kind, Class: dnsmessage.ClassINET, TTL: 1}
		reply.Answers = append(reply.Answers, dnsmessage.Resource{Header: header, Body: body})
	}
	if target, ok := z.aliases[name]; ok {
		next := dnsmessage.MustNewName(target)
		add(dnsmessage.TypeCNAME, &dnsmessage.CNAMEResource{CNAME: next})
		at, name = next, target
	}
	for _, text := range z.texts[name] {
		add(dnsmessage.TypeTXT, &dnsmessage.TXTResource{TXT: []string{text}})
	}
	addresses := z.addresses[name]
	if len(addresses) > 0 {
		next := addresses[0]
		switch {
		case question.Type == dnsmessage.TypeA && next.Is4():
			add(dnsmessage.TypeA, &dnsmessage.AResource{A: next.As4()})
			z.addresses[name] = append(addresses[1:], next)
		case question.Type == dnsmessage.TypeAAAA && !next.Is4():
			add(dnsmessage.TypeAAAA, &dnsmessage.AAAAResource{AAAA: next.As16()})
			z.addresses[name] = append(addresses[1:], next)
		}
	}
	if len(reply.Answers) == 0 && len(addresses) == 0 {
		reply.RCode = dnsmessage.RCodeNameError
	}
	packed, err := reply.Pack()
	if err != nil {
		return nil
	}
	return packed
}
