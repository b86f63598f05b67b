package foreign_test

import (
	"testing"

	"github.com/rondo-db/rondo/internal/foreign"
)

func TestSniffer(t *testing.T) {
	for _, tt := range []struct {
		name, first string
		want        bool
	}{
		{"a form that a page sends", "POST / HTTP/1.1\r\nHost: 127.0.0.1:42217\r\n\r\nCREATE a", true},
		{"a page", "GET /favicon.ico HTTP/1.1\r\n", true},
		{"a request that asks whether it may", "OPTIONS / HTTP/1.1\r\n", true},
		{"the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", true},
		{"TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", true},
		{"rrdcached's PING", "PING\n", false},
		{"PENDING begins as POST does", "PENDING a\n", false},
		{"GET is no request without a blank", "GET\n", false},
		{"hello of a Mono agent", "\x00\x01\x00\x02\x00", false},
		{"an smon token", "\x00\x04uabc\x01\x64", false},
		{"a record of TLS that is none", "\x16\x04", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var whole, bytewise foreign.Sniffer
			if got := whole.Foreign([]byte(tt.first)); got != tt.want {
				t.Errorf("at once: %v, want %v", got, tt.want)
			}
			got := false
			for i := 0; i < len(tt.first) && !got; i++ {
				got = bytewise.Foreign([]byte{tt.first[i]})
			}
			if got != tt.want {
				t.Errorf("byte by byte: %v, want %v", got, tt.want)
			}
			if tt.want {
				return
			}
			if whole.Foreign([]byte("GET / HTTP/1.1\r\n")) {
				t.Error("what comes later is taken for the beginning")
			}
		})
	}
}

func TestLine(t *testing.T) {
	for line, want := range map[string]bool{
		"POST / HTTP/1.1": true, "UPDATE /a HTTP/1.0\r": true, "x HTTP/2 ": true,
		"Host: x": true, "Content-Type:text/plain": true, "Update: a": true, "X_1!: ": true,
		"": false, "FOO": false, "FOO bar": false, ": x": false, "two words: x": false, "HTTP": false, "a/b: c": false, "\x00: c": false,
	} {
		if got := foreign.Line([]byte(line)); got != want {
			t.Errorf("Line(%q) = %v", line, got)
		}
	}
}
