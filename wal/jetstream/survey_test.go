package jetstream

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// TestReplicaHealth: what the leader of a stream says of each replica.
func TestReplicaHealth(t *testing.T) {
	peer := func(current, offline bool, active time.Duration, lag uint64) *jetstream.PeerInfo {
		return &jetstream.PeerInfo{Name: "n2", Current: current, Offline: offline, Active: active, Lag: lag}
	}
	for _, x := range []struct {
		name    string
		peer    *jetstream.PeerInfo
		missing string
		lag     uint64
		unheard bool
	}{
		{"current", peer(true, false, time.Millisecond, 0), "", 0, false},
		{"a little behind", peer(false, false, time.Millisecond, farBehind-1), "", 0, false},
		{"far behind", peer(false, false, time.Millisecond, farBehind), "", farBehind, false},
		{"current as far as is known", peer(true, false, 7*time.Second, 0), "has been silent for 7s", 0, false},
		{"silent", peer(false, false, 17*time.Second, 2000), "has been silent for 17s", 0, false},
		{"heard within the limit", peer(true, false, silentTime, 0), "", 0, false},
		{"never heard by a new leader", peer(false, false, 0, 2), "is silent", 0, true},
		{"offline", peer(true, true, time.Millisecond, 0), "is offline", 0, false},
	} {
		got := healthOf(&jetstream.ClusterInfo{Leader: "n1", Replicas: []*jetstream.PeerInfo{nil, x.peer}}, "n9").Replicas
		want := []ReplicaHealth{{Server: "n1"}, {Server: "n2", Missing: x.missing, Lag: x.lag, unheard: x.unheard}}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %+v, want %+v", x.name, got, want)
		}
	}
	if got := healthOf(nil, "n9"); got.Err != nil || !slices.Equal(got.Replicas, []ReplicaHealth{{Server: "n9"}}) {
		t.Errorf("a server alone: %+v", got)
	}
	// A server that has just lost the lead answers so; the stream was taken for a healthy one.
	lost := healthOf(&jetstream.ClusterInfo{Name: "rondo", Replicas: []*jetstream.PeerInfo{peer(true, false, 1, 0)}}, "n9")
	if lost.Err == nil || lost.Replicas != nil || !lost.doubtful() {
		t.Errorf("a stream without a leader: %+v", lost)
	}
	if keep, leaderless := keepersOf([]StreamHealth{lost}); len(keep) > 0 || !leaderless {
		t.Errorf("a stream without a leader: %v keep it, leaderless %v", keep, leaderless)
	}
	many := &jetstream.ClusterInfo{Leader: strings.Repeat("n", 1000), Replicas: make([]*jetstream.PeerInfo, 1000)}
	for i := range many.Replicas {
		many.Replicas[i] = peer(true, false, 1, 0)
	}
	if got := healthOf(many, "").Replicas; len(got) != 1+mostReplicas || len(got[0].Server) != mostName {
		t.Errorf("%d replicas are kept of an answer, and %d bytes of a name", len(got), len(got[0].Server))
	}
}

