package core

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/engine/internal/labelindex"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
)

// A Problem is one thing Check found.
type Problem struct {
	Where string // bucket and key, series, or segment
	What  string

	newer bool // a newer version of rondo wrote it
}

func (p Problem) String() string { return p.Where + ": " + p.What }

const maxProblems = 1000

// A checker walks one transaction.
type checker struct {
	s        *Store
	tx       *boltfile.Tx
	pos      wal.Pos // of the catalogue
	problems []Problem
	blocks   map[string]*rowblock.Directory // by keys of rows that it names
	postings map[string]*labelindex.Posting
	members  map[groupID]int   // by group: series that the catalogue has
	broken   map[groupID]bool  // groups whose state cannot be read
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
		s: s, blocks: make(map[string]*rowblock.Directory), postings: make(map[string]*labelindex.Posting), next: make(map[uint32]uint32),
		members: make(map[groupID]int), broken: make(map[groupID]bool),
	}
	unfit, err := c.structure()
	if err != nil {
		return nil, err
	}
	err = s.db.View(nil, func(tx *boltfile.Tx) error {
		c.tx = tx
		c.meta()
		for _, step := range c.steps() {
			if err := ctx.Err(); err != nil {
				return err
			}
			if b := slices.IndexFunc(step.reads, func(b []byte) bool { return unfit[string(b)] || unfit[""] }); b >= 0 {
				c.add(string(step.reads[b]), "its pages are damaged so that it was not looked into")
			} else if err := s.db.Guard(step.reads[0], func() error { step.run(); return nil }); err != nil {
				c.add(string(step.reads[0]), "not looked into any further: %v", err)
			}
		}
		return nil
	})
	if err != nil {
		return c.problems, err
	}
	if err := s.log.get().Replay(0, func(wal.Pos, []byte) error { return ctx.Err() }); err != nil {
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
		{c.labels, [][]byte{bucketLabels}},
		{c.notes, [][]byte{bucketNotes}},
		{c.metadata, [][]byte{bucketMetadata, bucketMeta}},
	}
}

// structure checks the pages of the database, which nobody may change meanwhile: checkpoints wait.
// It returns the buckets that must not be walked.
func (c *checker) structure() (unfit map[string]bool, err error) {
	c.s.checkpoints.mu.Lock()
	defer c.s.checkpoints.mu.Unlock()
	return c.s.db.Walk(func(bucket, what string) {
		where := fileDB
		if bucket != "" {
			where += ", bucket " + bucket
		}
		c.add(where, "%s", what)
	})
}

func (c *checker) add(where, format string, args ...any) {
	if len(c.problems) >= maxProblems {
		return
	}
	p := Problem{Where: where, What: fmt.Sprintf(format, args...)}
	for _, a := range args {
		if err, ok := a.(error); ok && errors.Is(err, ErrNewer) {
			p.newer = true
		}
	}
	c.problems = append(c.problems, p)
}

// value adds what is wrong with the value of a key. It returns what the value holds, nil if it is
// damaged.
func (c *checker) value(bucket, k, v []byte) []byte {
	b, err := record.CutSum(v, bucket, k)
	if err != nil {
		c.add(string(bucket)+" "+damage.KeyText(k), "%v", err)
		return nil
	}
	return b
}

// meta reads the numbers of the store.
func (c *checker) meta() {
	numbers := make(map[string]uint64)
	for _, key := range metaNumbers {
		n, err := metaNumber(c.tx, key)
		if e, ok := errors.AsType[*DamageError](err); ok {
			c.add("meta "+string(key), "%v", e.Err)
		}
		numbers[string(key)] = n
	}
	if _, err := readStoreID(c.tx); err != nil {
		c.add("meta "+string(metaStore), "%v", errors.Unwrap(err))
	}
	c.pos = wal.Pos(numbers[string(metaCatalogue)])
	c.top = max(wal.Pos(numbers[string(metaGroups)]), c.pos, c.s.log.get().Last())
}

// counted compares a number of the bucket meta with what there is.
func (c *checker) counted(key []byte, n int64, what string) {
	if stored, err := metaNumber(c.tx, key); err == nil && int64(stored) != n {
		c.add("meta "+string(key), "%d, but there are %d %s", stored, n, what)
	}
}

