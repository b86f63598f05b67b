package core_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/wal"
	"github.com/rondo-db/rondo/wal/waltest"
)

// A follower that meets a record of a newer program halts in front of it, says so, and applies
// nothing of what follows. It does not lead either.
func TestRecordsOfNewerPrograms(t *testing.T) {
	note := append([]byte{record.KindNote}, 1, 'k', 0, 0, 0, 0)
	for name, x := range map[string]struct {
		rec  []byte
		says string
	}{
		"a kind":       {[]byte{99, 1, 2}, "record of kind 99, which this program does not know"},
		"more":         {append(note, 7), "record of kind 5 has more than this program knows of"},
		"create flags": {[]byte{record.KindCreate, 1, 32, 1, 'x', 0, 0}, "the flags 0x20"},
	} {
		t.Run(name, func(t *testing.T) {
			log := waltest.NewStream(1)
			o := shared(core.Options{}, log)
			leader, err := core.Open(t.TempDir(), o)
			if err != nil {
				t.Fatal(err)
			}
			mustPromote(t, leader)
			mustCreate(t, leader, "before", testDefinition(t, "DS:x:GAUGE:100:U:U", "RRA:AVERAGE:0.5:1:20"))
			mustClose(t, leader.Close())
			last := log.Reader().Last()
			durable := make(chan error, 1)
			writer, err := log.Open(last, func(_, _ wal.Pos, err error) { durable <- err })
			if err != nil {
				t.Fatal(err)
			}
			if _, err := writer.Enqueue(x.rec); err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-durable:
				if err != nil {
					t.Fatal(err)
				}
			case <-time.After(patience):
				t.Fatal("the record does not become durable")
			}
			s, err := core.Open(t.TempDir(), o)
			if err != nil {
				t.Fatal(err)
			}
			st := awaitRole(t, s, core.Halted)
			if !errors.Is(st.Err, core.ErrNewer) || !strings.Contains(st.Err.Error(), x.says) {
				t.Errorf("it halts because of %v, want %s", st.Err, x.says)
			}
			if st.Position != last {
				t.Errorf("it stands at %d, the record before is at %d", st.Position, last)
			}
			if _, err := s.Lookup("before"); err != nil {
				t.Errorf("what came before: %v", err)
			}
			if err := s.Promote(t.Context()); err == nil {
				t.Error("it leads")
			}
			mustClose(t, s.Close())
		})
	}
}
