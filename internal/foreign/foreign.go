// Package foreign recognises connections of web browsers, and of other programs that speak HTTP or
// TLS, at a port of another protocol.
//
// A web page can make a browser connect to any TCP port of the browser's machine and send HTTP
// there, with a body that the page chooses. A server that answers the unknown lines of HTTP with
// errors and reads on would then execute the body as commands. So a connection must end as soon as
// a [Sniffer] recognises its first bytes, or [Line] one of its lines; the rest is not read.
package foreign

import "bytes"

// methods are the beginnings of HTTP requests (RFC 9110). HTTP/2 begins with PRI (RFC 9113). Case
// matters, as in HTTP.
var methods = [...]string{"GET ", "POST ", "PUT ", "HEAD ", "OPTIONS ", "DELETE ", "PATCH ", "CONNECT ", "TRACE ", "PRI "}

// hello is how a TLS connection begins: a handshake record of version 3.x (RFC 8446).
var hello = []byte{0x16, 0x03}

// sniffed is how many bytes decide: the length of the longest beginning.
const sniffed = len("OPTIONS ")

// A Sniffer looks at the first bytes of one connection. The zero value is ready.
type Sniffer struct {
	first [sniffed]byte
	n     int
	done  bool
}

// Foreign takes the next bytes of the connection, and reports whether the bytes so far begin HTTP
// or TLS. Close the connection once it has returned true. Bytes that could still become such a
// beginning are not foreign yet: a protocol may read them if so few bytes can do no harm.
func (s *Sniffer) Foreign(b []byte) bool {
	if s.done || len(b) == 0 {
		return false
	}
	s.n += copy(s.first[s.n:], b)
	first := s.first[:s.n]
	open := bytes.HasPrefix(hello, first)
	if bytes.HasPrefix(first, hello) {
		return true
	}
	for _, m := range methods {
		if len(first) >= len(m) && string(first[:len(m)]) == m {
			return true
		}
		open = open || len(first) < len(m) && m[:len(first)] == string(first)
	}
	s.done = !open
	return false
}

// Line reports whether a line, without the bytes that end it, is a line of HTTP: a request, or a
// header such as "Host: x". A protocol that has such lines itself must check for them first.
func Line(line []byte) bool {
	line = bytes.TrimRight(line, " \t\r\n")
	if i := bytes.LastIndexByte(line, ' '); bytes.HasPrefix(line[i+1:], []byte("HTTP/")) {
		return true
	}
	for i, c := range line {
		if c == ':' {
			return i > 0
		}
		if !isToken(c) {
			return false
		}
	}
	return false
}

// isToken reports whether a byte may stand in the name of a header (RFC 9110, token).
func isToken(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || bytes.IndexByte([]byte("!#$%&'*+-.^_`|~"), c) >= 0
}