// catalogue compares names and series.
func (c *checker) catalogue() {
	series := c.tx.Bucket(bucketSeries)
	count := int64(0)
	for k, v := range c.tx.Each(bucketNames) {
		count++
		where := "names " + damage.KeyText(k)
		b := c.value(bucketNames, k, v)
		if b == nil {
			continue
		}
		raw := series.Get(b)
		if len(b) != 8 || raw == nil {
			c.add(where, "no series %x", b)
			continue
		}
		if rec := c.record(b, raw); rec != nil && nameKey(rec.path) != string(k) {
			c.add(where, "series %x has the path %q", b, rec.path)
		}
	}
	others := int64(0)
	for k, v := range c.tx.Each(bucketSeries) {
		others++
		c.series(k, v)
	}
	if others != count {
		c.add("series", "%d records for %d names", others, count)
	}
	c.counted(metaCount, count, "names")
}

// record returns a record of a series, nil if it is damaged.
func (c *checker) record(k, v []byte) *seriesRecord {
	rec, _ := boltfile.Decode(new(damage.Seen), bucketSeries, k, v, c.s.catalogue.decodeRecord)
	return rec
}

func (c *checker) series(k, v []byte) {
	where := "series " + damage.KeyText(k)
	b := c.value(bucketSeries, k, v)
	if b == nil {
		return
	}
	rec, err := c.s.catalogue.decodeRecord(b)
	if err != nil {
		c.add(where, "%v", err)
		return
	}
	if len(k) != 8 {
		c.add(where, "key of %d bytes", len(k))
		return
	}
	got := c.tx.Bucket(bucketNames).Get([]byte(nameKey(rec.path)))
	if got == nil {
		c.add(where, "its name %q is missing", rec.path)
	} else if b, err := record.CutSum(got, bucketNames, []byte(nameKey(rec.path))); err == nil && !bytes.Equal(b, k) {
		c.add(where, "its name %q leads to %x", rec.path, b)
	}
	ref := Ref(binary.BigEndian.Uint64(k))
	cl := c.s.catalogue.class(ref.class())
	if cl == nil {
		c.add(where, "no class %d", ref.class())
		return
	}
	c.next[cl.id] = max(c.next[cl.id], ref.number()+1)
	c.members[cl.groupOf(ref.number())]++
	if c.tx.Bucket(bucketDefs).Get(binary.BigEndian.AppendUint32(nil, rec.def)) == nil {
		c.add(where, "no definition %d", rec.def)
	}
	if c.tx.Bucket(bucketClasses).Get(binary.BigEndian.AppendUint32(nil, cl.id)) == nil {
		c.add(where, "no record of class %d", cl.id)
	}
	for l := range rec.indexed() {
		key := string(cl.groupOf(ref.number()).AppendKey(labelindex.Key(l)))
		p := c.postings[key]
		if p == nil {
			p = &labelindex.Posting{}
			c.postings[key] = p
		}
		p.Set(cl.index(ref.number()))
	}
}

// labels compares the label index with what the series say.
func (c *checker) labels() {
	for k, v := range c.tx.Each(bucketLabels) {
		where := "labels " + damage.KeyText(k)
		want := c.postings[string(k)]
		if b := c.value(bucketLabels, k, v); b == nil {
		} else if got, err := labelindex.DecodePosting(b); err != nil {
			c.add(where, "%v", err)
		} else if want == nil {
			c.add(where, "no series carries it")
		} else if got != *want {
			c.add(where, "does not name the series that carry it")
		}
		delete(c.postings, string(k))
	}
	for k := range c.postings {
		c.add(fmt.Sprintf("labels %q", k), "is missing")
	}
}

// definitions compares what is stored of classes and definitions with what is in use.
func (c *checker) definitions() {
	defs := *c.s.catalogue.defs.Load()
	for k, v := range c.tx.Each(bucketDefs) {
		where := "defs " + damage.KeyText(k)
		if len(k) != 4 || binary.BigEndian.Uint32(k) == 0 || int(binary.BigEndian.Uint32(k)) > len(defs) {
			c.add(where, "no such definition")
		} else if b := c.value(bucketDefs, k, v); b == nil {
			continue
		} else if d := defs[binary.BigEndian.Uint32(k)-1]; !bytes.Equal(b, d.code()) {
			c.add(where, "is not what it was when the store was opened")
		}
	}
	for k, v := range c.tx.Each(bucketClasses) {
		where := "classes " + damage.KeyText(k)
		if len(k) != 4 || c.s.catalogue.class(binary.BigEndian.Uint32(k)) == nil {
			c.add(where, "no such class")
			continue
		}
		cl := c.s.catalogue.class(binary.BigEndian.Uint32(k))
		b := c.value(bucketClasses, k, v)
		if b == nil {
			continue
		}
		switch next, shape, err := readClass(b); {
		case err != nil:
			c.add(where, "%v", err)
		case shape != cl.shape:
			c.add(where, "is not what it was when the store was opened")
		case next < c.next[cl.id]:
			c.add(where, "would give number %d again", next)
		}
	}
}

