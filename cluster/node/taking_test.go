package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/coord/coordtest"
	"github.com/rondo-db/rondo/cluster/placement"
	"github.com/rondo-db/rondo/engine/core"
)

// A modelPeer is what peers of tests have in common: no partitions.
type modelPeer struct{}

func (modelPeer) Partition(coord.Member, int) (Partition, error) { return nil, errors.New("a model") }
func (modelPeer) Refuses(context.Context, coord.Member) bool     { return false }

// A backupOnly is a partition that gives backups as a function does, and nothing else.
type backupOnly struct {
	Partition
	give func(ctx context.Context, w io.Writer) error
}

func (b backupOnly) Backup(ctx context.Context, w io.Writer) error { return b.give(ctx, w) }

// A backupPeer gives backups as a function does, and records who is asked for them.
type backupPeer struct {
	modelPeer
	asked chan string
	give  func(ctx context.Context, node string, w io.Writer) error
}

func (p backupPeer) Partition(node coord.Member, _ int) (Partition, error) {
	return backupOnly{give: func(ctx context.Context, w io.Writer) error {
		p.asked <- node.Name
		return p.give(ctx, node.Name, w)
	}}, nil
}

// An emptyDisk takes copies, which nobody can open.
type emptyDisk struct {
	made   chan string
	opened chan struct{} // there is room for one
}

func (emptyDisk) Known() (string, placement.Map, error) { return "", placement.Map{}, nil }
func (emptyDisk) Keep(placement.Map) error              { return nil }
func (emptyDisk) List() ([]int, error)                  { return nil, nil }
func (emptyDisk) Remove(int) error                      { return nil }

func (d emptyDisk) Open(context.Context, int) (Replica, error) {
	select {
	case d.opened <- struct{}{}:
	default:
	}
	return nil, errors.New("a model")
}

func (d emptyDisk) Restore(_ context.Context, _ int, r io.Reader) error {
	b, err := io.ReadAll(r)
	if err == nil {
		d.made <- string(b)
	}
	return err
}

// A taker is node a, which has no replica and takes a copy of b's or c's. It has its own clock.
type taker struct {
	t        *testing.T
	n        *Node
	peers    backupPeer
	disk     emptyDisk
	others   map[string]*coord.Announcer
	sessions map[string]string // of b and c

	mu  sync.Mutex
	at  time.Time
	log strings.Builder
}

