package core

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	bolt "go.etcd.io/bbolt"

	"github.com/rondo-db/rondo/wal"
)

// A Problem is one thing Check found.
type Problem struct {
	Where string // bucket and key, series, or segment
	What  string
}

func (p Problem) String() string { return p.Where + ": " + p.What }

const maxProblems = 1000

// A checker walks one transaction.
type checker struct {
	s        *Store
	tx       *bolt.Tx
	pos      wal.Pos // of the catalogue
	problems []Problem
	blocks   map[string]bool     // keys of rows that a directory names
	lags     map[string]lagEntry // group and index of series that a directory says lag
	postings map[string]*posting
	next     map[uint32]uint32 // by class: above every number in use
	top      wal.Pos           // no group may stand for more of the log
}

// Check walks every invariant of the store and returns what it finds broken: the structure of the
// database, names, series and labels against each other, every state record, every row block
// against the directory that names it, and every block of the log. The store stays in use.
func (s *Store) Check(ctx context.Context) ([]Problem, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	c := &checker{
		s: s, blocks: make(map[string]bool), lags: make(map[string]lagEntry),
		postings: make(map[string]*posting), next: make(map[uint32]uint32),
	}
	endless, err := c.structure()
	if err != nil {
		return nil, err
	}
	err = s.db.View(nil, func(tx *bolt.Tx) error {
		c.tx = tx
		c.pos = wal.Pos(metaNumber(tx.Bucket(bucketMeta), metaCatalogue))
		c.top = max(wal.Pos(metaNumber(tx.Bucket(bucketMeta), metaGroups)), c.pos, s.log.Last())
		for _, step := range c.steps() {
			if err := ctx.Err(); err != nil {
				return err
			}
			if b := slices.IndexFunc(step.reads, func(b []byte) bool { return endless[string(b)] || endless[""] }); b >= 0 {
				c.add(string(step.reads[b]), "its pages are damaged so that it was not looked into")
			} else if err := s.db.guard(step.reads[0], func() error { step.run(); return nil }); err != nil {
				c.add(string(step.reads[0]), "not looked into any further: %v", err)
			}
		}
		return nil
	})
	if err != nil {
		return c.problems, err
	}
	if err := s.log.Blocks(0, func(b wal.Block) error {
		for _, rec := range b.Records() {
			if rec.Err != nil {
				return rec.Err
			}
		}
		return ctx.Err()
	}); err != nil {
		c.add(dirLog, "%v", err)
	}
	return c.problems, ctx.Err()
}

// A checkStep is a part of Check, and the buckets that it reads.
type checkStep struct {
	run   func()
	reads [][]byte
}

func (c *checker) steps() []checkStep {
	return []checkStep{
		{c.catalogue, [][]byte{bucketNames, bucketSeries, bucketClasses, bucketDefs, bucketMeta}},
		{c.definitions, [][]byte{bucketDefs, bucketClasses}},
		{c.groups, [][]byte{bucketState, bucketSeries}},
		{c.rows, [][]byte{bucketRows}},
		{c.lag, [][]byte{bucketLag}},
		{c.labels, [][]byte{bucketLabels}},
		{c.notes, [][]byte{bucketNotes}},
		{c.metadata, [][]byte{bucketMetadata, bucketMeta}},
	}
}

// structure checks the pages of the database, which nobody may change meanwhile: checkpoints wait. It returns
// the buckets that must not be walked.
func (c *checker) structure() (endless map[string]bool, err error) {
	c.s.checkpointMu.Lock()
	defer c.s.checkpointMu.Unlock()
	return c.s.db.walk(func(bucket, what string) {
		where := fileDB
		if bucket != "" {
			where += ", bucket " + bucket
		}
		c.add(where, "%s", what)
	})
}

func (c *checker) add(where, format string, args ...any) {
	if len(c.problems) < maxProblems {
		c.problems = append(c.problems, Problem{where, fmt.Sprintf(format, args...)})
	}
}

