package server

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
)

// A web page can make its visitor's browser send requests to this port. Two signs tell such a
// request from one of a program that the owner runs: the header Origin names the page's site, and
// the header Host, where the page's site lets its own name mean this machine ("DNS rebinding"),
// names that site.
//
// So a request is let in if it has no Origin, or one that is this server's own, and if its Host is
// a name that no stranger can have: an address (which means one machine and cannot be made to mean
// another), localhost, the names of this machine where it is reachable from others, and what
// --http-host adds.

// anyHost, as a name of --http-host, lets every Host in.
const anyHost = "*"

// hosts are the names that the HTTP port answers to.
type hosts struct {
	exempt bool            // a unix socket, which no browser opens
	any    bool            // every Host is let in
	own    map[string]bool // names of this machine
	added  map[string]bool // by --http-host; pages of these sites may send requests, too
}

// newHosts returns the names of a server that listens at addr. machine returns the names of this
// machine.
func newHosts(addr net.Addr, added []string, machine func() []string) *hosts {
	h := &hosts{own: map[string]bool{"localhost": true}, added: make(map[string]bool)}
	h.exempt = addr != nil && addr.Network() == "unix"
	for _, name := range added {
		if name == anyHost {
			h.any = true
		}
		h.added[hostname(name)] = true
	}
	if beyondLoopback(addr) {
		for _, name := range machine() {
			h.own[hostname(name)] = true
		}
	}
	return h
}

// hostname returns the name in the value of a header Host, in lower case: without a port, without
// the dot at the end.
func hostname(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// refuse says why r is not let in; empty: it is. Only the headers of r are looked at.
func (h *hosts) refuse(r *http.Request) string {
	if h.exempt {
		return ""
	}
	if name := hostname(r.Host); !h.names(name) {
		return fmt.Sprintf("Host %.200q is not a name of this server. If it should be, start rondo serve with --http-host %.200s", r.Host, quoted(name))
	}
	origins := r.Header.Values("Origin")
	for _, o := range origins {
		if !h.ownOrigin(o, r.Host) {
			return fmt.Sprintf("Origin %.200q is another site. If its pages may use this server, start rondo serve with --http-host %.200s", o, quoted(originHost(o)))
		}
	}
	if len(origins) == 0 && r.Header.Get("Sec-Fetch-Site") == "cross-site" && !followsLink(r) {
		return "the request comes from a page of another site. If its pages may use this server, start rondo serve with --http-host and the site's name"
	}
	return ""
}

// names reports whether name, as [hostname] returns it, is one of the server's. A request of
// HTTP/1.0 may be without one; no browser sends such a request.
func (h *hosts) names(name string) bool {
	if h.any || name == "" || h.own[name] || h.added[name] || strings.HasSuffix(name, ".localhost") {
		return true
	}
	_, err := netip.ParseAddr(name)
	return err == nil
}

// ownOrigin reports whether a page of origin is one of this server, as which the request names it,
// or of a site that was added by name.
func (h *hosts) ownOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" {
		return false // "null", say
	}
	return strings.EqualFold(u.Host, host) || h.added[hostname(u.Host)]
}

func originHost(origin string) string {
	if u, err := url.Parse(origin); err == nil {
		return hostname(u.Host)
	}
	return ""
}

// followsLink reports whether a person follows a link of another site to a page of this server. The
// site sees nothing of it.
func followsLink(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) &&
		r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

// quoted returns name as one word of a command line, or NAME if it is no name of a host.
func quoted(name string) string {
	ok := name != "" && strings.IndexFunc(name, func(r rune) bool {
		return !('a' <= r && r <= 'z' || '0' <= r && r <= '9' || strings.ContainsRune(".-_:", r))
	}) < 0
	if !ok {
		return "NAME"
	}
	return name
}

// machineNames returns what other machines call this one, as far as it knows itself: its host name,
// with ".local" (mDNS) and with each domain that its resolver searches.
func machineNames() []string {
	name, err := os.Hostname()
	if err != nil || name == "" {
		return nil
	}
	first, _, _ := strings.Cut(name, ".")
	names := []string{name, first, first + ".local"}
	for _, domain := range searchDomains("/etc/resolv.conf") {
		names = append(names, first+"."+domain)
	}
	return names
}

// searchDomains returns the domains of a file such as /etc/resolv.conf.
func searchDomains(file string) (domains []string) {
	f, err := os.Open(file)
	if err != nil {
		return nil // there is none, on some systems
	}
	defer func() { _ = f.Close() }() // read only
	const most = 1000                // lines
	lines := bufio.NewScanner(f)
	for range most {
		if !lines.Scan() {
			break
		}
		words := strings.Fields(lines.Text())
		if len(words) > 1 && (words[0] == "search" || words[0] == "domain") {
			for _, d := range words[1:] {
				if d = strings.Trim(d, "."); d != "" {
					domains = append(domains, d)
				}
			}
		}
	}
	return domains
}

// CheckHTTPHost says what is wrong with a name of --http-host.
func CheckHTTPHost(name string) error {
	if name == anyHost {
		return nil
	}
	if quoted(strings.ToLower(name)) != strings.ToLower(name) || strings.Contains(name, "/") {
		return fmt.Errorf("--http-host %.200q: want the name of a host, such as rondo.example.com, or * for every name", name)
	}
	return nil
}
