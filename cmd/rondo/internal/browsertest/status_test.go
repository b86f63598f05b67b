//go:build !race

package browsertest

import (
	"net"
	"testing"
)

// TestStatusPage: who sends, what is dropped and why, and where it comes in.
func TestStatusPage(t *testing.T) {
	s := hosting(t)
	addr := s.listens["collectd"]
	if addr == "" {
		t.Fatalf("the server listens at %v", s.listens)
	}
	s.rondo(t, "send", "collectd", "--to", addr, "newcomer/load/load=1:2:3")
	conn, err := net.Dial("udp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.Write([]byte{0, 0, 0, 5, 'x'}); err != nil { // a part without an end
		t.Fatal(err)
	}
	x := newTab(t, s.url)
	x.open("/status")
	x.settle()
	for _, want := range []string{"collectd", addr, "malformed", "127.0.0.1"} {
		x.wait("the page tells of "+want, "document.querySelector('main').innerText.includes("+quote(want)+")")
	}
	x.wait("a sender has a rate at once", `[...document.querySelectorAll('table[aria-label="Senders"] tr, .sheet tr')].some(r => /^newcomer\s+collectd\s/.test(r.innerText) && !r.innerText.includes('–'))`)
	x.keep("status-busy")
	x.open("/")
	x.wait("home says first what is wrong, and for how long", `/^Warning\s+collectd: .*(for|since) /s.test(document.querySelector('.problems li')?.innerText)`)
	x.settle()
	x.keep("home-problems")
}
