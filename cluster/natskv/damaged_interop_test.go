package natskv_test

import (
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/natskv"
	"github.com/rondo-db/rondo/cluster/placement"
	"github.com/rondo-db/rondo/internal/natstest"
)

// TestDamagedValue: a value whose bits have flipped in a server's file is not believed, and can be
// written again. A value that a server has lost can be written again, too: the map was lost so, and
// a node that was started made another cluster.
func TestDamagedValue(t *testing.T) {
	n := natstest.One(t)
	s := connect(t, natskv.Options{URL: n.URL, Bucket: "cluster", AcceptFewerReplicas: true})
	js := natstest.JetStream(t, n.URL)
	m, err := placement.New(2, 1, []placement.Member{{Name: "a"}})
	if err != nil {
		t.Fatal(err)
	}
	m.Cluster = "one"
	if _, err := coord.WriteMap(t.Context(), s, m, 0); err != nil {
		t.Fatal(err)
	}
	e, err := s.Get(t.Context(), "all.map")
	if err != nil || e.Damaged {
		t.Fatalf("%+v, %v", e, err)
	}
	flipped := nats.NewMsg("$KV.cluster.all.map")
	flipped.Data = append([]byte{}, e.Value...)
	flipped.Data[len(flipped.Data)/2] ^= 4
	flipped.Header.Set("Rondo-Sum", "1234567")
	ack, err := js.PublishMsg(t.Context(), flipped)
	if err != nil {
		t.Fatal(err)
	}
	if e, err := s.Get(t.Context(), "all.map"); err != nil || !e.Damaged || e.Value != nil || e.Revision != ack.Sequence {
		t.Errorf("a damaged value: %+v, %v", e, err)
	}
	knows, new := coord.NewWatcher(s, coord.Times{}, nil), coord.NewWatcher(s, coord.Times{}, nil)
	knows.Know(m)
	look := func(w *coord.Watcher, lost, has bool) *coord.View {
		t.Helper()
		v, err := w.Look(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if v.MapLost != lost || v.HasMap() != has {
			t.Errorf("lost %v, map %+v", v.MapLost, v.Map)
		}
		return v
	}
	look(new, true, false)
	v := look(knows, true, true)
	if _, err := coord.WriteMap(t.Context(), s, v.Map, v.MapRevision); err != nil {
		t.Fatal(err)
	}
	look(new, false, true)
	look(knows, false, true)
	stream, err := js.Stream(t.Context(), natskv.Stream("cluster"))
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Purge(t.Context(), jetstream.WithPurgeSubject("$KV.cluster.all.map")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.CompareAndSet(t.Context(), "all.member.a", []byte("{}"), 0); err != nil {
		t.Fatal(err)
	}
	v = look(knows, true, true)
	if _, err := coord.WriteMap(t.Context(), s, v.Map, v.MapRevision); err != nil {
		t.Fatal(err)
	}
	look(knows, false, true)

	// An older program wrote the map, without a checksum.
	for text, lost := range map[string]bool{string(e.Value): false, string(e.Value[:len(e.Value)-2]): true} {
		bare := nats.NewMsg("$KV.cluster.all.map")
		bare.Data = []byte(text)
		if _, err := js.PublishMsg(t.Context(), bare); err != nil {
			t.Fatal(err)
		}
		if v := look(coord.NewWatcher(s, coord.Times{}, nil), lost, !lost); !v.MapBare {
			t.Errorf("%q counts as one with a checksum", text)
		}
	}
}
