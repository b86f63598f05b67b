package backup

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/rondo-db/rondo/engine/internal/labelindex"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/wal"
)

// A plan says which parts of a backup and its increments count. The newest comes first: its
// catalogue, its log and its groups are the ones to restore. What it has not changed is looked for
// in the file before it, and so on. Nothing is restored that another file replaces, and what is
// found must be what the newer file expects: the same position of a group, the same blocks of a
// slot.
type plan struct {
	format *Format
	wanted map[labelindex.Group]*wantedGroup // what the files read so far leave to older ones
	slots  int                               // in wanted

	// Of the file that is read:
	newest bool
	beside string // the last text
	head   *Head
	log    wal.Pos          // the last record
	began  bool             // a group has come
	id     labelindex.Group // the last group
	open   bool             // pairs of this group may come
	state  bool             // its state must come next
	keep   bool             // its state counts
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
func (p *plan) file(head *Head) {
	*p = plan{format: p.format, wanted: p.wanted, slots: p.slots, newest: p.wanted == nil, head: head, log: head.To}
	if p.newest {
		p.wanted = make(map[labelindex.Group]*wantedGroup)
	}
}

// next ends the group before, and begins that with the number id.
func (p *plan) next(id labelindex.Group) error {
	if err := p.endGroup(); err != nil {
		return err
	}
	if p.began && p.id.Compare(id) >= 0 || p.log != p.head.To {
		return fmt.Errorf("group %d of class %d where it does not belong: %w", id.Number, id.Class, ErrPart)
	}
	p.began, p.id = true, id
	return nil
}

// endGroup checks that everything of a group has come.
func (p *plan) endGroup() error {
	if p.state || len(p.blocks) > 0 {
		return fmt.Errorf("group %d of class %d is not complete: %w", p.id.Number, p.id.Class, ErrPart)
	}
	p.open = false
	return nil
}

// strange says that the last group is not what a newer file knows.
func (p *plan) strange() error {
	return fmt.Errorf("group %d of class %d is not as the next backup expects it: %w", p.id.Number, p.id.Class, ErrBase)
}

// same takes a group that has not changed since the base.
func (p *plan) same(id labelindex.Group, pos wal.Pos) error {
	if err := p.next(id); err != nil {
		return err
	}
	if p.head.Full() || pos > p.head.From {
		return fmt.Errorf("group %d of class %d is not in the base: %w", id.Number, id.Class, ErrPart)
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
func (p *plan) want(id labelindex.Group, w *wantedGroup) error {
	p.slots += len(w.slots)
	if w.whole || len(w.slots) > 0 {
		p.wanted[id] = w
	}
	if len(p.wanted) > maxWantedGroups || p.slots > maxWantedSlots {
		return fmt.Errorf("more than %d groups or %d slots: %w", maxWantedGroups, maxWantedSlots, ErrPart)
	}
	return nil
}

// group takes what a file says of a group before its pairs.
func (p *plan) group(id labelindex.Group, pos wal.Pos, code []byte) error {
	if err := p.next(id); err != nil {
		return err
	}
	dir, err := readDirectory(code)
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
			case p.head.Full() || wal.Pos(e.Pos) > p.head.From:
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

// readDirectory reads the directory of a group.
func readDirectory(code []byte) (*rowblock.Directory, error) {
	r := record.Reader{Rest: code}
	streams := r.Uvarint()
	if streams > uint64(min(len(r.Rest), 1<<16)) {
		r.Fail()
		streams = 0
	}
	dir := rowblock.ReadDirectory(&r, int(streams))
	if r.Err != nil || len(r.Rest) > 0 || !dir.Valid() {
		return nil, fmt.Errorf("directory of a group: %w", ErrPart)
	}
	return dir, nil
}

// pair says whether a pair counts.
func (p *plan) pair(bucket, key []byte) (keep bool, err error) {
	fits := false
	switch {
	case slices.ContainsFunc(p.format.Catalogue, func(b []byte) bool { return bytes.Equal(b, bucket) }):
		fits, keep = !p.began && p.log == p.head.To, p.newest
	case bytes.Equal(bucket, p.format.State):
		fits = p.open && p.state && bytes.Equal(key, p.id.AppendKey(nil))
		p.state, keep = false, p.keep
	case bytes.Equal(bucket, rowblock.Bucket) && !p.state:
		fits, keep = p.block(key)
	}
	if !fits {
		return false, fmt.Errorf("an entry of bucket %.20q where it does not belong: %w", bucket, ErrPart)
	}
	return keep, nil
}

// block reports whether key is the key of the next block, and whether that block counts.
func (p *plan) block(key []byte) (fits, keep bool) {
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
func (p *plan) record(pos wal.Pos) (keep bool, err error) {
	if err := p.endGroup(); err != nil {
		return false, err
	}
	if pos != p.log+1 {
		return false, fmt.Errorf("log record %d where %d belongs: %w", pos, p.log+1, ErrPart)
	}
	p.log = pos
	return p.newest, nil
}

// end checks that everything has been found, once all files are read.
func (p *plan) end() error {
	for id := range p.wanted {
		p.id = id
		return p.strange()
	}
	return nil
}

// A File is a backup that is read.
type File struct {
	name string // for errors; empty: the only one
	open func() (io.ReadCloser, error)
}

// One is a backup without a name.
func One(r io.Reader) []File {
	return []File{{open: func() (io.ReadCloser, error) { return io.NopCloser(r), nil }}}
}

// Named are the backups in files.
func Named(names []string) []File {
	var out []File
	for _, name := range names {
		out = append(out, File{name, func() (io.ReadCloser, error) { return os.Open(name) }})
	}
	return out
}

// use opens a backup and calls read with it. The error names the file.
func (f *File) use(format *Format, read func(*reader) error) error {
	r, err := f.open()
	if err != nil {
		return err // it names the file
	}
	defer func() { _ = r.Close() }() // read only
	b, err := newReader(bufio.NewReaderSize(r, 1<<20), format)
	if err == nil {
		defer b.close()
		err = read(b)
	}
	if err != nil && f.name != "" {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	return err
}

// Read reads a backup of everything and increments, each made since the one before it, and gives
// what they hold to a sink, the newest first. It looks at all heads before anything else, except
// that a backup alone is read once: it may be a stream. The error wraps ErrPart or ErrBase, or is
// another one of the files, ctx or the sink.
func Read(ctx context.Context, files []File, format *Format, to Sink) error {
	var heads []Head // nil: not yet looked at
	if len(files) > 1 {
		var err error
		if heads, err = readHeads(files, format); err != nil {
			return err
		}
	}
	plan := &plan{format: format}
	for i := len(files) - 1; i >= 0; i-- {
		err := files[i].use(format, func(b *reader) error {
			if heads == nil {
				if err := b.head.first(); err != nil {
					return err
				}
			} else if b.head != heads[i] {
				return fmt.Errorf("it changed while it was read: %w", ErrPart)
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
func readHeads(files []File, format *Format) ([]Head, error) {
	heads := make([]Head, len(files))
	for i := range files {
		err := files[i].use(format, func(b *reader) error {
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
