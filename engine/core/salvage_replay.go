package core

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/numbers"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
)

// open opens the work file like a store that is only read, without its log. The caller calls
// abandon.
func (x *salvaging) open(dir, name string) (s *Store, err error) {
	s = newStore(dir, Options{
		ReadOnly: true, NoBackground: true, MaxRows: rra.MaxRows, Memory: x.options.Memory, Logger: x.options.Logger, salvage: x,
	})
	x.s = s
	defer func() {
		if err != nil {
			err = errors.Join(err, x.s.abandon())
		}
	}()
	if s.db, err = boltfile.Open(name, boltfile.Options{NoSync: true, Logger: s.options.Logger}); err != nil {
		return nil, err
	}
	s.makeShards()
	if _, err := s.loadCatalogue(); err != nil {
		return nil, databaseError(err)
	}
	err = s.db.Update(nil, func(tx *boltfile.Tx) error {
		if err := x.catalogueOf(tx); err != nil {
			return err
		}
		return x.states(tx)
	}, nil)
	if err != nil {
		return nil, err
	}
	for _, sh := range s.appender.shards {
		s.appender.running.Go(func() { sh.run(s) })
	}
	return s, nil
}

// A lostGroup is a group whose state is made anew.
type lostGroup struct {
	g       *group
	members map[int]*seriesRecord // by index
	newest  map[int]rra.Time      // by index: the end of the newest stored row
	dir     *rowblock.Directory
}

// states makes a state for each group that has none. Its series begin at the end of their newest
// stored rows, and its directory names the blocks that were found.
func (x *salvaging) states(tx *boltfile.Tx) error {
	groups, err := x.lostGroups(tx)
	if err != nil || len(groups) == 0 {
		return err
	}
	x.members(tx, groups)
	x.blocks(tx, groups)
	for id, lg := range groups {
		x.lost[id] = true
		g := lg.g
		for i, rec := range lg.members {
			d := x.s.catalogue.definition(rec.def)
			g.start(i, d, lg.newest[i], nil)
			d.m.SmoothBy(g.state(i).W, rra.NameHash(rec.path))
			x.newest[g.ref(i)] = lg.newest[i].Unix()
		}
		g.pos = x.s.catalogue.pos
		key := g.stateKey()
		if err := tx.Bucket(bucketState).Put(key, endState(g.appendState(nil), lg.dir, key)); err != nil {
			return err
		}
		g.unload()
	}
	return nil
}

// lostGroups returns the groups that have no readable state. It drops states that no group can
// have.
func (x *salvaging) lostGroups(tx *boltfile.Tx) (map[groupID]*lostGroup, error) {
	s := x.s
	whole := make(map[groupID]bool)
	var strays [][]byte
	for k, v := range tx.Each(bucketState) {
		var c *class
		if len(k) == 8 {
			c = s.catalogue.class(binary.BigEndian.Uint32(k))
		}
		if c == nil || x.classes[c.id] {
			strays = append(strays, bytes.Clone(k))
			continue
		}
		g := &group{c: c, id: binary.BigEndian.Uint32(k[4:])}
		if err := g.decodeState(v); errors.Is(err, ErrNewer) {
			return nil, newerPart{fmt.Sprintf("state %s: %v", keyHex(k), err)}
		} else if err == nil {
			whole[groupID{Class: c.id, Number: g.id}] = true
		} else if int(g.id) >= len(*c.groups.Load()) { // replay of the log makes it from nothing
			strays = append(strays, bytes.Clone(k))
		}
		g.unload()
	}
	for _, k := range strays {
		_ = tx.Bucket(bucketState).Delete(k) // it is there
	}
	lost := make(map[groupID]*lostGroup)
	for _, c := range *s.catalogue.classes.Load() {
		for _, g := range *c.groups.Load() {
			if id := (groupID{Class: c.id, Number: g.id}); !whole[id] {
				lost[id] = &lostGroup{
					g: &group{c: c, id: g.id}, members: make(map[int]*seriesRecord), newest: make(map[int]rra.Time),
					dir: (*rowblock.Directory)(nil).Clone(len(c.streams)),
				}
			}
		}
	}
	return lost, nil
}

// members finds the series of groups.
func (x *salvaging) members(tx *boltfile.Tx, groups map[groupID]*lostGroup) {
	for k, v := range tx.Each(bucketSeries) {
		ref := Ref(binary.BigEndian.Uint64(k))
		c := x.s.catalogue.class(ref.class())
		if lg := groups[c.groupOf(ref.number())]; lg != nil {
			if rec, err := x.s.catalogue.storedRecord(k, v); err == nil {
				lg.members[c.index(ref.number())] = rec
			}
		}
	}
}

