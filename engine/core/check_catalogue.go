package core

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/engine/internal/record"
)

// catalogue compares names and series.
func (c *checker) catalogue() {
	names, series := c.tx.Bucket(bucketNames), c.tx.Bucket(bucketSeries)
	count := int64(0)
	cur := names.Cursor()
	for k, v := cur.First(); k != nil; k, v = cur.Next() {
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
	cur = series.Cursor()
	for k, v := cur.First(); k != nil; k, v = cur.Next() {
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
	b, err := record.CutSum(v, bucketSeries, k)
	if err != nil {
		return nil
	}
	rec, err := c.s.catalogue.decodeRecord(b)
	if err != nil {
		return nil
	}
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
		where := "labels " + damage.KeyText(k)
		want := c.postings[string(k)]
		if b := c.value(bucketLabels, k, v); b == nil {
		} else if got, err := decodePosting(b); err != nil {
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
	cur := c.tx.Bucket(bucketDefs).Cursor()
	for k, v := cur.First(); k != nil; k, v = cur.Next() {
		where := "defs " + damage.KeyText(k)
		if len(k) != 4 || binary.BigEndian.Uint32(k) == 0 || int(binary.BigEndian.Uint32(k)) > len(defs) {
			c.add(where, "no such definition")
		} else if b := c.value(bucketDefs, k, v); b == nil {
			continue
		} else if d := defs[binary.BigEndian.Uint32(k)-1]; !bytes.Equal(b, d.code()) {
			c.add(where, "is not what it was when the store was opened")
		}
	}
	cur = c.tx.Bucket(bucketClasses).Cursor()
	for k, v := cur.First(); k != nil; k, v = cur.Next() {
		where := "classes " + damage.KeyText(k)
		if len(k) != 4 || c.s.catalogue.class(binary.BigEndian.Uint32(k)) == nil {
			c.add(where, "no such class")
			continue
		}
		cl := c.s.catalogue.class(binary.BigEndian.Uint32(k))
		stored := &class{shape: cl.shape, sources: cl.sources, streams: slices.Clone(cl.streams)}
		b := c.value(bucketClasses, k, v)
		if b == nil {
			continue
		}
		switch err := stored.decode(b); {
		case err != nil:
			c.add(where, "%v", err)
		case stored.shift != cl.shift || !slices.Equal(stored.streams, cl.streams):
			c.add(where, "is not what it was when the store was opened")
		case stored.next.Load() < c.next[cl.id]:
			c.add(where, "would give number %d again", stored.next.Load())
		}
	}
}

func (c *checker) notes() {
	cur := c.tx.Bucket(bucketNotes).Cursor()
	for k, v := cur.First(); k != nil; k, v = cur.Next() {
		if _, err := decodeNotes(k, v); err != nil {
			c.add("notes "+damage.KeyText(k), "%v", err)
		}
	}
}

// metadata checks that all of it parses, and its count.
func (c *checker) metadata() {
	count := int64(0)
	cur := c.tx.Bucket(bucketMetadata).Cursor()
	for k, v := cur.First(); k != nil; k, v = cur.Next() {
		count++
		if b := c.value(bucketMetadata, k, v); b == nil {
			continue
		} else if _, err := decodeMetadata(b); err != nil {
			c.add("metadata "+damage.KeyText(k), "%v", err)
		}
	}
	c.counted(metaMetadata, count, "paths")
}
