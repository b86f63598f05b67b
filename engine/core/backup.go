package core

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"

	"github.com/klauspost/compress/zstd"
	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/wal"
)

// Backup writes a consistent copy of the store to w, as a zstd stream. The copy includes everything
// that was acknowledged before the call. Appends and checkpoints go on meanwhile. A slow reader of
// w costs space of the log, not memory.
func (s *Store) Backup(ctx context.Context, w io.Writer) error { return s.BackupSince(ctx, w, nil) }

// BackupSince writes what has changed since the backup with the head base, as Backup does. It
// restores only together with that backup and those which that builds on. A nil base makes a backup
// of everything. The error wraps ErrBase if base is of another store, or of a later state of this
// one: that was restored, repaired or put back from a copy meanwhile.
func (s *Store) BackupSince(ctx context.Context, w io.Writer, base *BackupHead) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(backupWindow))
	if err != nil {
		return err
	}
	b := &backupWriter{w: z, sum: crc32.New(record.Castagnoli), base: base}
	if err := s.backup(ctx, b); err != nil {
		_ = z.Close() // the first error is returned
		return fmt.Errorf("backup: %w", err)
	}
	return z.Close()
}

func (s *Store) backup(ctx context.Context, b *backupWriter) error {
	if err := s.checkBase(b.base); err != nil {
		return err
	}
	if !s.options.ReadOnly {
		err := s.checkpoints.run(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil { // what it would have written is in the log
			s.options.Logger.Warn("no checkpoint before the backup, which holds more of the log therefore", "err", err)
		}
	}
	spool, head, err := s.spoolCatalogue()
	if err != nil {
		return err
	}
	defer s.checkpoints.unpin()
	defer spool.close()
	s.failpoint("backup-catalogue")
	if err := s.backupHead(b, head); err != nil {
		return err
	}
	if err := s.backupBeside(ctx, b); err != nil {
		return err
	}
	if err := spool.copyTo(b.write); err != nil {
		return err
	}
	for _, c := range *s.catalogue.classes.Load() {
		for _, g := range *c.groups.Load() {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := s.backupGroup(b, g); err != nil {
				return err
			}
		}
	}
	s.failpoint("backup-groups")
	if err := s.backupLog(ctx, b, head.to); err != nil {
		return err
	}
	sum := b.sum.Sum32()
	return b.write(binary.LittleEndian.AppendUint32([]byte{backupEnd}, sum))
}

// checkBase refuses a base that is not of this store, or not of its past.
func (s *Store) checkBase(base *BackupHead) error {
	if base == nil {
		return nil
	}
	return s.db.View(bucketMeta, func(tx *boltfile.Tx) error {
		id, err := readStoreID(tx)
		if err != nil {
			return err
		}
		if id != base.store {
			return fmt.Errorf("the base is a backup of another database, or of this one before it was restored or repaired: %w", ErrBase)
		}
		return nil
	})
}

// backupHead writes the head, once the catalogue is read.
func (s *Store) backupHead(b *backupWriter, head *BackupHead) error {
	if base := b.base; base != nil {
		if base.store != head.store || base.to > head.to {
			return fmt.Errorf("the base reaches to log position %d, the database to %d: %w", base.to, head.to, ErrBase)
		}
		head.base, head.from = base.id, base.to
	}
	code, _ := head.AppendBinary(nil) // it does not fail
	b.buf = binary.AppendUvarint(append(b.buf[:0], backupMagic...), uint64(len(code)))
	return b.write(append(b.buf, code...))
}

// spoolCatalogue copies the catalogue out of the database in one short transaction. It returns the
// head of a backup that begins with it, and pins the log behind its position.
func (s *Store) spoolCatalogue() (*spool, *BackupHead, error) {
	out := &spool{s: s}
	head := &BackupHead{id: newBackupID()}
	s.checkpoints.mu.Lock()
	defer s.checkpoints.mu.Unlock()
	err := s.db.View(nil, func(tx *boltfile.Tx) (err error) {
		if head.store, err = readStoreID(tx); err != nil {
			return err
		}
		p, err := metaNumber(tx, metaCatalogue)
		if err != nil {
			return err
		}
		head.to = wal.Pos(p)
		var buf []byte
		for _, name := range catalogueBuckets {
			cur := tx.Bucket(name).Cursor()
			for k, v := cur.First(); k != nil; k, v = cur.Next() {
				if _, err := boltfile.OpenValue(name, k, v); err != nil {
					return err
				}
				buf = appendPair(buf[:0], name, k, v)
				if _, err := out.Write(buf); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		out.close()
		return nil, nil, err
	}
	s.checkpoints.pin(head.to)
	return out, head, nil
}

// backupGroup copies what the database holds of one group, and has changed since the base.
func (s *Store) backupGroup(b *backupWriter, g *group) error {
	buf := b.buf[:0]
	err := s.db.View(bucketRows, func(tx *boltfile.Tx) error {
		v := tx.Bucket(bucketState).Get(g.stateKey())
		if v == nil {
			return nil
		}
		id := groupID{Class: g.c.id, Number: g.id}
		if b.base != nil {
			body, err := boltfile.OpenValue(bucketState, g.stateKey(), v)
			if err != nil {
				return err
			}
			if pos := statePos(body); pos <= b.base.to {
				buf = appendSame(buf, id, pos)
				return nil
			}
		}
		copied := &group{c: g.c, id: g.id}
		defer copied.unload()
		if err := copied.decodeState(v); err != nil {
			return fmt.Errorf("state of group %d of class %d: %w", g.id, g.c.id, err)
		}
		buf = appendGroup(buf, id, copied.pos, copied.dir)
		buf = appendPair(buf, bucketState, g.stateKey(), v)
		var err error
		buf, err = s.backupRows(buf, tx, g, copied.dir, b.base)
		return err
	})
	b.buf = buf
	if err != nil || len(buf) == 0 {
		return err
	}
	return b.write(buf)
}

// backupRows appends the blocks that a directory names, of slots that have changed since the base.
func (s *Store) backupRows(buf []byte, tx *boltfile.Tx, g *group, dir *rowblock.Directory, base *BackupHead) ([]byte, error) {
	rows := tx.Bucket(bucketRows)
	for st, entries := range dir.Slots {
		for _, e := range entries {
			if base != nil && wal.Pos(e.Pos) <= base.to {
				continue
			}
			for sub := e.Lo; sub < e.Hi; sub++ {
				k := rowblock.Key(nil, g.c.id, st, e.Slot, sub, g.id)
				v := rows.Get(k)
				if err := s.wholeBlock(tx, g, st, e.Slot, sub, k, v); err != nil {
					return buf, err
				}
				buf = appendPair(buf, bucketRows, k, v)
			}
		}
	}
	return buf, nil
}

// wholeBlock checks all bytes of a row block.
func (s *Store) wholeBlock(tx *boltfile.Tx, g *group, stream int, slot int64, sub uint16, key, v []byte) error {
	if v == nil {
		return s.loader.damagedRows(tx, g, stream, slot, sub, -1, damage.ErrMissing)
	}
	b, err := rowblock.Open(key, v)
	if err != nil {
		return s.loader.damagedRows(tx, g, stream, slot, sub, -1, err)
	}
	for i := range b.Columns {
		if _, err := b.Column(i); err != nil {
			return s.loader.damagedRows(tx, g, stream, slot, sub, i, err)
		}
	}
	return nil
}

// backupLog copies the log behind position pos.
func (s *Store) backupLog(ctx context.Context, b *backupWriter, pos wal.Pos) error {
	log := s.log.get()
	if log.Last() <= pos {
		return nil
	}
	return log.Replay(pos+1, func(p wal.Pos, rec []byte) error {
		b.buf = append(b.buf[:0], backupRecord)
		b.buf = binary.AppendUvarint(b.buf, uint64(p))
		b.buf = binary.AppendUvarint(b.buf, uint64(len(rec)))
		if err := b.write(append(b.buf, rec...)); err != nil {
			return err
		}
		return ctx.Err()
	})
}

// A backupPlan says which parts of a backup and its increments count. The newest comes first: its
// catalogue, its log and its groups are the ones to restore. What it has not changed is looked for
// in the file before it, and so on. Nothing is restored that another file replaces, and what is
// found must be what the newer file expects: the same position of a group, the same blocks of a
// slot.
type backupPlan struct {
	wanted map[groupID]*wantedGroup // what the files read so far leave to older ones
	slots  int                      // in wanted

	// Of the file that is read:
	newest bool
	beside string // the last text
	head   *BackupHead
	log    wal.Pos // the last record
	began  bool    // a group has come
	id     groupID // the last group
	open   bool    // pairs of this group may come
	state  bool    // its state must come next
	keep   bool    // its state counts
	blocks []wantedSlot
	sub    uint16 // the next sub-block of blocks[0]
}

// A wantedGroup is a group that an older file must have.
type wantedGroup struct {
	pos   wal.Pos
	whole bool         // all of it, at pos
	slots []wantedSlot // else these
}

// A wantedSlot is a slot whose blocks must come.
type wantedSlot struct {
	stream int
	keep   bool
	rowblock.SubBlocks
}

// Bounds of what a plan remembers: groups of 256 million series, and 4000 slots for each group of a
// million series.
const (
	maxWantedGroups = 1 << 20
	maxWantedSlots  = 1 << 24
)

// file begins a file.
func (p *backupPlan) file(head *BackupHead) {
	*p = backupPlan{wanted: p.wanted, slots: p.slots, newest: p.wanted == nil, head: head, log: head.to}
	if p.newest {
		p.wanted = make(map[groupID]*wantedGroup)
	}
}

// next ends the group before, and begins that with the number id.
func (p *backupPlan) next(id groupID) error {
	if err := p.endGroup(); err != nil {
		return err
	}
	if p.began && p.id.Compare(id) >= 0 || p.log != p.head.to {
		return fmt.Errorf("group %d of class %d where it does not belong: %w", id.Number, id.Class, errBackup)
	}
	p.began, p.id = true, id
	return nil
}

// endGroup checks that everything of a group has come.
func (p *backupPlan) endGroup() error {
	if p.state || len(p.blocks) > 0 {
		return fmt.Errorf("group %d of class %d is not complete: %w", p.id.Number, p.id.Class, errBackup)
	}
	p.open = false
	return nil
}

// strange says that the last group is not what a newer file knows.
func (p *backupPlan) strange() error {
	return fmt.Errorf("group %d of class %d is not as the next backup expects it: %w", p.id.Number, p.id.Class, ErrBase)
}

// same takes a group that has not changed since the base.
func (p *backupPlan) same(id groupID, pos wal.Pos) error {
	if err := p.next(id); err != nil {
		return err
	}
	if p.head.Full() || pos > p.head.from {
		return fmt.Errorf("group %d of class %d is not in the base: %w", id.Number, id.Class, errBackup)
	}
	if p.newest {
		return p.want(id, &wantedGroup{pos: pos, whole: true})
	}
	if w := p.wanted[id]; w != nil && w.whole && w.pos != pos {
		return p.strange()
	}
	return nil
}

// want notes what older files must have of a group.
func (p *backupPlan) want(id groupID, w *wantedGroup) error {
	p.slots += len(w.slots)
	if w.whole || len(w.slots) > 0 {
		p.wanted[id] = w
	}
	if len(p.wanted) > maxWantedGroups || p.slots > maxWantedSlots {
		return fmt.Errorf("more than %d groups or %d slots: %w", maxWantedGroups, maxWantedSlots, errBackup)
	}
	return nil
}

// group takes what a file says of a group before its pairs.
func (p *backupPlan) group(id groupID, pos wal.Pos, code []byte) error {
	if err := p.next(id); err != nil {
		return err
	}
	dir, err := readBackupDirectory(code)
	if err != nil {
		return err
	}
	w := p.wanted[id]
	all := p.newest || w != nil && w.whole
	if all && !p.newest && w.pos != pos {
		return p.strange()
	}
	var wanted, rest []wantedSlot
	if w != nil {
		wanted = w.slots
		p.slots -= len(wanted)
		delete(p.wanted, id)
	}
	p.open, p.state, p.keep, p.blocks = true, true, all, p.blocks[:0]
	for stream, entries := range dir.Slots {
		for _, e := range entries {
			keep := all
			if len(wanted) > 0 && wanted[0].stream == stream && wanted[0].Slot == e.Slot {
				if wanted[0].SubBlocks != e {
					return p.strange()
				}
				keep, wanted = true, wanted[1:]
			}
			switch {
			case p.head.Full() || wal.Pos(e.Pos) > p.head.from:
				p.blocks = append(p.blocks, wantedSlot{stream, keep, e})
			case keep:
				rest = append(rest, wantedSlot{stream, false, e})
			}
		}
	}
	if len(wanted) > 0 {
		return p.strange()
	}
	if len(p.blocks) > 0 {
		p.sub = p.blocks[0].Lo
	}
	return p.want(id, &wantedGroup{slots: rest})
}

// readBackupDirectory reads the directory of a group.
func readBackupDirectory(code []byte) (*rowblock.Directory, error) {
	r := record.Reader{Rest: code}
	streams := r.Uvarint()
	if streams > uint64(min(len(r.Rest), 1<<16)) {
		r.Fail()
		streams = 0
	}
	dir := rowblock.ReadDirectory(&r, int(streams))
	if r.Err != nil || len(r.Rest) > 0 || !dir.Valid() {
		return nil, fmt.Errorf("directory of a group: %w", errBackup)
	}
	return dir, nil
}

// pair says whether a pair counts.
func (p *backupPlan) pair(parts [3][]byte) (keep bool, err error) {
	bucket, key := parts[0], parts[1]
	fits := p.open
	switch {
	case slices.ContainsFunc(catalogueBuckets, func(b []byte) bool { return bytes.Equal(b, bucket) }):
		fits, keep = !p.began && p.log == p.head.to, p.newest
	case bytes.Equal(bucket, bucketState):
		fits = fits && p.state && bytes.Equal(key, p.id.AppendKey(nil))
		p.state, keep = false, p.keep
	case p.state:
		fits = false
	default:
		fits, keep = p.block(key)
	}
	if !fits {
		return false, fmt.Errorf("an entry of bucket %s where it does not belong: %w", bucket, errBackup)
	}
	return keep, nil
}

// block reports whether key is the key of the next block, and whether that block counts.
func (p *backupPlan) block(key []byte) (fits, keep bool) {
	if len(p.blocks) == 0 {
		return false, false
	}
	b := &p.blocks[0]
	fits = bytes.Equal(key, rowblock.Key(nil, p.id.Class, b.stream, b.Slot, p.sub, p.id.Number))
	keep = b.keep
	if p.sub++; p.sub == b.Hi {
		if p.blocks = p.blocks[1:]; len(p.blocks) > 0 {
			p.sub = p.blocks[0].Lo
		}
	}
	return fits, keep
}

// record says whether a record of the log counts.
func (p *backupPlan) record(pos wal.Pos) (keep bool, err error) {
	if err := p.endGroup(); err != nil {
		return false, err
	}
	if pos != p.log+1 {
		return false, fmt.Errorf("log record %d where %d belongs: %w", pos, p.log+1, errBackup)
	}
	p.log = pos
	return p.newest, nil
}

// end checks that everything has been found, once all files are read.
func (p *backupPlan) end() error {
	for id := range p.wanted {
		p.id = id
		return p.strange()
	}
	return nil
}

// A backupFile is a backup that is read.
type backupFile struct {
	name string // for errors; empty: the only one
	open func() (io.ReadCloser, error)
}

// oneBackup is a backup without a name.
func oneBackup(r io.Reader) []backupFile {
	return []backupFile{{open: func() (io.ReadCloser, error) { return io.NopCloser(r), nil }}}
}

func namedBackups(names []string) []backupFile {
	var out []backupFile
	for _, name := range names {
		out = append(out, backupFile{name, func() (io.ReadCloser, error) { return os.Open(name) }})
	}
	return out
}

// use opens a backup and calls read with it. The error names the file.
func (f *backupFile) use(read func(*backupReader) error) error {
	r, err := f.open()
	if err != nil {
		return err // it names the file
	}
	defer func() { _ = r.Close() }() // read only
	b, err := newBackupReader(bufio.NewReaderSize(r, 1<<20))
	if err == nil {
		defer b.close()
		err = read(b)
	}
	if err != nil && f.name != "" {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	return err
}

// readBackups reads a backup of everything and increments, each made since the one before it, and
// gives what they hold to a sink, the newest first. It looks at all heads before anything else,
// except that a backup alone is read once: it may be a stream.
func readBackups(ctx context.Context, files []backupFile, to backupSink) error {
	var heads []BackupHead // nil: not yet looked at
	if len(files) > 1 {
		var err error
		if heads, err = readHeads(files); err != nil {
			return err
		}
	}
	plan := new(backupPlan)
	for i := len(files) - 1; i >= 0; i-- {
		err := files[i].use(func(b *backupReader) error {
			if heads == nil {
				if err := b.head.first(); err != nil {
					return err
				}
			} else if b.head != heads[i] {
				return fmt.Errorf("it changed while it was read: %w", errBackup)
			}
			return b.parts(ctx, plan, to)
		})
		if err != nil {
			return err
		}
	}
	return plan.end()
}

// readHeads reads the heads of a backup and its increments, and checks that each was made since the
// one before it.
func readHeads(files []backupFile) ([]BackupHead, error) {
	heads := make([]BackupHead, len(files))
	for i := range files {
		err := files[i].use(func(b *backupReader) error {
			heads[i] = b.head
			if i == 0 {
				return b.head.first()
			}
			if err := b.head.follows(&heads[i-1]); err != nil {
				return fmt.Errorf("not a backup of what changed since %s: %w", files[i-1].name, err)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return heads, nil
}
