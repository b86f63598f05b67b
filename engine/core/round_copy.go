package core

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/held"
	"github.com/rondo-db/rondo/engine/internal/pending"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
)

// A groupCopy is what a group holds at one position.
type groupCopy struct {
	g    *group // what it is a copy of
	item digestItem
	tx   boltfile.Tx // shows the blocks that the state names
	code []byte      // the state record; nil: the group holds nothing
	rows []*pending.Rows
}

// copyGroups copies the groups of a shard that the step names. The caller holds the shard's mu.
func (run *digestRun) copyGroups(sh *shard) {
	begun := time.Now()
	var copies []*groupCopy
	var failed error
	for _, x := range run.step.items {
		g, err := run.d.s.catalogue.groupAt(x.class, x.group)
		if err != nil || g.shard != sh.id {
			failed = errors.Join(failed, err)
			continue
		}
		c, err := run.d.copyGroup(g, x)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		copies = append(copies, c)
	}
	run.mu.Lock()
	run.copies = append(run.copies, copies...)
	run.took += time.Since(begun)
	if run.err == nil {
		run.err = failed
	}
	run.mu.Unlock()
	if run.left.Add(-1) == 0 {
		// Shards come in no order.
		slices.SortFunc(run.copies, func(a, b *groupCopy) int { return a.item.compare(&b.item) })
		go run.finish()
	}
}

// compare orders items as rounds have them.
func (x *digestItem) compare(y *digestItem) int {
	for _, d := range [][2]uint64{
		{uint64(x.class), uint64(y.class)},
		{uint64(x.group), uint64(y.group)},
		{uint64(x.first), uint64(y.first)},
		{uint64(x.stream), uint64(y.stream)},
		{x.from, y.from},
	} {
		if d[0] != d[1] {
			if d[0] < d[1] {
				return -1
			}
			return 1
		}
	}
	return 0
}

// copyGroup copies a group as it is now.
func (d *digests) copyGroup(g *group, x digestItem) (*groupCopy, error) {
	for {
		tx, err := d.s.db.Begin()
		if err != nil {
			return nil, err
		}
		c := &groupCopy{g: g, item: x, tx: tx}
		stale, err := d.copyIn(c)
		if err == nil && !stale {
			return c, nil
		}
		c.tx.End()
		if err != nil {
			return nil, err
		}
	}
}

// copyIn copies a group beside the transaction of c. It reports true if the transaction is older
// than what the group knows of the database.
func (d *digests) copyIn(c *groupCopy) (stale bool, err error) {
	g := c.g
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.dirTx > c.tx.ID() {
		return true, nil
	}
	if !g.loaded && (len(g.deferred) > 0 || g.deferredErr != nil) {
		if err := d.s.loader.loadGroup(g, &c.tx); err != nil {
			return false, err
		}
	}
	if !g.loaded { // the database holds all of it
		return false, d.s.db.Guard(bucketState, func() error {
			c.code = slices.Clone(c.tx.Bucket(bucketState).Get(g.stateKey()))
			return nil
		})
	}
	dir := g.dir
	if g.nextTx != 0 && g.nextTx <= c.tx.ID() {
		dir = g.next
	}
	waiting := g.pend.Bytes()
	for _, p := range g.frozen {
		waiting += p.Bytes()
	}
	if waiting > copyMost {
		return false, fmt.Errorf("%d bytes of rows of one group wait for a checkpoint", waiting)
	}
	for _, p := range append(slices.Clone(g.frozen), &g.pend) {
		c.rows = append(c.rows, p.Copy())
	}
	c.code = endState(g.appendState(nil), dir.Clone(len(g.c.streams)), g.stateKey())
	return false, nil
}

// series takes the digest of a copied group, and ends its transaction.
func (run *digestRun) series(c *groupCopy) error {
	f := &fetcher{s: run.d.s, tx: c.tx, key: make([]byte, 0, rowblock.KeyRoom)}
	defer f.close()
	if c.code == nil {
		return nil
	}
	g := &group{c: c.g.c, id: c.g.id}
	defer g.unload()
	if err := g.decodeState(c.code); err != nil {
		return run.d.s.loader.damagedState(c.g, err)
	}
	g.loaded, g.frozen = true, c.rows
	x := &c.item
	whole := x.rows == 0 || x.stream == 0 && x.from == 0 // the first item of these series
	for i := x.first; i < x.first+x.n; i++ {
		if !g.alive(int(i)) {
			continue
		}
		if err := g.usable(int(i)); err != nil {
			return err
		}
		if whole {
			run.state(g, int(i))
		}
		if err := run.rows(f, g, int(i), x); err != nil {
			return run.d.s.withPath(c.g.ref(int(i)), err)
		}
	}
	if whole && x.first == 0 {
		run.sum.bytes(held.Append(appendTexts(nil, g.texts), g.held))
	}
	return nil
}

// state takes the digest of the state of a series.
func (run *digestRun) state(g *group, i int) {
	run.sum.add(uint64(i))
	run.sum.add(uint64(g.defs[i]))
	for _, w := range g.loadWords(i, nil) {
		run.sum.add(w)
	}
	for j := i * g.c.sources; j < (i+1)*g.c.sources; j++ {
		run.sum.add(g.ctx[j])
		run.sum.add(uint64(g.ctxTag[j]))
	}
}

// rows takes the digest of the rows of a series that an item names.
func (run *digestRun) rows(f *fetcher, g *group, i int, x *digestItem) error {
	d := g.definition(i)
	def := d.m.Definition()
	last := g.lastUpdate(i).Unix()
	for st, stream := range d.m.Streams() {
		if x.rows != 0 && st != int(x.stream) {
			continue
		}
		longest := slices.IndexFunc(stream.Archives, func(a int) bool { return def.Archives[a].Rows == stream.Rows })
		if longest < 0 {
			continue
		}
		span := stream.PDPs * def.Step
		end := rowblock.FloorDiv(last, span)
		from, to := end-stream.Rows, end // rows from+1 to to
		if x.rows != 0 {
			from += int64(min(x.from, uint64(stream.Rows)))
			to = min(to, from+int64(min(x.rows, uint64(stream.Rows))))
		}
		for piece := int64(max(digestRows/len(def.Sources), 1)); from < to; from += piece {
			if err := f.read(g, i, stream.Archives[longest], from*span, min(from+piece, to)*span); err != nil {
				return err
			}
			for k, v := range f.rows.Values {
				if v == v {
					run.sum.add(uint64(from)*uint64(len(def.Sources)) + uint64(k))
					run.sum.add(math.Float64bits(v))
				}
			}
		}
	}
	return nil
}

// A mixer makes one number of many, in their order. It is for numbers that nobody chooses to
// collide. Another mixer needs another stepVersion.
type mixer struct{ h uint64 }

func (m *mixer) add(v uint64) {
	h := m.h ^ v*0x9e3779b97f4a7c15
	m.h = (h<<29|h>>35)*0xbf58476d1ce4e5b9 + 0x94d049bb133111eb
}

func (m *mixer) bytes(b []byte) {
	m.add(uint64(len(b)))
	for len(b) > 0 {
		var v uint64
		n := min(len(b), 8)
		for i := range n {
			v |= uint64(b[i]) << (8 * i)
		}
		m.add(v)
		b = b[n:]
	}
}

func (m *mixer) text(s string) { m.bytes([]byte(s)) }

// value returns the number.
func (m *mixer) value() uint64 {
	h := m.h
	h ^= h >> 32
	h *= 0xd6e8feb86659fd93
	return h ^ h>>32
}
