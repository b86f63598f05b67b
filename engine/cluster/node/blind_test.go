package node_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine/cluster/coord"
	"github.com/rondo-db/rondo/engine/cluster/coord/coordtest"
	"github.com/rondo-db/rondo/engine/cluster/node"
)

// A blindStore answers no list.
type blindStore struct{ coord.Store }

func (blindStore) List(context.Context, string) ([]coord.Entry, error) {
	return nil, errors.New("too late")
}

// TestBlindStart: a node that was started at another port while the servers could not be listed
// ended by a nil pointer, or because its former session might live. It waits until it can look.
func TestBlindStart(t *testing.T) {
	servers := coordtest.New(time.Now, 0)
	former := &coord.Announcer{Store: servers.Truth()}
	if err := former.Announce(t.Context(), coord.Member{Name: "a", Session: "1", Address: "a:1"}, nil); err != nil {
		t.Fatal(err)
	}
	f, err := node.NewFolder(t.TempDir(), node.FolderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	n, err := node.New(node.Options{Name: "a", Address: "a:2", Store: blindStore{servers.Truth()}, Disk: f, Times: coord.Times{Interval: 10 * time.Millisecond}})
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
