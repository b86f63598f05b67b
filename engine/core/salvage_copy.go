package core

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/engine/internal/held"
	"github.com/rondo-db/rondo/internal/owner"
	"github.com/rondo-db/rondo/wal"
)

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
	var batch []Copy
	var holds [][]held.Sample
	size := 0
	flush := func() error {
		out, err := to.importAll(ctx, batch, false, cleanPath)
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
			batch, holds = append(batch, cp), append(holds, waiting)
			size += 8 * len(cp.State.W)
			for i := range cp.Rows {
				size += 8 * len(cp.Rows[i])
			}
			if size < importBytes {
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

// copyNotes copies the notes.
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
	for m, err := range x.s.ListMetadata(ctx, "", "") {
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