func (c *checker) notes() {
	for k, v := range c.tx.Each(bucketNotes) {
		if _, err := decodeNotes(k, v); err != nil {
			c.add("notes "+damage.KeyText(k), "%v", err)
		}
	}
}

// metadata checks that all of it parses, and its count.
func (c *checker) metadata() {
	count := int64(0)
	for k, v := range c.tx.Each(bucketMetadata) {
		count++
		if b := c.value(bucketMetadata, k, v); b == nil {
			continue
		} else if _, err := decodeMetadata(b); err != nil {
			c.add("metadata "+damage.KeyText(k), "%v", err)
		}
	}
	c.counted(metaMetadata, count, "paths")
}

// groups decodes every state record.
func (c *checker) groups() {
	for k, v := range c.tx.Each(bucketState) {
		where := "state " + keyHex(k)
		if len(k) != 8 {
			c.add(where, "key of %d bytes", len(k))
			continue
		}
		cl := c.s.catalogue.class(binary.BigEndian.Uint32(k))
		if cl == nil {
			c.add(where, "no such class")
			continue
		}
		g := &group{c: cl, id: binary.BigEndian.Uint32(k[4:])}
		id := groupID{Class: cl.id, Number: g.id}
		if err := g.decodeState(v); err != nil {
			c.add(where, "%v: the last readings, unfinished rows and the list of row blocks of %s are lost", err, c.lost(cl, g.id))
			c.broken[id] = true
			delete(c.members, id)
			g.unload()
			continue
		}
		delete(c.members, id)
		c.group(where, g)
		g.unload()
	}
	for id := range c.members {
		c.broken[id] = true
		c.add(fmt.Sprintf("state %x", id.AppendKey(nil)), "is missing: the last readings, unfinished rows and the list of row blocks of %s are lost",
			c.lost(c.s.catalogue.class(id.Class), id.Number))
	}
}

// keyHex shows a key of numbers.
func keyHex(k []byte) string { return fmt.Sprintf("%x", k[:min(len(k), 64)]) }

// lost names the series of a group, the first few by their paths.
func (c *checker) lost(cl *class, group uint32) string {
	var paths []string
	n, first := 0, cl.refAt(group, 0)
	cur := c.tx.Bucket(bucketSeries).Cursor()
	for k, v := cur.Seek(refKey(first)); len(k) == 8 && Ref(binary.BigEndian.Uint64(k)) < first+1<<cl.shift; k, v = cur.Next() {
		if c.s.catalogue.removed(Ref(binary.BigEndian.Uint64(k))) {
			continue
		}
		n++
		if rec := c.nowRecord(k, v); rec != nil && len(paths) < 3 {
			paths = append(paths, fmt.Sprintf("%q", rec.path))
		}
	}
	if n > len(paths) {
		return fmt.Sprintf("%s and %d others (references %#x to %#x)", strings.Join(paths, ", "), n-len(paths), uint64(first), uint64(first+1<<cl.shift-1))
	}
	if n == 0 {
		return "no series that is there"
	}
	return strings.Join(paths, ", ")
}

// nowRecord is a record of a series, by what the database does not hold yet of it; nil: it is
// dropped, or damaged.
func (c *checker) nowRecord(k, v []byte) *seriesRecord {
	if len(k) == 8 {
		if rec, changed := c.s.catalogue.changedRecord(Ref(binary.BigEndian.Uint64(k))); changed {
			return rec
		}
	}
	return c.record(k, v)
}

// lostRows names the series and the rows that a block or record held.
func (c *checker) lostRows(cl *class, group uint32, stream int, slot int64, column int) string {
	var e DamageError
	loseSlot(&e, &cl.streams[stream], slot)
	what := fmt.Sprintf("%d s rows from %s to %s", e.Step, damage.TimeText(e.From), damage.TimeText(e.To))
	if column < 0 {
		return what + " of " + c.lost(cl, group)
	}
	ref := cl.refAt(group, column/cl.sources)
	rec := c.nowRecord(refKey(ref), c.tx.Bucket(bucketSeries).Get(refKey(ref)))
	if rec == nil {
		return fmt.Sprintf("%s of series %#x, which the catalogue does not have", what, uint64(ref))
	}
	m := c.s.catalogue.definition(rec.def).m
	if m == nil || m.Shape() != cl.shape {
		return fmt.Sprintf("%s of %q", what, rec.path)
	}
	return fmt.Sprintf("%s %s of data source %s of %q", cfsOf(m, stream), what, m.Definition().Sources[column%cl.sources].Name, rec.path)
}

