package limit

import (
	"fmt"
	"net/netip"
	"strings"
)

// maxHops bounds the work that a forged X-Forwarded-For can cause.
const maxHops = 50

// Proxies are the networks whose X-Forwarded-For is believed. None is the
// default: a header that anyone can write says nothing about who wrote it.
type Proxies []netip.Prefix

// ParseProxies reads a comma-separated list of networks (CIDR) and addresses.
func ParseProxies(s string) (Proxies, error) {
	if strings.TrimSpace(s) == "" {
		return nil, nil
	}
	var p Proxies
	for item := range strings.SplitSeq(s, ",") {
		item = strings.TrimSpace(item)
		prefix, err := parsePrefix(item)
		if err != nil {
			return nil, fmt.Errorf("trusted proxy %q is neither an IP address nor a network such as 10.0.0.0/8", item)
		}
		p = append(p, prefix)
	}
	return p, nil
}

// parsePrefix reads a network or an address, IPv4 written as IPv6 being IPv4.
func parsePrefix(s string) (netip.Prefix, error) {
	if !strings.Contains(s, "/") {
		addr, err := netip.ParseAddr(s)
		addr = normal(addr)
		return netip.PrefixFrom(addr, addr.BitLen()), err
	}
	prefix, err := netip.ParsePrefix(s)
	if addr := prefix.Addr(); addr.Is4In6() && prefix.Bits() >= 96 {
		prefix = netip.PrefixFrom(addr.Unmap(), prefix.Bits()-96)
	}
	return prefix.Masked(), err
}

// trusts is whether addr, a normal one, is a proxy's.
func (p Proxies) trusts(addr netip.Addr) bool {
	for _, prefix := range p {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}

// Peer is the address that a connection came from, and whether it is a trusted
// proxy's. A peer without an IP address, such as that of a Unix socket, gives the
// zero Addr.
func (p Proxies) Peer(remoteAddr string) (addr netip.Addr, trusted bool) {
	addr, _ = parseHop(remoteAddr)
	return addr, p.trusts(addr)
}

// ClientIP is the address that a request came from: the peer's, or behind
// trusted proxies the right-most hop of X-Forwarded-For that is not one of them.
// What stands left of that, or of a malformed hop, was written by a stranger. A
// peer without an IP address gives the zero Addr.
func (p Proxies) ClientIP(remoteAddr string, forwardedFor []string) netip.Addr {
	client, _ := parseHop(remoteAddr)
	hops := maxHops
	for i := len(forwardedFor) - 1; i >= 0; i-- {
		for rest, more := forwardedFor[i], true; more; hops-- {
			if hops == 0 || !p.trusts(client) {
				return client
			}
			var hop string
			rest, hop, more = cutLast(rest)
			addr, ok := parseHop(hop)
			if !ok {
				return client
			}
			client = addr
		}
	}
	return client
}

// cutLast splits a list at its last comma; more says whether there was one.
func cutLast(list string) (rest, last string, more bool) {
	i := strings.LastIndexByte(list, ',')
	return list[:max(i, 0)], list[i+1:], i >= 0
}

// parseHop reads an address as proxies write it: bare, in brackets, with a port.
func parseHop(s string) (netip.Addr, bool) {
	s = strings.Trim(s, " \t")
	if withPort, err := netip.ParseAddrPort(s); err == nil {
		return normal(withPort.Addr()), true
	}
	if inner, ok := strings.CutPrefix(s, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		addr, err := netip.ParseAddr(inner)
		return normal(addr), ok && err == nil && addr.Is6()
	}
	addr, err := netip.ParseAddr(s)
	return normal(addr), err == nil
}

// normal drops the zone, and the IPv6 form of an IPv4 address, so that one
// client has one address however it is written.
func normal(addr netip.Addr) netip.Addr { return addr.WithZone("").Unmap() }

// Key is what requests from addr are counted under: the IPv4 address, or the
// IPv6 /64, since one customer is handed at least that much to rotate through.
func Key(addr netip.Addr) string {
	addr = normal(addr)
	if addr.Is6() {
		prefix, _ := addr.Prefix(64) // 64 bits always fit an IPv6 address
		return prefix.String()
	}
	if addr.IsValid() {
		return addr.String()
	}
	return "unknown"
}
