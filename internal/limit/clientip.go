package limit

import (
	"fmt"
	"net/netip"
	"strings"

	"warranty.example/svc/internal/netaddr"
)

// maxHops bounds the work that a forged X-Forwarded-For can cause.
const maxHops = 50

// UnixPeer is the address of every peer of a Unix socket. Such a peer is a trusted proxy,
// because the mode of the socket decides who can connect.
const UnixPeer = "@"

// Proxies are the networks whose X-Forwarded-For header is trusted. By default no
// network is, because any client can send the header.
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
			return nil, fmt.Errorf("%s is neither an IP address nor a network such as 10.0.0.0/8", netaddr.Quote(item))
		}
		p = append(p, prefix)
	}
	return p, nil
}

// parsePrefix parses a network or an address without a zone. It converts IPv4-mapped
// IPv6 to IPv4.
func parsePrefix(s string) (netip.Prefix, error) {
	if netaddr.IsIP(s) {
		addr := normalize(netip.MustParseAddr(s))
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(s)
	if addr := prefix.Addr(); addr.Is4In6() && prefix.Bits() >= 96 {
		prefix = netip.PrefixFrom(addr.Unmap(), prefix.Bits()-96)
	}
	return prefix.Masked(), err
}

// trusts reports whether addr, which must be normalized, is a trusted proxy.
func (p Proxies) trusts(addr netip.Addr) bool {
	for _, prefix := range p {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}

// Peer returns the address of a connection and whether it is a trusted proxy. It
// returns the zero Addr if there is no IP address, as with a Unix socket.
func (p Proxies) Peer(remoteAddr string) (addr netip.Addr, trusted bool) {
	addr, _ = parseHop(remoteAddr)
	return addr, p.trusts(addr)
}

// ClientIP returns the address of the client: the peer or, behind trusted proxies,
// the right-most hop of X-Forwarded-For that is not one of them. Anything to the left
// of that hop, or of a malformed one, is untrusted. It returns the zero Addr if there is
// no IP address.
func (p Proxies) ClientIP(remoteAddr string, forwardedFor []string) netip.Addr {
	client, _ := parseHop(remoteAddr)
	trusted := remoteAddr == UnixPeer || p.trusts(client)
	hops := maxHops
	for i := len(forwardedFor) - 1; i >= 0; i-- {
		for rest, more := forwardedFor[i], true; more; hops-- {
			if hops == 0 || !trusted {
				return client
			}
			var hop string
			rest, hop, more = cutLast(rest)
			addr, ok := parseHop(hop)
			if !ok {
				return client
			}
			client, trusted = addr, p.trusts(addr)
		}
	}
	return client
}

// cutLast splits a list at its last comma; more reports whether there was one.
func cutLast(list string) (rest, last string, more bool) {
	i := strings.LastIndexByte(list, ',')
	return list[:max(i, 0)], list[i+1:], i >= 0
}

// parseHop parses an address as proxies write it: bare, in brackets, with a port.
func parseHop(s string) (netip.Addr, bool) {
	s = strings.Trim(s, " \t")
	if withPort, err := netip.ParseAddrPort(s); err == nil {
		return normalize(withPort.Addr()), true
	}
	if inner, ok := strings.CutPrefix(s, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		addr, err := netip.ParseAddr(inner)
		return normalize(addr), ok && err == nil && addr.Is6()
	}
	addr, err := netip.ParseAddr(s)
	return normalize(addr), err == nil
}

// normalize removes the zone and unmaps IPv4-mapped IPv6, so that a client has one
// address.
func normalize(addr netip.Addr) netip.Addr { return addr.WithZone("").Unmap() }

// Key returns the key for counting requests from addr: the IPv4 address or the IPv6
// /64, because a single customer controls at least a /64.
func Key(addr netip.Addr) string {
	addr = normalize(addr)
	if addr.Is6() {
		prefix, _ := addr.Prefix(64) // 64 bits always fit an IPv6 address
		return prefix.String()
	}
	if addr.IsValid() {
		return addr.String()
	}
	return "unknown"
}
