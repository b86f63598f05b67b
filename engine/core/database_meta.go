package core

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// The first two pages of bbolt's file are its meta pages. A transaction writes one of them last, by
// turns; the valid one with the higher number counts. As bbolt defines them (8 bytes of page
// number, 8 of flags and counts, then):
const (
	metaAt    = 16 // of the page
	metaBytes = 64
	metaMagic = 0xED0CDAED
)

// A metaPage is what a valid meta page says.
type metaPage struct {
	pageSize int64
	root     uint64 // page of the bucket of buckets
	freelist uint64 // page
	pages    uint64 // the file has at least so many
	tx       uint64 // the transaction that wrote it
}

// parseMeta reads a page; ok is false if it is no valid meta page.
func parseMeta(page []byte) (m metaPage, ok bool) {
	if len(page) < metaAt+metaBytes {
		return m, false
	}
	b, e := page[metaAt:metaAt+metaBytes], binary.NativeEndian
	if e.Uint32(b) != metaMagic {
		return m, false
	}
	sum := uint64(14695981039346656037) // FNV-1a
	for _, c := range b[:56] {
		sum = (sum ^ uint64(c)) * 1099511628211
	}
	m = metaPage{int64(e.Uint32(b[8:])), e.Uint64(b[16:]), e.Uint64(b[32:]), e.Uint64(b[40:]), e.Uint64(b[48:])}
	return m, sum == e.Uint64(b[56:])
}

// newestMeta returns the meta page that counts, its place in the file, and its bytes.
func newestMeta(f io.ReaderAt, size int64) (newest metaPage, at int64, page []byte, err error) {
	found := false
	look := func(off int64, b []byte) {
		if m, ok := parseMeta(b); ok && (!found || m.tx > newest.tx) {
			newest, at, page, found = m, off, b, true
		}
	}
	first := make([]byte, 4096)
	if _, err = f.ReadAt(first, 0); err != nil && err != io.EOF {
		return newest, 0, nil, err
	}
	look(0, first)
	// the first may be damaged: it does not tell
	for pageSize := int64(1 << 10); pageSize <= 1<<24; pageSize <<= 1 {
		if pageSize >= size {
			break
		}
		b := make([]byte, 4096)
		if _, err = f.ReadAt(b, pageSize); err != nil && err != io.EOF {
			return newest, 0, nil, err
		}
		if m, ok := parseMeta(b); ok && m.pageSize == pageSize {
			look(pageSize, b)
			break
		}
	}
	if !found {
		return newest, 0, nil, &DamageError{Err: fmt.Errorf("neither of its first two pages is valid")}
	}
	return newest, at, page, nil
}

// checkFile refuses a file that bbolt would open and then fail to read: one that ends before its
// pages do, or whose list of free pages cannot be one. A file that is absent is made anew.
func (d *database) checkFile() error {
	if err := d.ask("read"); err != nil {
		return err
	}
	f, err := os.Open(d.name)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it is only read
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if st.Size() == 0 {
		return &DamageError{Err: errors.New("the file is empty: it was cut")}
	}
	m, _, _, err := newestMeta(f, st.Size())
	if err != nil {
		return err
	}
	if m.pageSize < 1<<10 || m.pages > 1<<48 || int64(m.pages)*m.pageSize > st.Size() {
		return &DamageError{Err: fmt.Errorf("the file has %d bytes, but its pages take %d: it was cut", st.Size(), int64(m.pages)*m.pageSize)}
	}
	_, _, err = readFreelist(f, m)
	return err
}

// checkLength refuses a file that ends before its pages do: a transaction would make it long again,
// with holes where pages were, and the log that still has what they held would be cut.
func checkLength(f *os.File) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	m, _, _, err := newestMeta(f, st.Size())
	if err == nil && int64(m.pages)*m.pageSize > st.Size() {
		err = &DamageError{Err: fmt.Errorf("the file has %d bytes, but its pages take %d: it was cut", st.Size(), int64(m.pages)*m.pageSize)}
	}
	return err
}

// noFreelist stands for a database without a list of free pages.
const noFreelist = 1<<64 - 1

// A freelist is where the list of free pages stands: count page numbers of 8 bytes each from the
// offset at on. It takes pages pages.
type freelist struct {
	at           int64
	count, pages uint64
}

// findFreelist reads the header of the list of free pages, which bbolt trusts to say its own
// length.
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

// badFreelist is damage of the list of free pages.
func (m *metaPage) badFreelist(what string, v ...any) error {
	return &DamageError{Err: fmt.Errorf("list of free pages, page %d: %s", m.freelist, fmt.Sprintf(what, v...))}
}

// readFreelist reads the list of free pages. pages is how many it takes.
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
