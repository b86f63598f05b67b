package main

import (
	"maps"
	"math/rand/v2"
	"sync"
	"syscall"
	"time"
)

const pageBytes = 4096

type page = [pageBytes]byte

// A disk keeps files twice: as programs see them, and as they are after the power is cut.
type disk struct {
	journal bool

	mu      sync.Mutex // guards what follows, and all inodes
	random  *rand.Rand
	root    *inode
	last    uint64 // inode number
	full    bool
	changed map[*inode]bool // folders whose entries are not durable
}

// An inode is a file, a folder, a symbolic link or a socket.
type inode struct {
	number   uint64
	mode     uint32
	modified time.Time
	target   string // of a symbolic link

	seen, durable content
	dirty         map[int64]bool // pages that are not durable

	entries, durableEntries map[string]*inode // of a folder
}

// A content is the pages of a file, which may have holes. Pages are shared between the two contents
// of a file while they are the same.
type content struct {
	size  int64
	pages map[int64]*page
}

func (c content) clone() content { return content{c.size, maps.Clone(c.pages)} }

func newDisk(journal bool, random *rand.Rand) *disk {
	d := &disk{journal: journal, random: random}
	d.wipe()
	return d
}

// wipe removes everything.
func (d *disk) wipe() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last, d.changed = 0, make(map[*inode]bool)
	d.root = d.newInode(syscall.S_IFDIR | 0o755)
}

// newInode returns an inode that no folder has. d.mu is locked.
func (d *disk) newInode(mode uint32) *inode {
	d.last++
	i := &inode{number: d.last, mode: mode, modified: time.Now(), dirty: make(map[int64]bool)}
	i.seen.pages, i.durable.pages = make(map[int64]*page), make(map[int64]*page)
	if mode&syscall.S_IFMT == syscall.S_IFDIR {
		i.entries, i.durableEntries = make(map[string]*inode), make(map[string]*inode)
	}
	return i
}

func (d *disk) setFull(full bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.full = full
}

// write writes into a file. It returns how much of b found space.
func (d *disk) write(i *inode, b []byte, at int64) (n int) {
	for len(b) > 0 {
		k, off := at/pageBytes, at%pageBytes
		p := i.seen.pages[k]
		if p == nil && d.full {
			break
		}
		copied := copy(i.own(k)[off:], b)
		b, at, n = b[copied:], at+int64(copied), n+copied
	}
	i.seen.size = max(i.seen.size, at)
	i.modified = time.Now()
	return n
}

// own returns a page of the content that programs see, to be changed.
func (i *inode) own(k int64) *page {
	p := i.seen.pages[k]
	if p == nil || p == i.durable.pages[k] {
		c := new(page)
		if p != nil {
			*c = *p
		}
		i.seen.pages[k], p = c, c
	}
	i.dirty[k] = true
	return p
}

// read reads from a file into b, and returns how much there was.
func (i *inode) read(b []byte, at int64) (n int) {
	for at < i.seen.size && n < len(b) {
		k, off := at/pageBytes, at%pageBytes
		most := min(int64(len(b)-n), pageBytes-off, i.seen.size-at)
		if p := i.seen.pages[k]; p != nil {
			copy(b[n:n+int(most)], p[off:])
		} else {
			clear(b[n : n+int(most)])
		}
		n, at = n+int(most), at+most
	}
	return n
}

// truncate gives a file another size.
func (i *inode) truncate(size int64) {
	if size < i.seen.size {
		for k := range i.seen.pages {
			if k*pageBytes >= size {
				delete(i.seen.pages, k)
				i.dirty[k] = true
			}
		}
		if k, off := size/pageBytes, size%pageBytes; off > 0 && i.seen.pages[k] != nil {
			clear(i.own(k)[off:])
		}
	}
	i.seen.size = size
	i.modified = time.Now()
}

// sync makes a file or a folder durable.
func (d *disk) sync(i *inode) {
	for k := range i.dirty {
		i.keep(k)
	}
	clear(i.dirty)
	i.durable.size = i.seen.size
	if i.entries != nil {
		d.syncEntries(i)
	}
	if d.journal {
		for folder := range d.changed {
			d.syncEntries(folder)
		}
	}
}

// keep makes a page durable.
func (i *inode) keep(k int64) {
	if p := i.seen.pages[k]; p != nil {
		i.durable.pages[k] = p
	} else {
		delete(i.durable.pages, k)
	}
}

func (d *disk) syncEntries(folder *inode) {
	folder.durableEntries = maps.Clone(folder.entries)
	delete(d.changed, folder)
}

// cut makes everything what it is after the power was cut. Of what was not synced nothing is there,
// or all written pages, or some of them: a disk may write in any order.
func (d *disk) cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	kept := float64(d.random.IntN(3)) / 2
	d.changed = make(map[*inode]bool)
	d.full = false
	seen := make(map[*inode]bool)
	var revert func(i *inode)
	revert = func(i *inode) {
		if seen[i] {
			return
		}
		seen[i] = true
		for k := range i.dirty {
			if i.seen.pages[k] != nil && d.random.Float64() < kept {
				i.keep(k)
				i.durable.size = max(i.durable.size, min(i.seen.size, (k+1)*pageBytes))
			}
		}
		clear(i.dirty)
		i.seen = i.durable.clone()
		if i.entries != nil {
			i.entries = maps.Clone(i.durableEntries)
			for _, child := range i.entries {
				revert(child)
			}
		}
	}
	revert(d.root)
}
