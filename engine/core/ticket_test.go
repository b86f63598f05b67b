package core_test

import (
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/rra"
)

// TestTicketTells: a ticket reports each batch, one that is refused too, and is done by then.
func TestTicketTells(t *testing.T) {
	s := enginetest.Open(t)
	f := newFeeder(t, s, 1)
	var ticket core.Ticket
	if !ticket.Done() {
		t.Error("a ticket that stands for no batch is not done: Wait returns at once")
	}
	told := make(chan bool, 1)
	ticket.Notify(func() { told <- ticket.Done() })
	for i, ref := range []core.Ref{f.refs[0], f.refs[0], core.Ref(1 << 40)} {
		var b core.Batch
		b.Add(ref, f.at()+rra.Seconds(int64(10+10*i)), rra.Float(1))
		if err := s.Submit(t.Context(), &b, &ticket); err != nil {
			t.Fatal(err)
		}
		if !<-told || !ticket.Done() {
			t.Errorf("batch %d: not done although it was told", i)
		}
		if err := ticket.Wait(); (err != nil) != (ref != f.refs[0]) {
			t.Errorf("batch %d: %v", i, err)
		}
	}
}