// cfsOf names the consolidation functions of the archives of a stream.
func cfsOf(m *rra.Machine, stream int) string {
	var cfs []string
	for i, a := range m.Definition().Archives {
		if name := a.CF.String(); m.StreamOf(i) == stream && !slices.Contains(cfs, name) {
			cfs = append(cfs, name)
		}
	}
	return strings.Join(cfs, ", ")
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
		c.add(where, "series %#x: %v", uint64(g.ref(i)), errors.Unwrap(err))
	}
	for st, entries := range g.dir.Slots {
		for _, e := range entries {
			for sub := e.Lo; sub < e.Hi; sub++ {
				c.blocks[string(rowblock.Key(nil, g.c.id, st, e.Slot, sub, g.id))] = g.dir
			}
		}
	}
}

// member compares one series of a state record with the catalogue.
func (c *checker) member(where string, g *group, i int) {
	ref := g.ref(i)
	raw := c.tx.Bucket(bucketSeries).Get(refKey(ref))
	if g.pos <= c.pos && (raw != nil) != g.alive(i) {
		c.add(where, "series %#x: in the catalogue %v, in the group %v", uint64(ref), raw != nil, g.alive(i))
	}
	if !g.alive(i) {
		return
	}
	if g.defs[i] == 0 || int(g.defs[i]) > len(*c.s.catalogue.defs.Load()) || g.definition(i).class != g.c {
		c.add(where, "series %#x: definition %d is not of its class", uint64(ref), g.defs[i])
		return
	}
	if raw == nil {
		return
	}
	if rec := c.record(refKey(ref), raw); rec != nil && rec.def != g.defs[i] {
		c.add(where, "series %#x: definition %d, in the catalogue %d", uint64(ref), g.defs[i], rec.def)
	}
}

// rows checks every block, and that directories and blocks name each other.
func (c *checker) rows() {
	for k, v := range c.tx.Each(bucketRows) {
		where := "rows " + keyHex(k)
		class, stream, slot, _, group, ok := rowblock.ParseKey(k)
		cl := c.s.catalogue.class(class)
		if !ok || cl == nil || stream >= len(cl.streams) {
			c.add(where, "no such class or stream")
			continue
		}
		dir := c.blocks[string(k)]
		if dir == nil && !c.broken[groupID{Class: class, Number: group}] {
			c.add(where, "no directory names it")
			continue
		}
		delete(c.blocks, string(k))
		b, err := rowblock.Open(k, v)
		if err != nil {
			lost := c.lostRows(cl, group, stream, slot, -1)
			c.add(where, "%v: %s are lost", err, lost)
			continue
		}
		c.block(where, &b, dir, cl, group, stream, slot)
	}
	for k := range c.blocks {
		where := "rows " + keyHex([]byte(k))
		class, stream, slot, _, group, _ := rowblock.ParseKey([]byte(k))
		lost := c.lostRows(c.s.catalogue.class(class), group, stream, slot, -1)
		c.add(where, "%v: %s are lost", damage.ErrMissing, lost)
	}
}

func (c *checker) block(where string, b *rowblock.Block, dir *rowblock.Directory, cl *class, group uint32, stream int, slot int64) {
	if b.Columns > cl.sources<<cl.shift {
		c.add(where, "%d columns", b.Columns)
		return
	}
	st := &cl.streams[stream]
	for i := range b.Columns {
		early := false
		col, err := b.Column(i)
		if err == nil {
			err = rowblock.SplitColumn(col, st, func(skip, _ int, _ []byte) {
				early = early || dir != nil && (slot*st.Slot+int64(skip)-1)*st.Span < dir.Begun(i/cl.sources)
			})
		}
		if early {
			c.add(where, "column %d has rows from before the series began, as the directory has it", i)
		}
		if err != nil {
			lost := c.lostRows(cl, group, stream, slot, i)
			c.add(where, "column %d: %v: %s are lost", i, err, lost)
		}
	}
	if b.Size() != b.Len() {
		c.add(where, "%d bytes, not %d", b.Len(), b.Size())
	}
}
