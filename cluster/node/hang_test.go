package node

import (
	"testing"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/placement"
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
		n.seen = now
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
