//go:build unix

package core

import (
	"bytes"
	"fmt"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// mapsSparsely says that a mapping may be larger than the file.
const mapsSparsely = true

// metaPages are the first two pages of the file, mapped apart from bbolt.
type metaPages struct {
	pageSize int
	mem      []byte
	// valid is a meta page that was found to be right. A commit leaves one of the two as it was, so
	// that most transactions find it again without a checksum.
	valid atomic.Pointer[[metaBytes]byte]
}

func mapMetas(f *os.File, pageSize int) (*metaPages, error) {
	mem, err := unix.Mmap(int(f.Fd()), 0, 2*pageSize, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map: %w", err)
	}
	return &metaPages{pageSize: pageSize, mem: mem}, nil
}

// check looks at what bbolt is about to read with its locks taken, where a panic would leave them
// taken. It runs under guard: the file may have been cut.
func (p *metaPages) check() error {
	known := p.valid.Load()
	for page := range 2 {
		if known != nil && bytes.Equal(p.meta(page), known[:]) {
			return nil
		}
	}
	for page := range 2 {
		var b [metaAt + metaBytes]byte
		copy(b[metaAt:], p.meta(page))
		if _, ok := parseMeta(b[:]); ok {
			p.valid.Store((*[metaBytes]byte)(b[metaAt:]))
			return nil
		}
	}
	return &DamageError{Err: fmt.Errorf("neither of its first two pages is valid")}
}

// meta returns the bytes of a meta page that its checksum covers, and these.
func (p *metaPages) meta(page int) []byte {
	at := page*p.pageSize + metaAt
	return p.mem[at : at+metaBytes]
}

// unlock gives bbolt's lock on the file up, so that it can be opened beside: the folder's lock
// keeps others out.
func (o *opening) unlock() error { return unix.Flock(int(o.file.Fd()), unix.LOCK_UN) }

func (p *metaPages) unmap() {
	_ = unix.Munmap(p.mem) // it is whole and ours
}