// catalogue compares names and series.
func (c *checker) catalogue() {
	names, series := c.tx.Bucket(bucketNames), c.tx.Bucket(bucketSeries)
	count := int64(0)
	cur := names.Cursor()
	for k, v := cur.First(); k != nil; k, v = cur.Next() {
		count++
		where := fmt.Sprintf("names %q", k)
		if len(v) != 8 {
			c.add(where, "value of %d bytes", len(v))
			continue
		}
		raw := series.Get(v)
		if raw == nil {
			c.add(where, "no series %x", v)
			continue
		}
		if rec, err := c.s.decodeRecord(raw); err != nil {
			c.add(where, "%v", err)
		} else if nameKey(rec.path) != string(k) {
			c.add(where, "series %x has the path %q", v, rec.path)
		}
	}
	others := int64(0)
	cur = series.Cursor()
	for k, v := cur.First(); k != nil; k, v = cur.Next() {
		others++
		c.series(k, v)
	}
	if others != count {
		c.add("series", "%d records for %d names", others, count)
	}
	if n := int64(metaNumber(c.tx.Bucket(bucketMeta), metaCount)); n != count {
		c.add("meta count", "%d, but there are %d names", n, count)
	}
}

func (c *checker) series(k, v []byte) {
	where := fmt.Sprintf("series %x", k)
	rec, err := c.s.decodeRecord(v)
	if err != nil || len(k) != 8 {
		c.add(where, "does not parse")
		return
	}
	if got := c.tx.Bucket(bucketNames).Get([]byte(nameKey(rec.path))); !bytes.Equal(got, k) {
		c.add(where, "its name %q leads to %x", rec.path, got)
	}
	ref := Ref(binary.BigEndian.Uint64(k))
	cl := c.s.class(ref.class())
	if cl == nil {
		c.add(where, "no class %d", ref.class())
		return
	}
	c.next[cl.id] = max(c.next[cl.id], ref.number()+1)
	if c.tx.Bucket(bucketDefs).Get(binary.BigEndian.AppendUint32(nil, rec.def)) == nil {
		c.add(where, "no definition %d", rec.def)
	}
	if c.tx.Bucket(bucketClasses).Get(binary.BigEndian.AppendUint32(nil, cl.id)) == nil {
		c.add(where, "no record of class %d", cl.id)
	}
	for _, l := range rec.labels {
		key := string(groupKey(labelKey(l), cl.id, ref.number()>>cl.shift))
		p := c.postings[key]
		if p == nil {
			p = &posting{}
			c.postings[key] = p
		}
		p.set(cl.index(ref.number()))
	}
}

// labels compares the label index with what the series say.
func (c *checker) labels() {
	cur := c.tx.Bucket(bucketLabels).Cursor()
	for k, v := cur.First(); k != nil; k, v = cur.Next() {
		want := c.postings[string(k)]
		if want == nil {
			c.add(fmt.Sprintf("labels %q", k), "no series carries it")
		} else if got := decodePosting(v); got != *want {
			c.add(fmt.Sprintf("labels %q", k), "does not name the series that carry it")
		}
		delete(c.postings, string(k))
	}
	for k := range c.postings {
		c.add(fmt.Sprintf("labels %q", k), "is missing")
	}
}

// groups decodes every state record.
func (c *checker) groups() {
	cur := c.tx.Bucket(bucketState).Cursor()
	for k, v := cur.First(); k != nil; k, v = cur.Next() {
		where := fmt.Sprintf("state %x", k)
		if len(k) != 8 {
			c.add(where, "key of %d bytes", len(k))
			continue
		}
		cl := c.s.class(binary.BigEndian.Uint32(k))
		if cl == nil {
			c.add(where, "no such class")
			continue
		}
		g := &group{c: cl, id: binary.BigEndian.Uint32(k[4:])}
		if err := g.decodeState(c.s, v); err != nil {
			c.add(where, "%v", err)
			g.unload(c.s)
			continue
		}
		c.s.heldCount.Add(-countHeld(g.held))
		c.group(where, g)
		g.unload(c.s)
	}
}

