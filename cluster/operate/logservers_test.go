package operate_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/rondo-db/rondo/cluster/operate"
	"github.com/rondo-db/rondo/wal/jetstream"
)

// kept returns a log that servers keep. One is silent, and some lack messages.
func kept(servers []string, missing string, lag map[string]uint64) (k jetstream.StreamHealth) {
	for _, s := range servers {
		x := jetstream.ReplicaHealth{Server: s, Lag: lag[s]}
		if s == missing {
			x.Missing = "is silent"
		}
		k.Replicas = append(k.Replicas, x)
	}
	return k
}

// TestLogServersInWords: what is wrong with the servers that keep the logs is reported with what
// the next loss does, and no cluster with it is whole.
func TestLogServersInWords(t *testing.T) {
	three, five := []string{"n1", "n2", "n3"}, []string{"n1", "n2", "n3", "n4", "n5"}
	there := func(names ...string) (all []jetstream.ServerHealth) {
		for _, n := range names {
			all = append(all, jetstream.ServerHealth{Name: n})
		}
		return all
	}
	with := func(all []jetstream.ServerHealth, name, problem string) []jetstream.ServerHealth {
		all = slices.Clone(all)
		for i := range all {
			if all[i].Name == name {
				all[i].Problem = problem
			}
		}
		return all
	}
	good := kept(three, "", nil)
	two := jetstream.StreamHealth{Replicas: []jetstream.ReplicaHealth{{Server: "n1"}, {Server: "n2", Missing: "is silent"}, {Server: "n3", Missing: "is silent"}}}
	none := jetstream.StreamHealth{Err: errors.New("no answer")}
	late := kept(three, "", map[string]uint64{"n3": 2000})
	for _, x := range []struct {
		name            string
		known           *operate.LogServers
		missing, behind int
		lines           []string
	}{
		{"all there", &operate.LogServers{Servers: there(three...), Logs: []jetstream.StreamHealth{good, good}, Map: good}, 0, 0, nil},
		{"one is dead", &operate.LogServers{
			Servers: with(there(three...), "n3", "does not answer"), Map: kept(three, "n3", nil),
			Logs: []jetstream.StreamHealth{kept(three, "n3", nil), kept(three, "n3", nil)},
		}, 1, 0, []string{"warning: nats-server n3 does not answer: 2 of 3 servers keep the logs of partitions 0, 1 and the map of partitions, and updates wait when another one is lost"}},
		{"one has died just now", &operate.LogServers{
			Servers: with(there(three...), "n3", "does not answer"), Map: good, Logs: []jetstream.StreamHealth{good, good},
		}, 1, 0, []string{"warning: nats-server n3 does not answer"}},
		{"one that nobody knows", &operate.LogServers{
			Servers: append(there(three...), jetstream.ServerHealth{Problem: "does not answer at m4"}), Map: good, Logs: []jetstream.StreamHealth{good, good},
		}, 1, 0, []string{"warning: a nats-server does not answer at m4"}},
		{"two are dead", &operate.LogServers{
			Servers: with(with(there(three...), "n3", "is silent"), "n2", "is silent"), Map: two, Logs: []jetstream.StreamHealth{two, good},
		}, 2, 0, []string{
			"error: nats-server n2 is silent: 1 of 3 servers keeps the log of partition 0 and the map of partitions, so updates wait",
			"error: nats-server n3 is silent: 1 of 3 servers keeps the log of partition 0 and the map of partitions, so updates wait",
		}},
		{"nobody leads", &operate.LogServers{Servers: there("n1"), Map: good, Logs: []jetstream.StreamHealth{none, good}}, 0, 0, []string{
			"error: no nats-server leads the log of partition 0: updates wait: no answer",
		}},
		{"five servers", &operate.LogServers{
			Servers: with(there(five...), "n5", "is silent"), Map: good, Logs: []jetstream.StreamHealth{kept(five, "n5", nil), good},
		}, 1, 0, []string{"warning: nats-server n5 is silent: 4 of 5 servers keep the log of partition 0, and updates wait when 2 others are lost"}},
		{"one follows only some logs", &operate.LogServers{
			Servers: there(three...), Map: good, Logs: []jetstream.StreamHealth{good, kept(three, "n3", nil)},
		}, 0, 1, []string{"warning: nats-server n3 is silent in the log of partition 1: 2 of 3 servers keep the log of partition 1, and updates wait when another one is lost"}},
		{"one is far behind", &operate.LogServers{Servers: there(three...), Map: good, Logs: []jetstream.StreamHealth{good, late}}, 0, 1, []string{
			"warning: nats-server n3 is behind in the log of partition 1, by up to 2000 messages: 2 of 3 servers keep the log of partition 1, and updates wait when another one is lost",
		}},
		{"two are far behind", &operate.LogServers{
			Servers: there(three...), Map: good, Logs: []jetstream.StreamHealth{kept(three, "", map[string]uint64{"n2": 1, "n3": 2000}), good},
		}, 0, 2, []string{
			"warning: nats-server n2 is behind in the log of partition 0, by up to 1 message: 1 of 3 servers keeps the log of partition 0, and updates wait when another one is lost",
			"warning: nats-server n3 is behind in the log of partition 0, by up to 2000 messages: 1 of 3 servers keeps the log of partition 0, and updates wait when another one is lost",
		}},
		{"a log was deleted", &operate.LogServers{Servers: there("n1"), Logs: []jetstream.StreamHealth{{Err: jetstream.ErrNoStream}, good}, Map: good}, 0, 0, []string{
			"error: the servers of NATS do not have the log of partition 0: not made yet, deleted or lost; updates wait until a node makes it",
		}},
		{"one server alone", &operate.LogServers{Servers: there("n1"), Map: kept([]string{"n1"}, "", nil), Logs: []jetstream.StreamHealth{kept([]string{"n1"}, "", nil), good}}, 0, 0, nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			s := newWorld(t, 2, 2, "a", "b").state(1)
			s.AddLogServers(x.known)
			want(t, s, x.lines == nil, x.lines...)
			if m, b := x.known.Missing(), x.known.Behind(); m != x.missing || b != x.behind {
				t.Errorf("%d are missing and %d behind, want %d and %d", m, b, x.missing, x.behind)
			}
		})
	}
	s := newWorld(t, 2, 2, "a", "b").state(1)
	s.AddLogServers(nil)
	want(t, s, true)
}