// blocks finds the stored rows of groups, and notes in their directories where they are.
func (x *salvaging) blocks(tx *boltfile.Tx, groups map[groupID]*lostGroup) {
	for k, v := range tx.Each(bucketRows) {
		class, stream, slot, sub, id, ok := rowblock.ParseKey(k)
		lg := groups[groupID{Class: class, Number: id}]
		if !ok || lg == nil || stream >= len(lg.g.c.streams) {
			continue
		}
		e := lg.dir.Slot(stream, slot)
		switch {
		case e.Lo == e.Hi:
			e.Lo, e.Hi = sub, sub+1
		case sub < e.Lo+rowblock.MaxSubBlocks: // sub-blocks follow each other
			e.Hi = sub + 1
		}
		b, err := rowblock.Open(k, v)
		for i := 0; err == nil && i < b.Columns; i++ {
			if col, err := b.Column(i); err == nil {
				lg.saw(i, stream, slot, col)
			}
		}
	}
}

// saw notes the time of the newest row of a column.
func (lg *lostGroup) saw(column, stream int, slot int64, rows []byte) {
	st := &lg.g.c.streams[stream]
	index := column / lg.g.c.sources
	if lg.members[index] == nil {
		return
	}
	_ = rowblock.SplitColumn(rows, st, func(skip, n int, _ []byte) { // a damaged column ends early
		if end := slot*st.Slot + int64(skip+n-1); end > 0 && end <= int64(MaxTime)/1e6/st.Span {
			lg.newest[index] = max(lg.newest[index], rra.Seconds(end*st.Span))
		}
	})
}

// replay applies the log behind the database as far as it can be read and fits.
func (x *salvaging) replay() error {
	s := x.s
	switch {
	case x.elsewhere:
		x.lose("the log is not in the folder of the database: what only the log has is not copied")
		return nil
	case x.noPos:
		x.lose("up to where the database holds the log is lost: what only the log has is not copied")
		return nil
	}
	l, err := wal.Open(filepath.Join(x.dir, dirLog), wal.Options{ReadOnly: true, Log: x.logged.id, After: x.logged.last, Logger: s.options.Logger})
	if errors.Is(err, wal.ErrNewer) {
		return logError(err)
	}
	if err != nil {
		x.lose("the log cannot be read: %v", err)
		return nil
	}
	s.log.set(l) // abandon closes it
	r := &replayer{s: s, c: &delivery{}, lazy: true}
	last := s.catalogue.pos
	if first := l.First(); first > last+1 {
		x.lose("the log begins at position %d, the database holds it up to %d: it is not replayed", first, last)
		return nil
	}
	err = l.Replay(last+1, func(p wal.Pos, rec []byte) error {
		if err := x.fits(rec); err != nil {
			return err
		}
		if err := r.record(p, rec); err != nil {
			return err
		}
		last = p
		return nil
	})
	r.flush()
	r.wait.Wait()
	if err == nil {
		err = l.Whole()
	}
	if e := s.loader.failure.Load(); e != nil && err == nil {
		err = *e
	}
	if errors.Is(err, wal.ErrNewer) {
		return logError(err)
	}
	if err != nil {
		x.lose("the log behind position %d is not replayed: %v", last, err)
	}
	return nil
}

// fits returns why a record of the log may give a series another number than it had, or nil. Where
// entries of the catalogue are lost, it is not known whether a path was taken.
func (x *salvaging) fits(rec []byte) error {
	_, rec, err := numbers.Cut(rec)
	if err != nil || x.doubt == "" && !x.noDefs || len(rec) == 0 { // the replay says what is wrong
		return nil
	}
	r := record.Reader{Rest: rec[1:]}
	var keys []string
	defined := func(p *planned) error {
		if x.noDefs && x.s.catalogue.interned(p.def) == nil {
			return fmt.Errorf("it makes the series %q, whose definition may be the one that is lost", p.Path)
		}
		return nil
	}
	switch rec[0] {
	case record.KindCreate:
		plan, err := x.s.catalogue.replayCreate(&r)
		if err != nil {
			return err
		}
		for i := range plan {
			if err := defined(&plan[i]); err != nil {
				return err
			}
			keys = append(keys, plan[i].key)
		}
	case record.KindRename:
		keys = []string{r.Text()}
	default:
		return nil
	}
	for _, key := range keys {
		if x.doubt == "" {
			break
		}
		ref, err := x.s.catalogue.lookup(key)
		if err == nil && rec[0] == record.KindRename {
			_, err = x.s.catalogue.record(ref)
		}
		if err != nil || len(x.classes) > 0 {
			return fmt.Errorf("it changes the series %q, and %s", key, x.doubt)
		}
	}
	return nil
}

// dirSalvage is the folder of the log that SalvageLog writes, until it replaces the damaged log.
const dirSalvage = "wal.salvage"

// SalvagedLog says what SalvageLog has done, or would do.
type SalvagedLog struct {
	Catalogue wal.Pos // the database holds the log up to here
	Last      wal.Pos // the log can be read behind Catalogue up to here: these records are kept
	// the log is known to have reached up to here at least: records above Last are lost
	Known  wal.Pos
	Damage error // why the log was refused
	// the folder that the damaged log was renamed to; empty if no log was there, or nothing was
	// done
	Aside string
}

// ErrWhole says that there is nothing to salvage.
var ErrWhole = errors.New("the log is whole")

