package node

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine/cluster/coord"
	"github.com/rondo-db/rondo/engine/cluster/coord/coordtest"
	"github.com/rondo-db/rondo/engine/cluster/placement"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/wal"
)

// TestHungCopyDoesNotKeepTheLog: a node takes a copy that never ends, and says so each second. The
// log was kept for it without bound, and filled the disks of its servers. Nothing is truncated
// before Times.Gone has passed without progress, and the log is truncated then.
func TestHungCopyDoesNotKeepTheLog(t *testing.T) {
	now := epoch
	n := &Node{o: Options{Name: "a", now: func() time.Time { return now }}.withDefaults()}
	l := &local{partition: 0, holds: make(map[string]*hold)}
	l.standing.Checkpoint = 1000
	says := coord.Standing{Position: 700, Checkpoint: 600}
	v := &coord.View{Members: map[string]*coord.Seen{"b": {Live: true}}}
	needless := func(after time.Duration) wal.Pos {
		now = now.Add(after)
		m := v.Members["b"]
		m.Name, m.Partitions = "b", []coord.Standing{says}
		return n.needless(l, v, placement.Partition{Nodes: []string{"a", "b"}})
	}
	want := func(what string, after time.Duration, want wal.Pos) {
		t.Helper()
		if got := needless(after); got != want {
			t.Errorf("%s: the log is needless up to %d, want %d", what, got, want)
		}
	}
	gone := n.o.Times.Gone
	want("it follows", 0, 600)
	says = coord.Standing{Copying: true}
	want("it takes a copy", 0, 0)
	want("for less than the bound", gone-1, 0)
	want("for longer", 1, 1000)
	says.Copied = 10
	want("it goes on", time.Second, 0)
	for range 20 {
		says.Copied++
		want("it is slow", gone/2, 0)
	}
	want("it hangs again", gone, 1000)
	says = coord.Standing{Position: 900, Checkpoint: 800}
	want("it follows again", 0, 800)

	says = coord.Standing{Copying: true, Copied: 10}
	want("it takes another copy", 0, 0)
	says = coord.Standing{}
	want("that has failed", 0, 1000)
	says.Copying = true
	want("it takes another one", gone, 0)
	says = coord.Standing{Position: 900, Checkpoint: 850, Halted: true, Outdated: true}
	want("and waits for a newer program", 0, 850)
	want("for long", gone, 1000)
	says = coord.Standing{Position: 900, Checkpoint: 850, Halted: true}
	want("it is to be made anew", 0, 1000)

	says = coord.Standing{}
	want("it has not opened yet", 0, 0)
	v.Members["b"].Live = false
	want("it is silent", 2*gone, 0)
	v.Members["b"].Live = true
	want("it is back", gone-1, 0)
	want("and does not open", 1, 1000)

	says = coord.Standing{Copying: true, Copied: 10}
	want("it takes a copy at last", 0, 0)
	v.Members["b"].Session, says = "2", coord.Standing{}
	want("its node was restarted meanwhile", gone/2, 0)
	want("and has not begun to copy", gone/2-1, 0)
	v.Members["b"].Session = "3"
	want("it is restarted again", gone/2, 0)
	want("and does not open", gone, 1000)
	v.Members["b"].Session = "4"
	want("but for a new start", 0, 0)
}

// A hangingPeer gives some bytes of a backup and then no more until nobody wants it, if it is "b".
type hangingPeer struct{ asked chan string }