// Where no server leads the map, no node can announce itself: status said that all are dead, that
// nothing can be read, and to start more nodes.
func TestSilenceWithoutMapIsNoDeath(t *testing.T) {
	w := newWorld(t, 2, 2, "a", "b")
	w.nodes["a"].mute, w.nodes["b"].mute = true, true
	s := w.state(10)
	s.AddLogServers(&operate.LogServers{Logs: make([]jetstream.StreamHealth, 2), Map: jetstream.StreamHealth{Err: errors.New("it has no leader")}})
	want(t, s, false,
		"error: no node can announce itself while no nats-server leads the map of partitions, so nodes that are silent may live: they are read as they were heard last",
		"error: no nats-server leads the map of partitions: updates wait: it has no leader")
}

// TestFullLogs: status reports logs before they are full.
func TestFullLogs(t *testing.T) {
	at := func(full int) jetstream.StreamHealth {
		k := kept([]string{"n1", "n2", "n3"}, "", nil)
		k.Full = full
		return k
	}
	const why = "until replicas that are behind have what is in it, or their nodes have been silent for ten minutes"
	for _, x := range []struct {
		logs  []int
		lines []string
	}{
		{[]int{0, 79}, nil},
		{[]int{0, 80, 90}, []string{"warning: the logs of partitions 1, 2 are full to 90 %: updates are refused when nothing is left, " + why}},
		{[]int{98, 80}, []string{
			"error: the log of partition 0 is full: updates are refused " + why,
			"warning: the log of partition 1 is full to 80 %: updates are refused when nothing is left, " + why,
		}},
	} {
		l := &operate.LogServers{Map: at(100)}
		for _, full := range x.logs {
			l.Logs = append(l.Logs, at(full))
		}
		s := &operate.State{}
		s.AddLogServers(l)
		if got := texts(s); !slices.Equal(got, x.lines) {
			t.Errorf("%v: %q, want %q", x.logs, got, x.lines)
		}
	}
}
