package node_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/coord/coordtest"
	"github.com/rondo-db/rondo/cluster/node"
)

// nodeNamed returns a node that keeps no partition.
func nodeNamed(t *testing.T, servers *coordtest.Servers, name, address string) *node.Node {
	t.Helper()
	disk, err := node.NewFolder(t.TempDir(), node.FolderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	n, err := node.New(node.Options{
		Name: name, Address: address, Store: servers.Client(address), Disk: disk, Peers: new(cluster),
		Times: coord.Times{Interval: 20 * time.Millisecond, Lease: time.Second, Gone: time.Hour},
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A node that was killed and started again at another port ended at once, because the process
// before was still believed to live.
func TestKilledNodeComesBack(t *testing.T) { synctest.Test(t, killedNodeComesBack) }

func killedNodeComesBack(t *testing.T) {
	servers := coordtest.New(time.Now, 0)
	var killed coord.Announcer
	killed.Store = servers.Client("killed")
	if err := killed.Announce(t.Context(), coord.Member{Name: "a", Session: "first", Address: "one:1"}, nil); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	n := nodeNamed(t, servers, "a", "one:2")
	go func() { ended <- n.Run(ctx) }()
	for {
		if v := n.View(); v != nil && v.Members["a"] != nil && v.Members["a"].Address == "one:2" {
			break
		}
		select {
		case err := <-ended:
			t.Fatalf("the node ended: %v", err)
		case <-time.After(5 * time.Millisecond):
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A second process of a name that is taken ends.
func TestTakenName(t *testing.T) { synctest.Test(t, takenName) }

func takenName(t *testing.T) {
	servers := coordtest.New(time.Now, 0)
	ctx, stop := context.WithCancel(t.Context())
	first := nodeNamed(t, servers, "a", "one:1")
	ended := make(chan error, 1)
	go func() { ended <- first.Run(ctx) }()
	for first.View() == nil || first.View().Members["a"] == nil {
		time.Sleep(5 * time.Millisecond)
	}
	if err := nodeNamed(t, servers, "a", "one:2").Run(t.Context()); !errors.Is(err, coord.ErrNameTaken) {
		t.Errorf("%v, want ErrNameTaken", err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
