// Package foreign tells web browsers, and whatever else speaks HTTP or TLS, from clients of a line
// protocol.
//
// A web page can have a browser connect to any TCP port of its own machine, and send lines of HTTP
// with a body of the page's choice behind them. A protocol that answers an unknown line with an
// error and reads on would carry the body out. So a connection ends where a [Sniffer] knows its
// first bytes, or [Line] a line, and nothing behind that is looked at.
package foreign

import "bytes"

// methods are how a request of HTTP begins, its second version included, whose preface begins with
// PRI. Case matters, as in HTTP.
var methods = [...]string{"GET ", "POST ", "PUT ", "HEAD ", "OPTIONS ", "DELETE ", "PATCH ", "CONNECT ", "TRACE ", "PRI "}

// hello is how a TLS connection begins: a handshake record of a version 3.x.
var hello = []byte{0x16, 0x03}

// sniffed is how many bytes decide: as many as the longest of them.
const sniffed = len("OPTIONS ")

// A Sniffer looks at the first bytes of one connection. The zero value is ready.
type Sniffer struct {
	first [sniffed]byte
	n     int
	done  bool
}

// Foreign takes the next bytes of the connection, and reports whether those so far are the
// beginning of HTTP or TLS. Once it has returned true the connection is to be closed. Bytes that
// could still become such a beginning are not foreign yet: a protocol may read them, if it can do
// no harm with as few.
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

// Line reports whether a line, without the bytes that end it, is one of HTTP: a request, or a
// header such as "Host: x". A protocol with lines of that kind itself must look at those first.
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

// isToken reports whether a byte may stand in the name of a header.
func isToken(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || bytes.IndexByte([]byte("!#$%&'*+-.^_`|~"), c) >= 0
}
