//go:build unix

package core

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// mapsSparsely says that a mapping may be larger than the file.
const mapsSparsely = true

// metaPages are the first two pages of the file, mapped apart from bbolt.
type metaPages struct {
	pageSize int
	mem      []byte
}

func mapMetas(f *os.File, pageSize int) (*metaPages, error) {
	mem, err := unix.Mmap(int(f.Fd()), 0, 2*pageSize, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map: %w", err)
	}
	return &metaPages{pageSize, mem}, nil
}

// check looks at what bbolt is about to read with its locks taken, where a panic would leave them taken. It runs
// under guard: the file may have been cut.
func (p *metaPages) check() error {
	if _, ok := parseMeta(p.mem); ok {
		return nil
	}
	if _, ok := parseMeta(p.mem[p.pageSize:]); ok {
		return nil
	}
	return &DamageError{Err: fmt.Errorf("neither of its first two pages is valid")}
}

// unlock gives bbolt's lock on the file up, so that it can be opened beside: the folder's lock keeps others out.
func (o *opening) unlock() error { return unix.Flock(int(o.file.Fd()), unix.LOCK_UN) }

func (p *metaPages) unmap() {
	_ = unix.Munmap(p.mem) // it is whole and ours
}
