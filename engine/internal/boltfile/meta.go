package boltfile

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/internal/record"
)

// The first two pages of bbolt's file are its meta pages. Each transaction ends by writing one of
// the two, in turns; of the valid ones, the one with the higher transaction number counts. A meta
// page begins with the page header of 16 bytes; then come the fields that bbolt defines:
const (
	metaAt      = 16 // of the page
	metaBytes   = 64
	metaMagic   = 0xED0CDAED
	metaVersion = 2 // newest that is read
)

// A metaPage is what a valid meta page says.
type metaPage struct {
	pageSize int64
	root     uint64 // page of the bucket of buckets
	freelist uint64 // page
	pages    uint64 // the file has at least this many
	tx       uint64 // the transaction that wrote it
	version  uint32 // of bbolt's format
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
	m = metaPage{int64(e.Uint32(b[8:])), e.Uint64(b[16:]), e.Uint64(b[32:]), e.Uint64(b[40:]), e.Uint64(b[48:]), e.Uint32(b[4:])}
	return m, sum == e.Uint64(b[56:])
}

// newestMeta returns the meta page that counts, its offset in the file, and its bytes.
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
	// A damaged first page does not show the page size: try each.
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
		return newest, 0, nil, &damage.Error{Err: fmt.Errorf("neither of its first two pages is valid")}
	}
	return newest, at, page, nil
}

// wholeMeta returns the meta page that counts, and refuses a file of a newer format, and one that
// ends before its pages do.
func wholeMeta(f io.ReaderAt, size int64) (metaPage, error) {
	m, _, _, err := newestMeta(f, size)
	if err == nil {
		err = m.newer()
	}
	if err == nil && (m.pageSize < 1<<10 || m.pages > 1<<48 || int64(m.pages) > size/m.pageSize) {
		err = &damage.Error{Err: fmt.Errorf("the file has %d bytes, but its pages take %d: it was cut", size, int64(m.pages)*m.pageSize)}
	}
	return m, err
}

// newer returns an error if a newer version of bbolt wrote the file.
func (m *metaPage) newer() error {
	if m.version > metaVersion {
		return fmt.Errorf("its pages have version %d, this program reads %d: %w", m.version, metaVersion, record.ErrNewer)
	}
	return nil
}
