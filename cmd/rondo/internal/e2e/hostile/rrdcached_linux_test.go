package hostile

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/cmd/serve"
)

// rrdcachedVictim is the port of rrdcached's protocol, which is no receiver: it answers, and counts
// on its own.
var rrdcachedVictim = victim{
	name: serve.RRDCachedFlag, path: "rrdcached/good/**", port: true,
	flags: []string{"--rrdcached-connections", fmt.Sprint(mostConns)},
	seeds: rrdcachedSeeds, attacks: streamAttacks, hoard: rrdcachedHoard,
	good: newRRDCachedSender,
}

// rrdcachedSeeds are requests about a series that the good sender has made for it. No rule makes
// others, and there is no CREATE among them: every name that comes of damage would be another
// series.
func rrdcachedSeeds(*testing.T) [][]byte {
	const name = "rrdcached/bad.rrd"
	now := time.Now().Unix()
	var out [][]byte
	for _, text := range []string{
		"PING\nHELP\nSTATS\nQUEUE\n",
		fmt.Sprintf("UPDATE %s %d:1 %d:2 %d.5:3\nUPDATE %s %d:4\n", name, now-40, now-30, now-20, name, now-10),
		fmt.Sprintf("BATCH\nUPDATE %s %d:1\nUPDATE nosuch.rrd %d:1\nFLUSH %s\nPING\n.\n", name, now, now, name),
		"FETCH " + name + " LAST -3600\nFETCH " + name + " LAST 1 2000000000\nFETCHBIN " + name + " LAST -600 -1 value\n",
		"INFO " + name + "\nFIRST " + name + " 0\nLAST " + name + "\nDUMP " + name + " -h none\n",
		"LIST /\nLIST RECURSIVE /rrdcached\nLIST RECURSIVE /\n",
		"TUNE " + name + " -h value:60\nTUNE " + name + " RRA#0:+10\n",
		"SUSPEND " + name + "\nRESUME " + name + "\nSUSPENDALL\nRESUMEALL\nFLUSHALL\nPENDING " + name + "\nFORGET " + name + "\n",
		"BATCH\n" + strings.Repeat("BATCH\n", 100), "UPDATE " + strings.Repeat("x", 8170) + " 1:1\nQUIT\n",
		"UPDATE " + name + strings.Repeat(" 1:1", 2000) + "\n", strings.Repeat("HELP\n", 1000), strings.Repeat("x", 9000),
	} {
		out = append(out, []byte(text))
	}
	return out
}

// rrdcachedHoard is a BATCH whose errors the server has to keep.
func rrdcachedHoard() []byte {
	return []byte("BATCH\n" + strings.Repeat("UPDATE "+strings.Repeat("x", 1000)+" 1:1\n", 8000))
}

// An rrdcachedSender reads what it is answered.
type rrdcachedSender struct {
	c net.Conn
	r *bufio.Reader
}

func newRRDCachedSender(t *testing.T, addr string) goodSender {
	t.Helper()
	c := dialGood(t, "tcp", addr)
	s := &rrdcachedSender{c, bufio.NewReader(c)}
	if err := s.ask("CREATE rrdcached/bad.rrd -s 1 DS:value:GAUGE:60:U:U RRA:LAST:0:1:600\n", 1, "0 RRD created OK\n"); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *rrdcachedSender) ask(requests string, n int, want string) error {
	if err := s.c.SetDeadline(time.Now().Add(goodPatience)); err != nil {
		return err
	}
	if _, err := s.c.Write([]byte(requests)); err != nil {
		return err
	}
	for range n {
		if got, err := s.r.ReadString('\n'); err != nil || got != want {
			return fmt.Errorf("%.100q is answered %q (%v), not %q", requests, got, err, want)
		}
	}
	return nil
}

func (s *rrdcachedSender) paths() []string {
	paths := make([]string, goodSeries)
	for i := range paths {
		paths[i] = fmt.Sprint("rrdcached/good/", i, ".rrd")
	}
	return paths
}

func (s *rrdcachedSender) send(n int) (int, error) {
	var b strings.Builder
	at := time.Now().UnixMicro()
	for _, path := range s.paths() {
		fmt.Fprintf(&b, "UPDATE %s %d.%06d:%d\n", path, at/1e6, at%1e6, n)
	}
	return goodSeries, s.ask(b.String(), goodSeries, "0 errors, enqueued 1 value(s).\n")
}
