package rrdcached_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/query/rrd/rrdcached"
	"github.com/rondo-db/rondo/wal"
	"github.com/rondo-db/rondo/wal/waltest"
)

// heldLog returns a store whose log makes nothing durable while log is held.
func heldLog(t *testing.T) (store *core.Store, log *waltest.Stream) {
	t.Helper()
	log = waltest.NewStream(1)
	return enginetest.OpenDir(t, t.TempDir(), core.Options{OpenLog: func(after wal.Pos, onDurable core.OnDurable) (core.Log, error) {
		l, err := log.Open(after, onDurable)
		if err != nil { // a nil *StreamLog would be a Log
			return nil, err
		}
		return l, nil
	}}), log
}

// eventually waits until something holds that the server brings about while the log is held, and
// ends the test, releasing the log, if it takes too long.
func eventually(t *testing.T, log *waltest.Stream, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			log.Release() // the server could not end
			t.Fatal(what)
		}
	}
}

// TestBatchesOnTheirWay: while the disk writes one BATCH, the server reads those that arrived
// with it, and each is answered with its own errors.
func TestBatchesOnTheirWay(t *testing.T) {
	store, log := heldLog(t)
	s := serve(t, rrdcached.Options{Store: store}, 0)
	p := dial(t, s.addr)
	p.expect("CREATE a.rrd"+definition+"\n", "0 RRD created OK\n")
	log.Hold()
	const batches = 5
	var requests, want strings.Builder
	for i := range batches {
		fmt.Fprintf(&requests, "BATCH\nUPDATE a.rrd %d:1\n", 1_000_000_010+10*i)
		fmt.Fprintf(&want, "0 Go ahead.  End with dot '.' on its own line.\n%d errors\n", i)
		for k := range i {
			fmt.Fprintf(&requests, "UPDATE %d.rrd 1000000010:1\n", k)
			fmt.Fprintf(&want, "%d No such file: %s/%d.rrd\n", k+2, s.base, k)
		}
		requests.WriteString(".\n")
	}
	p.send(requests.String())
	dot := slices.Index(rrdcached.CommandNames(), ".")
	eventually(t, log, "BATCHes that have arrived are not read", func() bool { return s.Stats().Requests[dot] == batches })
	if n := store.Stats().SamplesAccepted; n != 0 {
		t.Errorf("%d samples are stored before they are durable", n)
	}
	log.Release()
	p.expect("LAST a.rrd\n", want.String()+"0 1000000050\n")
}

// TestBatchArrivesLater: a BATCH that arrives while the disk writes the one before is read at once,
// and what is stored meanwhile is answered although nothing more arrives.
func TestBatchArrivesLater(t *testing.T) {
	store, log := heldLog(t)
	s := serve(t, rrdcached.Options{Store: store}, 0)
	p := dial(t, s.addr)
	p.expect("CREATE a.rrd"+definition+"\n", "0 RRD created OK\n")
	const answer = "0 Go ahead.  End with dot '.' on its own line.\n0 errors\n"
	for round := range 20 {
		log.Hold()
		for i := range 2 {
			logged := store.Stats().Batches
			p.send(fmt.Sprintf("BATCH\nUPDATE a.rrd %d:1\n.\n", 1_000_000_010+10*(2*round+i)))
			eventually(t, log, "a BATCH is not on its way to the disk", func() bool { return store.Stats().Batches > logged })
		}
		log.Release()
		p.expect("", answer+answer)
	}
}

// TestErrorsBeyondTheLimit: a BATCH with more errors than are kept says how many commands it had
// and how many errors are left out, although another BATCH follows.
func TestErrorsBeyondTheLimit(t *testing.T) {
	s := serve(t, rrdcached.Options{}, 0)
	p := dial(t, s.addr)
	const commands = 60_000 // of 100 bytes of error each: more than 4 MiB
	go p.send("BATCH\n" + strings.Repeat("UPDATE "+strings.Repeat("x", 80)+" 1:1\n", commands) + ".\nBATCH\nUPDATE y 1:1\n.\n")
	p.line()
	errors := strings.Split(strings.TrimSuffix(p.answer(), "\n"), "\n")
	var told int
	if _, err := fmt.Sscanf(errors[0], "%d errors", &told); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("%d and %d further errors are not shown", commands+1, commands-told+1)
	if last := errors[len(errors)-1]; last != want {
		t.Errorf("the last line is %q, want %q", last, want)
	}
	p.expect("", "0 Go ahead.  End with dot '.' on its own line.\n1 errors\n1 No such file: "+s.base+"/y\n")
}