func countHeld(held map[int]*heldSamples) (n int64) {
	for _, h := range held {
		n += int64(len(h.samples))
	}
	return n
}

// group compares one state record with catalogue and rows.
func (c *checker) group(where string, g *group) {
	if g.pos > c.top {
		c.add(where, "stands for log position %d, the log and the store end at %d", g.pos, c.top)
	}
	for i := range g.n {
		c.member(where, g, i)
	}
	for i, err := range g.refused {
		c.add(where, "series %#x: %v", uint64(makeRef(g.c.id, g.id<<g.c.shift+uint32(i))), errors.Unwrap(err))
	}
	for _, e := range g.dir.lags {
		c.lags[string(binary.BigEndian.AppendUint16(g.stateKey(), e.index))] = e
	}
	for st, entries := range g.dir.slots {
		for _, e := range entries {
			for sub := e.lo; sub < e.hi; sub++ {
				c.blocks[string(rowKey(nil, g.c.id, st, e.slot, sub, g.id))] = true
			}
		}
	}
}

// member compares one series of a state record with the catalogue.
func (c *checker) member(where string, g *group, i int) {
	ref := makeRef(g.c.id, g.id<<g.c.shift+uint32(i))
	raw := c.tx.Bucket(bucketSeries).Get(refKey(ref))
	if g.pos <= c.pos && (raw != nil) != g.alive(i) {
		c.add(where, "series %#x: in the catalogue %v, in the group %v", uint64(ref), raw != nil, g.alive(i))
	}
	if !g.alive(i) {
		return
	}
	if g.defs[i] == 0 || int(g.defs[i]) > len(*c.s.catalogue.defs.Load()) || c.s.definition(g.defs[i]).class != g.c {
		c.add(where, "series %#x: definition %d is not of its class", uint64(ref), g.defs[i])
		return
	}
	if raw == nil {
		return
	}
	if rec, err := c.s.decodeRecord(raw); err == nil && rec.def != g.defs[i] {
		c.add(where, "series %#x: definition %d, in the catalogue %d", uint64(ref), g.defs[i], rec.def)
	}
}

// rows checks every block, and that directories and blocks name each other.
func (c *checker) rows() {
	cur := c.tx.Bucket(bucketRows).Cursor()
	for k, v := cur.First(); k != nil; k, v = cur.Next() {
		where := fmt.Sprintf("rows %x", k)
		if !c.blocks[string(k)] {
			c.add(where, "no directory names it")
		}
		delete(c.blocks, string(k))
		class, stream, _, _, _, ok := parseRowKey(k)
		cl := c.s.class(class)
		if !ok || cl == nil || stream >= len(cl.streams) {
			c.add(where, "no such class or stream")
			continue
		}
		b, err := openBlock(k, v)
		if err != nil {
			c.add(where, "%v", err)
			continue
		}
		c.block(where, &b, &cl.streams[stream], cl)
	}
	for k := range c.blocks {
		c.add(fmt.Sprintf("rows %x", k), "%v", errMissing)
	}
}

func (c *checker) block(where string, b *block, st *stream, cl *class) {
	if b.columns > cl.sources<<cl.shift {
		c.add(where, "%d columns", b.columns)
		return
	}
	for i := range b.columns {
		col, err := b.column(i)
		if err == nil {
			err = splitColumn(col, st, func(int, int, []byte) {})
		}
		if err != nil {
			c.add(where, "column %d: %v", i, err)
		}
	}
	if b.size() != len(b.data) {
		c.add(where, "%d bytes, not %d", len(b.data), b.size())
	}
}