func newTaker(t *testing.T, give func(ctx context.Context, node string, w io.Writer) error) *taker {
	x := &taker{
		t: t, at: epoch, peers: backupPeer{asked: make(chan string, 10), give: give},
		disk:     emptyDisk{make(chan string, 1), make(chan struct{}, 1)},
		others:   make(map[string]*coord.Announcer),
		sessions: map[string]string{"b": "b1", "c": "c1"},
	}
	servers := coordtest.New(x.now, 0)
	m, err := placement.New(1, 3, []placement.Member{{Name: "a"}, {Name: "b"}, {Name: "c"}})
	if err == nil {
		m.Cluster = "tested"
		_, err = coord.WriteMap(t.Context(), servers.Truth(), m, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	x.n, err = New(Options{
		Name: "a", Address: "a:1", Version: "v1", Store: servers.Client("a"), Peers: x.peers, Disk: x.disk, now: x.now,
		Logger: slog.New(slog.NewTextHandler(x, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range x.sessions {
		x.others[name] = &coord.Announcer{Store: servers.Truth()}
	}
	return x
}

func (x *taker) now() time.Time {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.at
}

// Write takes a line of the node's log.
func (x *taker) Write(b []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.log.Write(b)
}

// lines returns how many lines of the node's log have a text.
func (x *taker) lines(text string) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return strings.Count(x.log.String(), text)
}

// begins reports whether a copy is being taken and has not got its first bytes.
func (x *taker) begins() bool {
	x.n.mu.Lock()
	defer x.n.mu.Unlock()
	for _, l := range x.n.locals {
		if l.busy == taskCopy && l.taking != nil && l.taking.bytes.Load() == 0 {
			return true
		}
	}
	return false
}

// look lets a second pass, and returns what the node says of its replica to the others. No time
// passes while a copy begins: it would end idle before its goroutine has had a turn.
func (x *taker) look() (st coord.Standing, ok bool) {
	x.t.Helper()
	if !x.begins() {
		x.mu.Lock()
		x.at = x.at.Add(time.Second)
		x.mu.Unlock()
	}
	for name, a := range x.others {
		says := coord.Member{Name: name, Session: x.sessions[name], Version: "v2", Partitions: []coord.Standing{{Position: 9, Current: true}}}
		if err := a.Announce(x.t.Context(), says, func(coord.Member) bool { return true }); err != nil {
			x.t.Fatal(err)
		}
	}
	says := x.n.member() // the node says so before it decides
	if err := x.n.tick(x.t.Context()); err != nil {
		x.t.Fatal(err)
	}
	return (&coord.Seen{Member: says}).Standing(0)
}

// until lets time pass until a copy of a node is asked for.
func (x *taker) until(node string) {
	x.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			x.t.Fatalf("%s is not asked for a copy", node)
		}
		x.look()
		select {
		case got := <-x.peers.asked:
			if got != node {
				x.t.Fatalf("%s is asked for a copy, want %s", got, node)
			}
			return
		default:
		}
	}
}

// rests waits until no task of the node is under way.
func (x *taker) rests() {
	x.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		x.n.mu.Lock()
		l := x.n.locals[0]
		busy := l != nil && l.busy != ""
		x.n.mu.Unlock()
		if !busy {
			return
		}
		if time.Now().After(deadline) {
			x.t.Fatal("a task does not end")
		}
	}
}

func (x *taker) close() {
	if err := x.n.close(x.t.Context()); err != nil {
		x.t.Error(err)
	}
}

// TestHungCopyIsTakenFromAnotherNode: a copy that makes no progress ends after copyIdle. The node
// does not ask for the log meanwhile, and takes the next copy from another node.
func TestHungCopyIsTakenFromAnotherNode(t *testing.T) {
	x := newTaker(t, func(ctx context.Context, node string, w io.Writer) error {
		if _, err := w.Write([]byte("begun")); err != nil || node != "b" {
			return err
		}
		<-ctx.Done() // no more until nobody wants it
		return ctx.Err()
	})
	x.until("b")
	giveUp := time.Now().Add(time.Minute)
	began := x.now()
	for got := false; ; {
		if time.Now().After(giveUp) {
			t.Fatalf("the copy has not ended within a minute; its first bytes have come: %t", got)
		}
		st, _ := x.look()
		if !got { // time counts from when something has come
			got, began = st.Copied > 0, x.now()
			continue
		}
		if waited := x.now().Sub(began); waited < copyIdle && !st.Copying {
			t.Fatalf("it has given up after %v", waited)
		}
		if !st.Copying {
			break
		}
		time.Sleep(100 * time.Microsecond) // the copy ends beside
	}
	x.until("c")
	if got := <-x.disk.made; got != "begun" {
		t.Errorf("the copy is %q", got)
	}
	x.close()
}

// TestCopyOfAnotherVersion: a copy that this program cannot read, because another version has made
// it, is asked for again and again, of each node in turn, as its node may get another program. No
// empty replica takes the place of the copy meanwhile, and the lines of the log become rare.
func TestCopyOfAnotherVersion(t *testing.T) {
	t.Parallel()
	for name, is := range map[string]error{"newer": core.ErrNewer, "older": core.ErrVersion} {
		t.Run(name, func(t *testing.T) {
			x := newTaker(t, func(context.Context, string, io.Writer) error { return fmt.Errorf("a backup of format 9: %w", is) })
			defer x.close()
			for i := range 8 {
				x.until([]string{"b", "c"}[i%2])
				x.rests()
				if st, _ := x.look(); st.Outdated != (is == core.ErrNewer) {
					t.Fatalf("it stands at %+v", st)
				}
			}
			if len(x.disk.opened) > 0 {
				t.Error("a replica was opened")
			}
			if began, failed := x.lines("a replica is copied"), x.lines("a task failed"); began != 1 || failed != 4 {
				t.Errorf("%d lines of beginnings and %d of failures:\n%s", began, failed, &x.log)
			}
		})
	}
}

// A node that was to take a copy of a partition, which the map then gave to others, said that it
// takes one for as long as it ran.
func TestCopyThatIsNotWantedAnyMore(t *testing.T) {
	n := &Node{o: Options{Name: "a"}.withDefaults(), locals: map[int]*local{0: {}}}
	l, others := n.locals[0], placement.Partition{Nodes: []string{"b", "c"}}
	l.announces(time.Now(), time.Hour)
	if all := n.standings(); len(all) != 1 || !all[0].Copying {
		t.Errorf("it is to take a copy, and says %+v", all)
	}
	n.giveUp(t.Context(), l, new(coord.View), others)
	if all := n.standings(); len(all) != 0 {
		t.Errorf("it is to take no copy, and says %+v", all)
	}
}
