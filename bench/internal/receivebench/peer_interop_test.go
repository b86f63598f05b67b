package receivebench

import (
	"testing"
	"time"

	"github.com/rondo-db/rondo/internal/rrdtooltest"
)

// TestPeer: the figures of a real collectd come from its own statistics, and add up.
func TestPeer(t *testing.T) {
	path, err := FindPeer("collectd")
	if err != nil {
		rrdtooltest.Lacks(t, err)
	}
	c := testConfig(t)
	c.Peer, c.Series, c.Rate, c.Length = path, 200, 5000, 500*time.Millisecond
	c.PeerStores = true
	r, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	m := r.Peer
	const before = 50 // values of lists that were sent before the first mark, and counted behind it
	if m.Values == 0 || m.Stored > m.Values+before || m.Stored < m.Values/2 {
		t.Fatalf("%d values sent, %d stored", m.Values, m.Stored)
	}
	if m.User+m.System < 0 || m.PeakRSS < 1<<20 || m.Seconds < 0.5 {
		t.Errorf("processor time %v and %v, memory %d, %v s", m.User, m.System, m.PeakRSS, m.Seconds)
	}
	t.Logf("%s: %d of %d values, %d packets lost", r.PeerName, m.Stored, m.Values, m.LostPackets)
}
