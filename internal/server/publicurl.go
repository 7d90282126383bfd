package server

import (
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/limit"
	"warranty.example/svc/internal/netaddr"
	"warranty.example/svc/warranty"
)

// Bounds of addressWatch.
const (
	watchWindow    = time.Hour
	watchRequests  = 3              // in a window before an address is noted
	watchAddresses = 8              // candidates in a window
	watchUsers     = 64             // counted per address
	noteGap        = 24 * time.Hour // between two notes of an address
)

// addressWatch compares the addresses that signed-in people use with the public URL. A client can send any Host, so only
// requests with a session count, each person once, and an address is noted only if more people use it than the public
// URL. Memory is bounded by the constants above.
type addressWatch struct {
	mu    sync.Mutex
	since time.Time
	right map[warranty.ID]bool
	wrong map[string]*seenAddress
	noted map[string]time.Time
}

// seenAddress is an address that is not the public URL.
type seenAddress struct {
	requests int
	users    map[warranty.ID]bool
}

// note counts a request of a person and reports whether its address should be noted now. An empty address is the
// public one.
func (a *addressWatch) note(address string, user warranty.ID, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.right == nil || now.Sub(a.since).Abs() > watchWindow {
		a.since, a.right, a.wrong = now, map[warranty.ID]bool{}, map[string]*seenAddress{}
	}
	if address == "" {
		countUser(a.right, user)
		return false
	}
	seen := a.wrong[address]
	if seen == nil {
		if len(a.wrong) >= watchAddresses {
			return false
		}
		seen = &seenAddress{users: map[warranty.ID]bool{}}
		a.wrong[address] = seen
	}
	seen.requests++
	countUser(seen.users, user)
	if seen.requests < watchRequests || len(seen.users) <= len(a.right) {
		return false
	}
	at, again := a.noted[address]
	if again && now.Sub(at) < noteGap || !again && len(a.noted) >= watchAddresses {
		return false
	}
	if a.noted == nil {
		a.noted = map[string]time.Time{}
	}
	a.noted[address] = now
	return true
}

func countUser(users map[warranty.ID]bool, user warranty.ID) {
	if len(users) < watchUsers {
		users[user] = true
	}
}

// watchAddress logs and stores an address that people use instead of the public URL.
func (s *Server) watchAddress(r *http.Request, caller *api.Caller) {
	if caller.Credential != warranty.BySession || caller.Door != warranty.DoorWeb {
		return
	}
	address, known := s.otherAddress(r)
	if !known || !s.watch.note(address, caller.User.ID, s.Service.Now()) {
		return
	}
	s.Log.Warn("people use another address than --public-url; set it to the address in their browsers, "+
		"or let the proxy redirect", "seen", address, "public_url", s.PublicURL)
	s.Service.RecordOtherAddress(address)
}

// otherAddress returns the address in the browser if it is not the public URL, and "" if it is. It reports false if
// the request does not tell: addresses without a name are for tests and for other machines.
func (s *Server) otherAddress(r *http.Request) (address string, known bool) {
	public, err := url.Parse(s.PublicURL)
	if err != nil {
		return "", false
	}
	host, scheme := r.Host, ""
	if r.TLS != nil {
		scheme = "https"
	}
	if _, trusted := s.Proxies.Peer(r.RemoteAddr); trusted || r.RemoteAddr == limit.UnixPeer {
		if forwarded := single(r.Header, "X-Forwarded-Host"); forwarded != "" {
			host = forwarded
		}
		if proto := strings.ToLower(single(r.Header, "X-Forwarded-Proto")); proto == "http" || proto == "https" {
			scheme = proto
		}
	}
	// A form that was sent to its own site has the address in the browser, whatever a proxy says.
	if origin, err := url.Parse(single(r.Header, "Origin")); err == nil && strings.EqualFold(origin.Host, host) &&
		(origin.Scheme == "http" || origin.Scheme == "https") {
		scheme = origin.Scheme
	}
	host = strings.ToLower(host)
	name, port := host, ""
	if h, p, err := net.SplitHostPort(host); err == nil {
		name, port = h, p
	}
	if !netaddr.IsName(name) || netaddr.IsIP(name) || netaddr.IsLoopback(name) || port != "" && !netaddr.IsPort(port, 1) {
		return "", false
	}
	if port == "80" && scheme != "https" || port == "443" && scheme != "http" {
		host = name // the default, or the scheme is not known
	}
	switch {
	case scheme == "" && host == public.Host:
		return "", true
	case scheme == "":
		return host, true
	case scheme+"://"+host == s.PublicURL:
		return "", true
	}
	return scheme + "://" + host, true
}

// single returns a header that was sent once, with one value.
func single(h http.Header, name string) string {
	if list := h.Values(name); len(list) == 1 && !strings.Contains(list[0], ",") {
		return list[0]
	}
	return ""
}