// SalvageLog makes a database usable whose log was refused. It copies the readable records behind
// the position of the database into a new log, and sets the damaged log aside. Records that cannot
// be read are lost. Without write, SalvageLog changes nothing. It returns ErrWhole if the log is
// whole. It refuses a database that was written from records that cannot be read any more, and a
// log that a newer version of rondo wrote in part (ErrNewer).
func SalvageLog(ctx context.Context, dir string, o Options, write bool) (got SalvagedLog, err error) {
	s := newStore(dir, o)
	s.options.ReadOnly = !write
	err = locked(dir, &s.options, func() (err error) {
		got, err = s.salvageLog(ctx, dir, write)
		if s.db != nil {
			err = errors.Join(err, s.db.Close())
		}
		if err != nil {
			err = fmt.Errorf("salvage the log of %s: %w", dir, err)
		}
		return err
	})
	return got, err
}

// salvageLog is SalvageLog of a folder that is locked.
func (s *Store) salvageLog(ctx context.Context, dir string, write bool) (got SalvagedLog, err error) {
	var groups wal.Pos
	if got.Catalogue, groups, err = s.reached(); err != nil {
		return got, fmt.Errorf("%s: %w", fileDB, err)
	}
	from := filepath.Join(dir, dirLog)
	if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
		// A salvage that was ended between its two renames had finished its copy.
		if _, err := move(filepath.Join(dir, dirSalvage), from); err != nil {
			return got, err
		}
	}
	got.Last, got.Known = got.Catalogue, max(s.logged.last, groups)
	if got.Damage = s.readable(ctx, from, &got, nil); got.Damage == nil {
		return got, ErrWhole
	}
	if errors.Is(got.Damage, wal.ErrNewer) {
		return got, newerPart{got.Damage.Error()}
	}
	if got.Last < groups {
		return got, fmt.Errorf("the database was written from records up to position %d, and the log can be read up to %d: restore a backup: %w", groups, got.Last, got.Damage)
	}
	if !write {
		return got, nil
	}
	return got, s.replaceLog(ctx, from, &got)
}

// reached opens the database and returns up to which positions of the log its catalogue and its
// groups were written.
func (s *Store) reached() (catalogue, groups wal.Pos, err error) {
	if _, err := s.openVersion(); err != nil {
		return 0, 0, err
	}
	err = s.db.View(bucketMeta, func(tx *boltfile.Tx) error {
		c, err := metaNumber(tx, metaCatalogue)
		g, failed := metaNumber(tx, metaGroups)
		catalogue, groups = wal.Pos(c), wal.Pos(g)
		return cmp.Or(err, failed, s.loadMark(tx))
	})
	return catalogue, groups, err
}

// readable walks the readable records of the log behind the catalogue's position, and appends them
// to the log to, if it is not nil. It returns why the log would be refused.
func (s *Store) readable(ctx context.Context, from string, got *SalvagedLog, to *wal.Log) error {
	l, err := wal.Open(from, wal.Options{ReadOnly: true, Log: s.logged.id, After: got.Known})
	if err != nil {
		return err
	}
	got.Known = max(got.Known, l.Marked().Last, l.Last())
	whole := l.Whole()
	if first := l.First(); first > got.Catalogue+1 {
		return errors.Join(fmt.Errorf("%w: the store holds the log up to %d, the log begins at %d", wal.ErrHole, got.Catalogue, first), whole, l.Close())
	}
	err = l.Replay(got.Catalogue+1, func(p wal.Pos, rec []byte) error {
		if to != nil {
			if _, err := to.Append(ctx, rec); err != nil {
				return err
			}
		}
		got.Last = p
		return ctx.Err()
	})
	if err == nil {
		err = whole
	}
	return errors.Join(err, l.Close())
}

// replaceLog copies the readable records into a new log and replaces the old log by it.
func (s *Store) replaceLog(ctx context.Context, from string, got *SalvagedLog) error {
	made := filepath.Join(s.dir, dirSalvage)
	if err := os.RemoveAll(made); err != nil {
		return err
	}
	to, err := wal.Open(made, wal.Options{After: got.Catalogue, SegmentBytes: segmentBytes, Sync: wal.SyncNone})
	if err != nil {
		return err
	}
	last := got.Last
	_ = s.readable(ctx, from, got, to) // it ends with the damage that is known already
	if err := to.Close(); err != nil {
		return err
	}
	if got.Last != last || to.Last() != last {
		return fmt.Errorf("copied the log up to position %d of %d", to.Last(), last)
	}
	aside := asideName(from)
	moved, err := move(from, aside)
	if moved {
		got.Aside = aside
	}
	if err == nil {
		err = mustMove(made, from)
	}
	if err != nil {
		return err
	}
	return s.db.Update(bucketMeta, func(tx *boltfile.Tx) error {
		if err := putStoreID(tx); err != nil { // positions of lost records come again
			return err
		}
		return putMark(tx, logMark{to.ID(), to.Last()})
	}, nil)
}
