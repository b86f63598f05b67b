package node_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/coord/coordtest"
	"github.com/rondo-db/rondo/cluster/node"
	"github.com/rondo-db/rondo/cluster/router"
)

// A blindStore answers no list.
type blindStore struct{ coord.Store }

func (blindStore) List(context.Context, string) ([]coord.Entry, error) {
	return nil, errors.New("too late")
}

// TestBlindStart: a node that was started at another port while the servers could not be listed
// ended by a nil pointer, or because its former session might live. It waits until it can look.
func TestBlindStart(t *testing.T) { synctest.Test(t, blindStart) }

func blindStart(t *testing.T) {
	servers := coordtest.New(time.Now, 0)
	former := &coord.Announcer{Store: servers.Truth()}
	if err := former.Announce(t.Context(), coord.Member{Name: "a", Session: "1", Address: "a:1"}, nil); err != nil {
		t.Fatal(err)
	}
	f, err := node.NewFolder(t.TempDir(), node.FolderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	n, err := node.New(node.Options{Name: "a", Address: "a:2", Store: blindStore{servers.Truth()}, Disk: f, Peers: new(cluster), Times: coord.Times{Interval: 10 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if err := n.Run(ctx); err != nil {
		t.Error(err)
	}
	e, err := servers.Truth().Get(t.Context(), "all.member.a")
	if err != nil || !strings.Contains(string(e.Value), `"a:1"`) {
		t.Errorf("it has announced itself: %s, %v", e.Value, err)
	}
}

// A muted is a store that takes no value for as long as mute says: most of its servers are away.
type muted struct {
	coord.Store
	mute *atomic.Bool
}

func (s muted) CompareAndSet(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	if s.mute.Load() {
		return 0, errors.New("no leader")
	}
	return s.Store.CompareAndSet(ctx, key, value, revision)
}

// An unmuting is a log that lets a muted store take values again when several announcements have
// failed after the first that was logged.
type unmuting struct {
	bytes.Buffer
	mute *atomic.Bool
}

func (u *unmuting) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("cannot announce itself")) {
		time.AfterFunc(200*time.Millisecond, func() { u.mute.Store(false) }) // 20 intervals
	}
	return u.Buffer.Write(line)
}

// TestMuteServersAreToldOnce: a node said with each announcement that the servers had not taken it,
// once a second for as long as that lasted, and never that they took them again.
func TestMuteServersAreToldOnce(t *testing.T) { synctest.Test(t, muteServersAreToldOnce) }

func muteServersAreToldOnce(t *testing.T) {
	f, err := node.NewFolder(t.TempDir(), node.FolderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	mute := muted{coordtest.New(time.Now, 0).Truth(), new(atomic.Bool)}
	mute.mute.Store(true)
	log := &unmuting{mute: mute.mute}
	n, err := node.New(node.Options{
		Name: "a", Address: "a:1", Store: mute, Disk: f, Peers: new(cluster), Times: coord.Times{Interval: 10 * time.Millisecond},
		Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	for {
		if e, err := mute.Get(t.Context(), "all.member.a"); err == nil && len(e.Value) > 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	for what, want := range map[string]int{"cannot announce itself": 1, "announces itself again": 1} {
		if got := strings.Count(log.String(), what); got != want {
			t.Errorf("%q is logged %d times, want %d:\n%s", what, got, want, log)
		}
	}
}

// TestReadsWhileServersAreMute: while most servers were away, no node could announce itself, and
// reads of partitions that the asked node does not have failed, although the others had them.
func TestReadsWhileServersAreMute(t *testing.T) {
	c := newCluster(t, "a", "b", "c")
	w := c.begin("a", "b", "c")
	c.mute.Store(true)
	a := c.node("a")
	c.eventually("a hears nobody", func() string {
		for name, m := range a.View().Members {
			if m.Live {
				return name + " is heard"
			}
		}
		return ""
	})
	s, err := router.New(a, router.Options{Wait: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	reader := &writer{t: t, s: s, refs: w.refs, sent: w.sent}
	reader.check()
	elsewhere := 0
	for p := range partitions {
		if _, ok := a.Local(p); !ok {
			elsewhere++
		}
	}
	if elsewhere == 0 {
		t.Error("a has every partition")
	}
	c.mute.Store(false)
	w.append(1)
	w.check()
}
