package core

import (
	"sync"
	"sync/atomic"

	"github.com/rondo-db/rondo/rra"
)

const (
	maxShards  = 64 // bits in delivery.masks
	shardQueue = 64 // deliveries waiting for a shard; when it is full the log waits
)

// A shard owns the groups that hash to it. One goroutine applies records to them.
type shard struct {
	id      int
	work    chan *delivery
	sent    uint64        // deliveries put into work; guarded by the appender's dispatching
	done    atomic.Uint64 // of these, those that are dealt with
	applied atomic.Uint64 // position of the last record applied

	// mu is held while one record is applied, and guards reorder. A snapshot takes it before the
	// lock of a group, so that it sees the group between two records and never within one.
	mu      sync.Mutex
	reorder rra.Time // the reorder window in force

	// The goroutine alone uses what follows, and keeps it from record to record.
	runs   []rra.Run    // rows of one step
	block  rra.Block    // series that step together
	index  []int32      // of the series of a run
	reach  int          // how many samples are looked at for it
	words  []uint64     // a copy of the state at hand
	state  rra.State    // of the series at hand: a local variable would escape to the heap
	batch  Batch        // decoded records
	before func(*group) // called before a record changes a group; nil: nobody wants to know
	coder  bufferCoder
	stats  shardStats

	_ [128]byte // shards do not share cache lines
}

// keepRuns keeps the longest slice of rows for the next step.
func (sh *shard) keepRuns(runs []rra.Run) {
	if cap(runs) > cap(sh.runs) {
		sh.runs = runs[:0]
	}
}

// step refuses a late reading. It applies any other one to the series at an index and pushes the
// rows that it closes. The caller holds the group's lock.
func (sh *shard) step(g *group, d *definition, index int, at rra.Time, values []rra.Value, texts []string) error {
	if last := g.lastUpdate(index); at <= last {
		return &rra.TimeError{At: at, Last: last} // what Step says, without a copy of the state
	}
	if g.c.tabular && sh.stepAlone(g, d, index, at, values, texts) {
		return nil
	}
	st := &sh.state
	st.W, st.Text = g.loadWords(index, sh.words), nil
	if g.c.tabular {
		sh.words = st.W
	}
	if g.texts != nil {
		st.Text = g.texts[index]
	}
	hadText := st.Text != nil
	runs, err := d.m.Step(st, at, values, texts, sh.runs[:0])
	if g.c.tabular {
		g.storeWords(index, st.W)
	}
	sh.keepRuns(runs)
	if hadText || st.Text != nil {
		g.setText(index, st.Text)
	}
	for i := range runs {
		g.push(&sh.coder, index, &runs[i])
	}
	return err
}

// stepAlone is step for a reading that a block takes, and returns false for any other.
func (sh *shard) stepAlone(g *group, d *definition, index int, at rra.Time, values []rra.Value, texts []string) bool {
	sh.block.Begin(g.table(), at)
	taken, kept := sh.block.Take(d.m, ascending[index:index+1], values, texts)
	if taken == 0 {
		return false
	}
	for _, t := range kept {
		g.setText(index, t.Texts)
	}
	rows := sh.block.End()
	for i := range rows {
		g.pushBlock(&sh.coder, sh.block.Index(), &rows[i])
	}
	return true
}
