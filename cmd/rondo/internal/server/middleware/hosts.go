package middleware

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

// A web page can make its visitor's browser send requests to this port. Two headers distinguish
// such a request from one of a program: Origin names the site of the page, and so does Host if the
// site lets its own name mean this machine ("DNS rebinding").
//
// A request is therefore let in if it has no Origin, or the server's own, and if its Host is a name
// that no other site can have: an address, which always means the same machine; localhost; the
// names of this machine, if other machines can reach it; and the names of --http-host.

// anyHost is the name of --http-host that allows every Host.
const anyHost = "*"

// Hosts are the names that the HTTP port answers to.
type Hosts struct {
	exempt bool            // a unix socket, which no browser opens
	any    bool            // every Host is allowed
	own    map[string]bool // names of this machine
	added  map[string]bool // names of --http-host; pages of these sites may send requests, too
}

// NewHosts returns the names of a server that listens at addr. machine returns the names of this
// machine.
func NewHosts(addr net.Addr, added []string, machine func() []string) *Hosts {
	h := &Hosts{own: map[string]bool{"localhost": true}, added: make(map[string]bool)}
	h.exempt = addr != nil && addr.Network() == "unix"
	for _, name := range added {
		if name == anyHost {
			h.any = true
		}
		h.added[hostname(name)] = true
	}
	if BeyondLoopback(addr) {
		for _, name := range machine() {
			h.own[hostname(name)] = true
		}
	}
	return h
}

// BeyondLoopback reports whether other machines can reach an address.
func BeyondLoopback(a net.Addr) bool {
	switch a := a.(type) {
	case *net.TCPAddr:
		return !a.IP.IsLoopback()
	case *net.UDPAddr:
		return !a.IP.IsLoopback()
	}
	return false
}

// hostname returns the name in the value of a header Host, in lower case, without a port and
// without a dot at the end.
func hostname(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// refuse returns why r is refused, or "" if it is let in. It reads only the headers of r.
func (h *Hosts) refuse(r *http.Request) string {
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

// names reports whether name, a result of [hostname], is a name of the server. The empty name is
// one, too: requests of HTTP/1.0 may lack the header, and no browser sends such requests.
func (h *Hosts) names(name string) bool {
	if h.any || name == "" || h.own[name] || h.added[name] || strings.HasSuffix(name, ".localhost") {
		return true
	}
	_, err := netip.ParseAddr(name)
	return err == nil
}

// ownOrigin reports whether origin is this server, by the name in the request's header Host, or a
// site of --http-host.
func (h *Hosts) ownOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" {
		return false // for example "null"
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
// site cannot read the answer.
func followsLink(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) &&
		r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

// quoted returns name as one word of a command line, or NAME if it is not a valid host name.
func quoted(name string) string {
	ok := name != "" && strings.IndexFunc(name, func(r rune) bool {
		return !('a' <= r && r <= 'z' || '0' <= r && r <= '9' || strings.ContainsRune(".-_:", r))
	}) < 0
	if !ok {
		return "NAME"
	}
	return name
}

// MachineNames returns the names that other machines may have for this one: its host name, alone,
// with ".local" (mDNS), and with each domain that its resolver searches.
func MachineNames() []string {
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
		return nil // some systems have no such file
	}
	defer func() { _ = f.Close() }() // nothing was written
	const most = 1000                // lines that are read
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

// CheckHTTPHost returns an error if a name of --http-host is invalid.
func CheckHTTPHost(name string) error {
	if name == anyHost {
		return nil
	}
	if quoted(strings.ToLower(name)) != strings.ToLower(name) || strings.Contains(name, "/") {
		return fmt.Errorf("--http-host %.200q: want the name of a host, such as rondo.example.com, or * for every name", name)
	}
	return nil
}