// TestSurveyNamesServers: monitoring ports that do not answer get the name of their server, as far
// as it can be known.
func TestSurveyNamesServers(t *testing.T) {
	refused := &url.Error{Op: "Get", URL: "http://m/varz", Err: errors.New("refused")}
	says := func(at, name string, enabled bool) monitored {
		a := monitored{at: "http://" + at, v: varz{Name: name}}
		if enabled {
			a.v.JetStream.Config = &jetStreamConfig{SyncAlways: true}
		}
		return a
	}
	fails := func(at string) monitored { return monitored{at: "http://" + at, err: refused} }
	// stream has its leader first; "-n3" is missing.
	stream := func(names ...string) (h StreamHealth) {
		for _, n := range names {
			name, missing := strings.CutPrefix(n, "-")
			r := ReplicaHealth{Server: name}
			if missing {
				r.Missing = "is silent"
			}
			h.Replicas = append(h.Replicas, r)
		}
		return h
	}
	all := stream("n1", "n2", "n3")
	none := StreamHealth{Err: errors.New("no leader")}
	m1, m2, m3 := says("m1", "n1", true), says("m2", "n2", true), says("m3", "n3", true)
	for _, x := range []struct {
		name    string
		assumed bool
		known   map[string]string // monitoring addresses of names
		answers []monitored
		streams []StreamHealth
		want    string
	}{
		{"all there", false, nil, []monitored{m1, m2, m3}, []StreamHealth{all}, "n1;n2;n3"},
		{"nobody knows a port", false, nil, nil, []StreamHealth{all}, "n1;n2;n3"},
		{"one is silent, and has no port", false, nil, nil, []StreamHealth{stream("n1", "n2", "-n3")}, "n1;n2;n3 is silent"},
		{"one follows only some streams", false, nil, nil, []StreamHealth{stream("n1", "n2", "-n3"), all}, "n1;n2;n3"},
		{"one does not answer", false, nil, []monitored{m1, fails("m2"), m3}, []StreamHealth{all}, "n1;n2 does not answer at http://m2: refused;n3"},
		{"it is silent, too", false, nil, []monitored{m1, m2, fails("m3")}, []StreamHealth{stream("n1", "n2", "-n3")}, "n1;n2;n3 does not answer at http://m3: refused"},
		{"it has answered before", false, map[string]string{"http://m3": "n3"}, []monitored{m1, fails("m2"), fails("m3")}, []StreamHealth{all}, "n1;n2 does not answer at http://m2: refused;n3 does not answer at http://m3: refused"},
		{"two whose names are not known", false, nil, []monitored{m1, fails("m2"), fails("m3")}, []StreamHealth{all}, "n1;n2;n3; does not answer at http://m2: refused; does not answer at http://m3: refused"},
		{"two that are silent, too", false, nil, []monitored{m1, fails("m2"), fails("m3")}, []StreamHealth{stream("n1", "-n2", "-n3")}, "n1;n2 is silent;n3 is silent"},
		{"two, and no stream has a leader", false, nil, []monitored{m1, fails("m2"), fails("m3")}, []StreamHealth{none}, " does not answer at http://m2: refused; does not answer at http://m3: refused"},
		{"ports that are only assumed", true, nil, []monitored{fails("m1"), fails("m2"), fails("m3")}, []StreamHealth{all}, "n1;n2;n3"},
		{"ports that are only assumed, and one answers", true, nil, []monitored{m1, fails("m2"), m3}, []StreamHealth{all}, "n1;n2 does not answer at http://m2: refused;n3"},
		{"JetStream is disabled", false, nil, []monitored{m1, says("m2", "n2", false), m3}, []StreamHealth{all}, "n1;n2 " + disabled + ";n3"},
		{"JetStream is disabled where it keeps nothing", false, nil, []monitored{m1, m2, m3, says("m4", "n4", false)}, []StreamHealth{all}, "n1;n2;n3"},
		{"JetStream is disabled, and no stream has a leader", false, nil, []monitored{m1, says("m2", "n2", false)}, []StreamHealth{none}, "n2 " + disabled},
		{"a spare server does not answer", false, nil, []monitored{m1, m2, m3, fails("m4")}, []StreamHealth{all}, "n1;n2;n3; does not answer at http://m4: refused"},
	} {
		s := &Survey{assumed: x.assumed, names: make(map[string]string)}
		maps.Copy(s.names, x.known)
		var got []string
		for _, h := range s.servers(x.answers, x.streams) {
			got = append(got, strings.TrimSuffix(h.Name+" "+h.Problem, " "))
		}
		if is := strings.Join(got, ";"); is != x.want {
			t.Errorf("%s:\n%s, want\n%s", x.name, is, x.want)
		}
	}
}

// What is said of a port names its address once, and none of the calls that have failed.
func TestUnansweredIsShort(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	for want, err := range map[string]error{
		"does not answer at http://n3:8222: connection refused": refused,
		"does not answer at http://n3:8222":                     context.DeadlineExceeded,
		"does not answer at http://n3:8222: no route":           errors.New("no route"),
	} {
		if got := unanswered(monitored{at: "http://n3:8222", err: &url.Error{Op: "Get", URL: "http://n3:8222/varz", Err: err}}); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// Records may take all of a stream but what is kept for claims.
func TestFullness(t *testing.T) {
	for _, x := range []struct {
		taken uint64
		most  int64
		want  int
	}{
		{0, 8 << 20, 0},
		{1 << 40, 0, 0},
		{1 << 40, -1, 0},
		{4 << 20, 8 << 20, 50},
		{8321021, 8 << 20, 99},
		{8<<20 - 64<<10, 8 << 20, 100},
		{8 << 20, 8 << 20, 100},
		{7 << 10, 8 << 10, 100},
		{4 << 30, 8 << 30, 50},
	} {
		if got := fullness(x.taken, x.most); got != x.want {
			t.Errorf("%d of %d: %d %%, want %d", x.taken, x.most, got, x.want)
		}
	}
}
