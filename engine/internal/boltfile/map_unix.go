//go:build unix

package boltfile

import (
	"bytes"
	"fmt"
	"os"
	"sync/atomic"

	bolt "go.etcd.io/bbolt"
	"golang.org/x/sys/unix"

	"github.com/rondo-db/rondo/engine/internal/damage"
)

// mapsSparsely says that a mapping may be larger than the file.
const mapsSparsely = true

// metaPages are the first two pages of the file, in a mapping of their own.
type metaPages struct {
	pageSize int
	mem      []byte
	// valid holds the bytes of a meta page whose checksum was right. A commit leaves one of the two
	// pages as it was, so most transactions find these bytes again and compute no checksum.
	valid atomic.Pointer[[metaBytes]byte]
}

func mapMetas(f *os.File, pageSize int) (*metaPages, error) {
	mem, err := unix.Mmap(int(f.Fd()), 0, 2*pageSize, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map: %w", err)
	}
	return &metaPages{pageSize: pageSize, mem: mem}, nil
}

// check reads the meta pages before bbolt does. bbolt reads them while it holds its locks, and a
// panic would leave the locks held. check runs under Guard, because the file may have been cut.
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
	return &damage.Error{Err: fmt.Errorf("neither of its first two pages is valid")}
}

// meta returns the fields of a meta page with their checksum.
func (p *metaPages) meta(page int) []byte {
	at := page*p.pageSize + metaAt
	return p.mem[at : at+metaBytes]
}

// unlock releases bbolt's lock on the file, so that this process can open the file a second time.
// The lock on the folder keeps other processes out.
func unlock(f *os.File, _ *bolt.DB) error { return unix.Flock(int(f.Fd()), unix.LOCK_UN) }

func (p *metaPages) unmap() {
	_ = unix.Munmap(p.mem) // mem is a mapping: this cannot fail
}
