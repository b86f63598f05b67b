package boltfile

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/rondo-db/rondo/engine/internal/damage"
)

// noFreelist is the page number that a meta page has instead of a list of free pages.
const noFreelist = 1<<64 - 1

// A freelist says where the file keeps the list of free pages: count page numbers of 8 bytes each,
// from offset at on. The list takes pages pages.
type freelist struct {
	at           int64
	count, pages uint64
}

// findFreelist reads and checks the header of the list of free pages. bbolt trusts the length that
// the header claims.
func findFreelist(f io.ReaderAt, m metaPage) (l freelist, err error) {
	if m.freelist == noFreelist {
		return freelist{}, nil
	}
	head := make([]byte, 24)
	if m.freelist < 2 || m.freelist >= m.pages {
		return freelist{}, m.badFreelist("outside of the file")
	}
	if _, err := f.ReadAt(head, int64(m.freelist)*m.pageSize); err != nil {
		return freelist{}, fmt.Errorf("list of free pages: %w", err)
	}
	e := binary.NativeEndian
	id, flags, count, overflow := e.Uint64(head), e.Uint16(head[8:]), uint64(e.Uint16(head[10:])), uint64(e.Uint32(head[12:]))
	at := int64(16)
	if count == 0xFFFF {
		count, at = e.Uint64(head[16:]), 24
	}
	if id != m.freelist || flags != 0x10 || m.freelist+overflow >= m.pages || count > m.pages || int64(count)*8+at > int64(overflow+1)*m.pageSize {
		return freelist{}, m.badFreelist("its header is damaged (page %d, flags %#x, %d entries, overflow %d)", id, flags, count, overflow)
	}
	return freelist{int64(m.freelist)*m.pageSize + at, count, overflow + 1}, nil
}

// badFreelist returns damage of the list of free pages.
func (m *metaPage) badFreelist(what string, v ...any) error {
	return &damage.Error{Err: fmt.Errorf("list of free pages, page %d: %s", m.freelist, fmt.Sprintf(what, v...))}
}

// readFreelist reads the list of free pages; the list takes pages pages.
func readFreelist(f io.ReaderAt, m metaPage) (ids []uint64, pages uint64, err error) {
	l, err := findFreelist(f, m)
	if err != nil || l.count == 0 {
		return nil, l.pages, err
	}
	b := make([]byte, l.count*8)
	if _, err := f.ReadAt(b, l.at); err != nil {
		return nil, 0, fmt.Errorf("list of free pages: %w", err)
	}
	ids = make([]uint64, 0, l.count)
	last := uint64(1)
	for ; len(b) > 0; b = b[8:] {
		id := binary.NativeEndian.Uint64(b)
		if id <= last || id >= m.pages {
			return nil, 0, m.badFreelist("page %d does not belong into it", id)
		}
		last = id
		ids = append(ids, id)
	}
	return ids, l.pages, nil
}