func (p hangingPeer) Backup(ctx context.Context, node coord.Member, _ int, w io.Writer) error {
	p.asked <- node.Name
	if _, err := w.Write([]byte("begun")); err != nil || node.Name != "b" {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

func (hangingPeer) Engine(coord.Member, int) (core.Engine, error) { return nil, errors.New("a model") }

func (hangingPeer) TakeDigest(context.Context, coord.Member, int) (core.Digested, error) {
	return core.Digested{}, errors.New("a model")
}

func (hangingPeer) AwaitDigest(context.Context, coord.Member, int, wal.Pos) (uint64, error) {
	return 0, errors.New("a model")
}

// An emptyDisk takes copies.
type emptyDisk struct{ made chan string }

func (emptyDisk) Belongs(string) error                       { return nil }
func (emptyDisk) List() ([]int, error)                       { return nil, nil }
func (emptyDisk) Open(context.Context, int) (Replica, error) { return nil, errors.New("a model") }
func (emptyDisk) Remove(int) error                           { return nil }

func (d emptyDisk) Restore(_ context.Context, _ int, r io.Reader) error {
	b, err := io.ReadAll(r)
	if err == nil {
		d.made <- string(b)
	}
	return err
}

// TestHungCopyIsTakenFromAnotherNode: a copy that makes no progress ends after copyIdle. The node
// does not ask for the log meanwhile, and takes the next copy from another node.
func TestHungCopyIsTakenFromAnotherNode(t *testing.T) {
	var mu sync.Mutex
	now := epoch
	clock := func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}
	servers := coordtest.New(clock, 0)
	m, err := placement.New(1, 3, []placement.Member{{Name: "a"}, {Name: "b"}, {Name: "c"}})
	if err == nil {
		m.Cluster = "tested"
		_, err = coord.WriteMap(t.Context(), servers.Truth(), m, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	peers, disk := hangingPeer{make(chan string, 10)}, emptyDisk{make(chan string, 1)}
	n, err := New(Options{Name: "a", Address: "a:1", Store: servers.Client("a"), Peers: peers, Disk: disk, now: clock})
	if err != nil {
		t.Fatal(err)
	}
	var others []*coord.Announcer
	for range 2 {
		others = append(others, &coord.Announcer{Store: servers.Truth()})
	}
	// begins reports whether a copy is being taken and has not got its first bytes.
	begins := func() bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		for _, l := range n.locals {
			if l.busy == taskCopy && l.taking != nil && l.taking.bytes.Load() == 0 {
				return true
			}
		}
		return false
	}
	// look lets a second pass, and returns what the node says of its replica to the others. No time
	// passes while a copy begins: it would end idle before its goroutine has had a turn.
	look := func() (st coord.Standing, ok bool) {
		t.Helper()
		if !begins() {
			mu.Lock()
			now = now.Add(time.Second)
			mu.Unlock()
		}
		for i, name := range []string{"b", "c"} {
			says := coord.Member{Name: name, Session: "1", Partitions: []coord.Standing{{Position: 9, Current: true}}}
			if err := others[i].Announce(t.Context(), says, func(coord.Member) bool { return true }); err != nil {
				t.Fatal(err)
			}
		}
		says := n.member() // the node says so before it decides
		if err := n.tick(t.Context()); err != nil {
			t.Fatal(err)
		}
		return (&coord.Seen{Member: says}).Standing(0)
	}
	// until lets time pass until a copy of a node is asked for.
	until := func(node string) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s is not asked for a copy", node)
			}
			look()
			select {
			case got := <-peers.asked:
				if got != node {
					t.Fatalf("%s is asked for a copy, want %s", got, node)
				}
				return
			default:
			}
		}
	}
	until("b")
	giveUp := time.Now().Add(time.Minute)
	began := clock()
	for got := false; ; {
		if time.Now().After(giveUp) {
			t.Fatalf("the copy has not ended within a minute; its first bytes have come: %t", got)
		}
		st, _ := look()
		if !got { // time counts from when something has come
			got, began = st.Copied > 0, clock()
			continue
		}
		if waited := clock().Sub(began); waited < copyIdle && !st.Copying {
			t.Fatalf("it has given up after %v", waited)
		}
		if !st.Copying {
			break
		}
		time.Sleep(100 * time.Microsecond) // the copy ends beside
	}
	until("c")
	if got := <-disk.made; got != "begun" {
		t.Errorf("the copy is %q", got)
	}
	if err := n.close(t.Context()); err != nil {
		t.Error(err)
	}
}
