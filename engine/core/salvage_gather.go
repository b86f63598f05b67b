package core

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/engine/internal/held"
	"github.com/rondo-db/rondo/engine/internal/labelindex"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
	"github.com/rondo-db/rondo/internal/owner"
	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/wal"
)

// gather makes the work file of the entries that can be read, and completes it as far as a store
// needs to load it.
func (x *salvaging) gather(name string) (err error) {
	if err := removeIf(name); err != nil {
		return err
	}
	old, err := os.Open(filepath.Join(x.dir, fileDB))
	if err != nil {
		return err
	}
	defer func() { _ = old.Close() }() // it was only read
	st, err := old.Stat()
	if err != nil {
		return err
	}
	to, err := boltfile.Open(name, boltfile.Options{NoSync: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	c := &pageCopy{x: x, to: to, pending: make(map[string][]pair)}
	if err := boltfile.Salvage(old, st.Size(), c); err != nil {
		return err
	}
	if err := c.flush(); err != nil {
		return err
	}
	return to.Update(nil, func(tx *boltfile.Tx) error {
		for _, b := range buckets {
			if _, err := tx.MakeBucket(b); err != nil {
				return err
			}
		}
		return errors.Join(x.meta(tx), x.numbered(tx))
	}, nil)
}

// A pageCopy puts the entries that can be read of a damaged file into a new one. The checksum of
// each value proves its bucket and key.
type pageCopy struct {
	x       *salvaging
	to      *boltfile.File
	pending map[string][]pair
	bytes   int
}

// BucketOf returns the bucket that an entry proves to belong to. See boltfile.Salvager.
func (c *pageCopy) BucketOf(bucket string, k, v []byte) string {
	for _, b := range buckets {
		if bucket != "" && bucket != string(b) {
			continue
		}
		var err error
		if bytes.Equal(b, bucketRows) {
			_, err = rowblock.Open(k, v)
		} else {
			_, err = record.CutSum(v, b, k)
		}
		if err == nil {
			return string(b)
		}
	}
	return ""
}

// Put takes an entry for the new file.
func (c *pageCopy) Put(bucket string, k, v []byte) error {
	c.pending[bucket] = append(c.pending[bucket], pair{k, v})
	if c.bytes += len(k) + len(v); c.bytes < 8<<20 {
		return nil
	}
	return c.flush()
}

// Lose adds a line to the report.
func (c *pageCopy) Lose(format string, args ...any) { c.x.lose(format, args...) }

// flush writes the entries that were put. Of two entries with one key the first stays.
func (c *pageCopy) flush() error {
	err := c.to.Update(nil, func(tx *boltfile.Tx) error {
		for name, pairs := range c.pending {
			b, err := tx.MakeBucket([]byte(name))
			if err != nil {
				return fmt.Errorf("bucket %q: %w", name, err)
			}
			b.FillPercent = 0.9
			for _, p := range pairs {
				if b.Get(p.k) != nil {
					continue
				}
				if err := b.Put(p.k, p.v); err != nil {
					return err
				}
			}
		}
		return nil
	}, nil)
	c.pending, c.bytes = make(map[string][]pair), 0
	return err
}

// meta completes the bucket meta. It takes the mark of the log out of it: the work file has no log.
func (x *salvaging) meta(tx *boltfile.Tx) error {
	meta := tx.Bucket(bucketMeta)
	if v, err := tx.Get(bucketMeta, metaVersion); err != nil || v != nil && !bytes.Equal(v, binary.BigEndian.AppendUint32(nil, formatVersion)) {
		return errors.Join(err, otherFormat(v))
	}
	if v, err := tx.Get(bucketMeta, metaLog); err == nil {
		x.logged, _ = parseLogMark(v) // zero if it is damaged
		x.elsewhere = x.logged.last == logElsewhere
	} else {
		x.logged = logMark{}
	}
	x.noPos = meta.Get(metaCatalogue) == nil
	if count, err := metaNumber(tx, metaCount); err == nil {
		x.named = int(count)
	} else {
		x.named = -1
	}
	if meta.Get(metaReorder) == nil {
		x.lose("the reorder window is lost: samples that it holds are applied")
	}
	for _, key := range metaNumbers {
		if meta.Get(key) == nil {
			if err := putNumber(tx, key, 0); err != nil {
				return err
			}
		}
	}
	return errors.Join(putMark(tx, logMark{}), putStoreID(tx), tx.Put(bucketMeta, metaVersion, binary.BigEndian.AppendUint32(nil, formatVersion)))
}

// numbered fills the gaps between definitions and between classes with empty values, and drops what
// has a key that nothing can have.
func (x *salvaging) numbered(tx *boltfile.Tx) error {
	top := map[string]uint32{}
	for k, v := range tx.Each(bucketSeries) {
		b, err := record.CutSum(v, bucketSeries, k)
		if err != nil || len(k) != 8 {
			continue
		}
		if rec, err := parseRecord(b); err == nil {
			top[string(bucketDefs)] = max(top[string(bucketDefs)], rec.def)
			top[string(bucketClasses)] = max(top[string(bucketClasses)], Ref(binary.BigEndian.Uint64(k)).class())
		}
	}
	for _, bucket := range [][]byte{bucketDefs, bucketClasses} {
		next := uint32(1)
		var gaps []uint32
		for k := range tx.Each(bucket) {
			id := binary.BigEndian.Uint32(k)
			for ; next < id; next++ {
				gaps = append(gaps, next)
			}
			next = id + 1
		}
		for ; next <= top[string(bucket)]; next++ {
			gaps = append(gaps, next)
		}
		for _, id := range gaps {
			if bytes.Equal(bucket, bucketDefs) {
				x.noDefs = true
				x.lose("definition %d is lost, and so are the series that have it", id)
			}
			if err := tx.Put(bucket, binary.BigEndian.AppendUint32(nil, id), nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// catalogueOf completes the catalogue of the work file: names from records of series, and records
// from names and states. It leaves out series whose definition is lost.
func (x *salvaging) catalogueOf(tx *boltfile.Tx) error {
	s := x.s
	known := make(map[Ref]bool) // false: it was left out
	unnamed := 0                // series with a record and without a name
	names, series := make(map[string][]byte), make(map[string][]byte)
	for k, v := range tx.Each(bucketSeries) {
		b, _ := record.CutSum(v, bucketSeries, k) // it was checked
		rec, err := parseRecord(b)
		if err != nil || len(k) != 8 {
			x.lose("series %s: %v", damage.KeyText(k), cmp.Or(err, record.ErrParse))
			series[string(k)] = nil
			continue
		}
		ref := Ref(binary.BigEndian.Uint64(k))
		_, err = s.catalogue.decodeRecord(b)
		if known[ref] = err == nil && s.catalogue.numbered(ref); !known[ref] || s.catalogue.definition(rec.def).class.id != ref.class() {
			x.lose("series %q: its definition is lost", rec.path)
			series[string(k)], known[ref], x.left[ref] = nil, false, true
			continue
		}
		key := nameKey(rec.path)
		if tx.Bucket(bucketNames).Get([]byte(key)) == nil {
			unnamed++
		}
		names[key] = bytes.Clone(k)
	}
	lacking := make(map[Ref]string)
	for k, v := range tx.Each(bucketNames) {
		b, _ := record.CutSum(v, bucketNames, k)
		if len(b) != 8 || !s.catalogue.numbered(Ref(binary.BigEndian.Uint64(b))) {
			names[string(k)] = nil
			continue
		}
		ref := Ref(binary.BigEndian.Uint64(b))
		if _, ok := known[ref]; !ok {
			lacking[ref] = string(k)
		}
	}
	found := len(known) + len(lacking)
	switch {
	case x.named < 0 && (len(lacking) > 0 || unnamed > 0):
		x.doubt = "it is not known how many series there were"
	case found < x.named:
		x.doubt = fmt.Sprintf("of %d of %d series both the name and the record are lost", x.named-found, x.named)
		x.lose("%s", x.doubt)
	}
	if found > 0 {
		x.named = max(x.named, found)
	}
	x.records(tx, lacking, series)
	return putAll(tx, bucketChange{bucketNames, pairsOf(bucketNames, names), boltfile.FillDefault},
		bucketChange{bucketSeries, pairsOf(bucketSeries, series), boltfile.FillDefault})
}

// records makes records of series that only have a name and a state: the state has the definition,
// the label index the labels.
func (x *salvaging) records(tx *boltfile.Tx, lacking map[Ref]string, series map[string][]byte) {
	if len(lacking) == 0 {
		return
	}
	cat := &x.s.catalogue
	labels := x.labels(tx, lacking)
	for ref, name := range lacking {
		c := cat.class(ref.class())
		g := &group{c: c, id: ref.number() >> c.shift}
		i := c.index(ref.number())
		err := damage.ErrMissing
		if v := tx.Bucket(bucketState).Get(g.stateKey()); v != nil {
			err = g.decodeState(v)
		}
		if d := g.definitionAt(i); err == nil && d != nil {
			rec := &seriesRecord{def: d.id, path: name, labels: labels[ref]}
			series[string(refKey(ref))] = rec.append(nil)
			x.remade[ref] = name
		} else {
			x.left[ref] = true
			x.lose("series %q: its record and its state are lost", name)
		}
		g.unload()
	}
}

// definitionAt returns the definition of the series that lives at index i, or nil.
func (g *group) definitionAt(i int) *definition {
	if !g.alive(i) {
		return nil
	}
	return g.definition(i)
}

// labels returns the labels that the label index has of series.
func (x *salvaging) labels(tx *boltfile.Tx, of map[Ref]string) map[Ref][]Label {
	out := make(map[Ref][]Label)
	for k, v := range tx.Each(bucketLabels) {
		p, err := x.s.catalogue.storedPosting(k, v)
		if err != nil {
			continue
		}
		l := labelindex.LabelOf(k)
		if l.Name == "" || l.Value == "" {
			continue
		}
		for _, ref := range x.s.catalogue.refsOf(nil, labelindex.Set{p}) {
			if _, ok := of[ref]; ok {
				out[ref] = append(out[ref], l)
			}
		}
	}
	return out
}

// importBytes is how much rows and states of series take that are imported together.
const importBytes = 8 << 20

// copyAll imports all that the work file has into a new store in the folder dir.
func (x *salvaging) copyAll(ctx context.Context, dir string) (err error) {
	o := x.options
	o.ReadOnly, o.NoBackground, o.Sync, o.Follow, o.OpenLog = false, false, wal.SyncNone, nil, nil
	o.MaxRows = max(o.MaxRows, x.s.options.MaxRows)
	o.Reorder = time.Duration(x.s.appender.shards[0].reorder) * time.Microsecond
	to, err := Open(dir, o)
	if err != nil {
		return err
	}
	err = x.copySeries(ctx, to)
	if err == nil {
		err = x.copyNotes(ctx, to)
	}
	if err == nil {
		err = x.copyMetadata(ctx, to)
	}
	if err == nil {
		err = to.Checkpoint(ctx)
	}
	if err = errors.Join(err, to.Close()); err != nil {
		return err
	}
	return errors.Join(removeIf(filepath.Join(dir, fileLock)), syncTree(dir))
}

// syncTree makes the files of the log in dir durable, and their names: the store did not wait for
// the disk.
func syncTree(dir string) error {
	log := filepath.Join(dir, dirLog)
	entries, err := os.ReadDir(log)
	if err != nil {
		return err
	}
	for _, e := range entries {
		f, err := os.OpenFile(filepath.Join(log, e.Name()), os.O_RDWR, 0)
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
	}
	return errors.Join(owner.SyncFolder(log), owner.SyncFolder(dir))
}

// copySeries copies each series, group by group.
func (x *salvaging) copySeries(ctx context.Context, to *Store) error {
	var batch []Spec
	var holds [][]held.Sample
	size := 0
	flush := func() error {
		out, err := to.createAll(ctx, batch, CleanPath)
		var late Batch
		for i := range out {
			if out[i].Err != nil {
				x.lose("series %q: %v", batch[i].Path, out[i].Err)
				continue
			}
			x.copied++
			for _, h := range holds[i] {
				late.AddText(out[i].Ref, h.At, h.Values, h.Texts)
			}
		}
		if err == nil && late.Len() > 0 {
			err = to.Append(ctx, &late)
		}
		batch, holds, size = batch[:0], holds[:0], 0
		return err
	}
	for _, c := range *x.s.catalogue.classes.Load() {
		for n := range c.next.Load() {
			if err := ctx.Err(); err != nil {
				return err
			}
			cp, waiting, ok := x.series(ctx, c, n)
			if !ok {
				continue
			}
			batch, holds = append(batch, cp.Spec(false)), append(holds, waiting)
			size += 8 * len(cp.State.W)
			for i := range cp.Rows {
				size += 8 * len(cp.Rows[i])
			}
			if size < importBytes && len(batch) < MaxBatch {
				continue
			}
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// series returns a copy of a series, and the samples that the reorder window holds, and names what
// the series lacks. ok is false if there is none.
func (x *salvaging) series(ctx context.Context, c *class, number uint32) (cp Copy, waiting []held.Sample, ok bool) {
	s, ref := x.s, makeRef(c.id, number)
	g, i := c.group(number), c.index(number)
	if g == nil { // of a lost class
		return cp, nil, false
	}
	defer func() {
		if i == 1<<c.shift-1 {
			g.mu.Lock()
			if g.loaded && !g.dirty && len(g.deferred) == 0 {
				g.unload() // the next group needs the memory
			}
			g.mu.Unlock()
		}
	}()
	rec, err := s.catalogue.record(ref)
	if errors.Is(err, ErrNotFound) {
		x.nameless(ref)
		return cp, nil, false
	}
	if err != nil {
		x.lose("series %#x: %v", uint64(ref), err)
		return cp, nil, false
	}
	x.path = rec.path
	if _, ok := x.remade[ref]; ok {
		x.lose("series %q: its record is lost, and with it labels that the label index does not have", rec.path)
	}
	if x.lost[c.groupOf(number)] {
		x.begins(ref)
	}
	err = s.withSeries(ref, func(g *group, index int) {
		if h := g.held[index]; h != nil {
			waiting = slices.Clone(h.List)
		}
	})
	if err == nil {
		cp, err = s.Export(ctx, ref)
	}
	if err != nil {
		x.lose("series %q: %v", rec.path, err)
	}
	return cp, waiting, err == nil
}

// begins names a series that begins anew.
func (x *salvaging) begins(ref Ref) {
	if at := x.newest[ref]; at > 0 {
		x.lose("series %q: its state is lost: it begins at the end of its newest stored row, %s", x.path, damage.TimeText(at))
	} else {
		x.lose("series %q: its state is lost, and no row of it is stored: it is empty", x.path)
	}
}

// nameless names a series that has a state, but neither a name nor a record.
func (x *salvaging) nameless(ref Ref) {
	if x.s.catalogue.removed(ref) || x.left[ref] {
		return
	}
	if at, err := x.s.Last(ref); err == nil {
		x.lose("series %#x: its name and its record are lost; its last update was at %s", uint64(ref), damage.TimeText(at.Unix()))
	}
}

func (x *salvaging) copyNotes(ctx context.Context, to *Store) error {
	notes, err := x.s.Notes(ctx, "")
	if err != nil {
		x.lose("notes: %v", err)
	}
	for key, list := range notes {
		for _, n := range list {
			if err := to.AddNote(ctx, key, n); errors.Is(err, ErrInvalid) {
				x.lose("a note under %q: %v", key, err)
			} else if err != nil {
				return err
			}
		}
	}
	return nil
}

// copyMetadata copies the metadata of paths.
func (x *salvaging) copyMetadata(ctx context.Context, to *Store) error {
	was := 0
	if err := x.s.db.View(bucketMeta, func(tx *boltfile.Tx) error {
		n, err := metaNumber(tx, metaMetadata)
		was = int(n)
		if have := tx.Bucket(bucketMetadata).Stats().KeyN; have < was {
			x.lose("metadata of %d of %d paths", was-have, was)
		}
		return err
	}); err != nil {
		return err
	}
	var batch []PathMetadata
	flush := func() error {
		out, err := to.SetMetadata(ctx, batch)
		for i := range out {
			if out[i] != nil {
				x.lose("metadata of %q: %v", batch[i].Path, out[i])
			}
		}
		batch = batch[:0]
		return err
	}
	for m, err := range x.s.ListMetadata(ctx, MetadataQuery{}) {
		if err != nil {
			x.lose("metadata: %v", err)
			continue
		}
		if batch = append(batch, m); len(batch) == listChunk {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}
