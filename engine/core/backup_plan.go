package core

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/rondo-db/rondo/engine/internal/record"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
	"github.com/rondo-db/rondo/wal"
)

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
	head   *BackupHead
	log    wal.Pos // the last record
	began  bool    // a group has come
	id     groupID // the last group
	open   bool    // pairs of this group may come
	state  bool    // its state must come next
	keep   bool    // its state and lags count
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
	if p.began && p.id.compare(id) >= 0 || p.log != p.head.to {
		return fmt.Errorf("group %d of class %d where it does not belong: %w", id.group, id.class, errBackup)
	}
	p.began, p.id = true, id
	return nil
}

// endGroup checks that everything of a group has come.
func (p *backupPlan) endGroup() error {
	if p.state || len(p.blocks) > 0 {
		return fmt.Errorf("group %d of class %d is not complete: %w", p.id.group, p.id.class, errBackup)
	}
	p.open = false
	return nil
}

// strange says that the last group is not what a newer file knows.
func (p *backupPlan) strange() error {
	return fmt.Errorf("group %d of class %d is not as the next backup expects it: %w", p.id.group, p.id.class, ErrBase)
}

// same takes a group that has not changed since the base.
func (p *backupPlan) same(id groupID, pos wal.Pos) error {
	if err := p.next(id); err != nil {
		return err
	}
	if p.head.Full() || pos > p.head.from {
		return fmt.Errorf("group %d of class %d is not in the base: %w", id.group, id.class, errBackup)
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
	if r.Err != nil || len(r.Rest) > 0 || !dir.Valid(1<<16) {
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
		fits = fits && p.state && bytes.Equal(key, groupKey(nil, p.id.class, p.id.group))
		p.state, keep = false, p.keep
	case p.state:
		fits = false
	case bytes.Equal(bucket, bucketRows):
		fits, keep = p.block(key)
	default:
		fits = fits && len(p.blocks) == 0 && len(key) == lagKeySize && bytes.HasPrefix(key, groupKey(nil, p.id.class, p.id.group))
		keep = p.keep
	}
	if !fits {
		return false, fmt.Errorf("an entry of bucket %s where it does not belong: %w", bucket, errBackup)
	}
	return keep, nil
}

// block says whether key is that of the block that comes next, and whether that counts.
func (p *backupPlan) block(key []byte) (fits, keep bool) {
	if len(p.blocks) == 0 {
		return false, false
	}
	b := &p.blocks[0]
	fits = bytes.Equal(key, rowblock.Key(nil, p.id.class, b.stream, b.Slot, p.sub, p.id.group))
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