// lag checks the rows of series that have fallen behind.
func (c *checker) lag() {
	found := make(map[string]lagEntry)
	cur := c.tx.Bucket(bucketLag).Cursor()
	for k, v := cur.First(); k != nil; k, v = cur.Next() {
		where := fmt.Sprintf("lag %x", k)
		if len(k) != lagKeySize {
			c.add(where, "key of %d bytes", len(k))
			continue
		}
		cl := c.s.class(binary.BigEndian.Uint32(k))
		stream := int(binary.BigEndian.Uint16(k[10:]))
		if cl == nil || stream >= len(cl.streams) {
			c.add(where, "no such class or stream")
			continue
		}
		rows, err := cutSum(v, bucketLag, k)
		if err == nil {
			err = splitColumn(rows, &cl.streams[stream], func(int, int, []byte) {})
		}
		if err != nil {
			c.add(where, "%v", err)
		}
		index := uint16(lagColumn(k) / cl.sources)
		name := string(binary.BigEndian.AppendUint16(bytes.Clone(k[:8]), index))
		e := found[name]
		found[name] = lagEntry{index, e.records + 1, e.keys ^ crc32.Checksum(k, castagnoli)}
		if c.lags[name].records == 0 {
			c.add(where, "no directory names it")
		}
	}
	for name, e := range c.lags {
		if found[name] != e {
			c.add(fmt.Sprintf("state %x", name[:8]), "series %d has %d records of rows in lag, not the %d that were written", e.index, found[name].records, e.records)
		}
	}
}

// definitions compares what is stored of classes and definitions with what is in use.
func (c *checker) definitions() {
	defs := *c.s.catalogue.defs.Load()
	cur := c.tx.Bucket(bucketDefs).Cursor()
	for k, v := cur.First(); k != nil; k, v = cur.Next() {
		where := fmt.Sprintf("defs %x", k)
		if len(k) != 4 || binary.BigEndian.Uint32(k) == 0 || int(binary.BigEndian.Uint32(k)) > len(defs) {
			c.add(where, "no such definition")
		} else if d := defs[binary.BigEndian.Uint32(k)-1]; !bytes.Equal(v, appendDefinition(nil, d.m.Definition())) {
			c.add(where, "is not what it was when the store was opened")
		}
	}
	cur = c.tx.Bucket(bucketClasses).Cursor()
	for k, v := cur.First(); k != nil; k, v = cur.Next() {
		where := fmt.Sprintf("classes %x", k)
		if len(k) != 4 || c.s.class(binary.BigEndian.Uint32(k)) == nil {
			c.add(where, "no such class")
			continue
		}
		cl := c.s.class(binary.BigEndian.Uint32(k))
		stored := &class{shape: cl.shape, sources: cl.sources, streams: slices.Clone(cl.streams)}
		switch err := stored.decode(v); {
		case err != nil:
			c.add(where, "%v", err)
		case stored.shift != cl.shift || !slices.Equal(stored.streams, cl.streams):
			c.add(where, "is not what it was when the store was opened")
		case stored.next < c.next[cl.id]:
			c.add(where, "would give number %d again", stored.next)
		}
	}
}

func (c *checker) notes() {
	if err := new(notes).load(c.tx); err != nil {
		c.add("notes", "%v", err)
	}
}

// metadata checks that all of it parses, and its count.
func (c *checker) metadata() {
	b := c.tx.Bucket(bucketMetadata)
	if b == nil {
		return
	}
	count := int64(0)
	cur := b.Cursor()
	for k, v := cur.First(); k != nil; k, v = cur.Next() {
		count++
		if _, err := decodeMetadata(v); err != nil {
			c.add(fmt.Sprintf("metadata %q", k), "%v", err)
		}
	}
	if n := int64(metaNumber(c.tx.Bucket(bucketMeta), metaMetadata)); n != count {
		c.add("meta metadata", "%d, but there are %d paths", n, count)
	}
}
