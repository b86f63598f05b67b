package rrdcached_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/query/rrd/rrdcached"
)

// slowSeries makes a series whose DUMP and FETCH are longer than what sockets take, and a small
// one.
func slowSeries(t *testing.T, p *peer) {
	t.Helper()
	p.expect("CREATE big -s 1 -b 1000000000 DS:v:GAUGE:9999999:U:U RRA:AVERAGE:0.5:1:400000\n"+
		"CREATE small -s 1 -b 1000000000 DS:v:GAUGE:9999999:U:U RRA:AVERAGE:0.5:1:4\nUPDATE big 1000500000:5\n",
		"0 RRD created OK\n0 RRD created OK\n0 errors, enqueued 1 value(s).\n")
}

// slowReader asks for something and reads 4 KiB of the answer, and no more until the test ends.
func slowReader(t *testing.T, a net.Addr, request string) *peer {
	t.Helper()
	p := dial(t, a)
	p.send(request + "\n")
	if _, err := p.r.Peek(4096); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestSlowDumpsHoldNobodyUp: peers that do not read their DUMP keep nobody from DUMP, TUNE or
// CREATE from another series.
func TestSlowDumpsHoldNobodyUp(t *testing.T) {
	s := serve(t, rrdcached.Options{}, 0)
	p := dial(t, s.addr)
	slowSeries(t, p)
	for range 12 {
		slowReader(t, s.addr, "DUMP big -h none")
	}
	p.expect("TUNE small --heartbeat v:77\n", "0 RRD tuned OK\n")
	p.expect("CREATE other -t big\n", "0 RRD created OK\n")
	p.send("DUMP small -h none\n")
	if got := p.line(); !strings.HasPrefix(got, "<!--") {
		t.Errorf("DUMP begins with %q", got)
	}
}

// TestLargeDumpsOfSlowReaders: of series with more than a million values one is worked on at a
// time, and no longer than it takes.
func TestLargeDumpsOfSlowReaders(t *testing.T) {
	s := serve(t, rrdcached.Options{}, 0)
	p := dial(t, s.addr)
	p.expect("CREATE huge -s 1 -b 1000000000 DS:v:GAUGE:9999999:U:U RRA:AVERAGE:0.5:1:1100000\nUPDATE huge 1000500000:5\n",
		"0 RRD created OK\n0 errors, enqueued 1 value(s).\n")
	slowReader(t, s.addr, "DUMP huge -h none")
	slowReader(t, s.addr, "DUMP huge -h none")
	p.expect("TUNE huge --heartbeat v:77\n", "0 RRD tuned OK\n")
}

// TestSlowReadersDoNotKeepTheServer: it ends soon, whatever its peers are being sent.
func TestSlowReadersDoNotKeepTheServer(t *testing.T) {
	for _, request := range []string{
		"DUMP big -h none", "FETCH big AVERAGE 1000000001 1000490000", "FETCHBIN big AVERAGE 1000000001 1000490000", strings.Repeat("HELP\n", 5000) + "PING",
	} {
		t.Run(strings.Fields(request)[0], func(t *testing.T) {
			s := serve(t, rrdcached.Options{WriteTime: time.Hour}, 0)
			slowSeries(t, dial(t, s.addr))
			p := slowReader(t, s.addr, request)
			stop := make(chan struct{})
			defer close(stop)
			go func() { // it goes on reading, a little at a time
				for buf := make([]byte, 16<<10); ; {
					if _, err := p.r.Read(buf); err != nil {
						return
					}
					select {
					case <-stop:
						return
					case <-time.After(50 * time.Millisecond):
					}
				}
			}()
			s.stop() // fails after patience, and WriteTime is an hour
		})
	}
}

// TestWaitingAnswersAreBounded: what peers that do not read keep in memory is bounded, and who
// reads is answered all the same.
func TestWaitingAnswersAreBounded(t *testing.T) {
	const most = 1 << 20
	s := serve(t, rrdcached.Options{Answers: most, WriteTime: 500 * time.Millisecond}, 0)
	p := dial(t, s.addr)
	slowSeries(t, p)
	for range 30 {
		q := dial(t, s.addr)
		q.send("FETCH big AVERAGE 1000000001 1000490000\n")
	}
	for end := time.Now().Add(patience); s.Stats().Stalled < 5; {
		if used := s.Stats().Answers; used > most {
			t.Fatalf("%d bytes of answers are held, at most %d may be", used, most)
		}
		if time.Now().After(end) {
			t.Fatal("peers that do not read are not given up")
		}
		time.Sleep(time.Millisecond) // between looks
	}
	p.expect("FETCH small AVERAGE 1000000000 1000000003\n", "10 Success\n")
}

// TestTCPDoesNotLockSocketsOut: connections over TCP that fill all their places leave the unix
// socket its own, and one address has a share.
func TestTCPDoesNotLockSocketsOut(t *testing.T) {
	s := serve(t, rrdcached.Options{Conns: 8, HostConns: 5}, 0)
	unix := s.addr
	l, err := rrdcached.Listen(rrdcached.Address{Network: "tcp", Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l, rrdcached.Access{}) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	full := 0
	for range 20 {
		p := dial(t, l.Addr())
		p.send("PING\n")
		if p.line() != "0 PONG\n" {
			full++
		}
	}
	if full != 15 {
		t.Errorf("%d connections of one address were refused, want 15", full)
	}
	other, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}).Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }() // it was answered
	answer := make([]byte, 7)
	if _, err := other.Write([]byte("PING\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Read(answer); err != nil || string(answer) != "0 PONG\n" {
		t.Errorf("another address is answered %q, %v", answer, err)
	}
	for range 8 {
		dial(t, unix).expect("PING\n", "0 PONG\n")
	}
	if p := dial(t, unix); p.line() != "-1 Too many connections.\n" {
		t.Error("the unix socket has more places than it should")
	}
}
