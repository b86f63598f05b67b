package waltest

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"

	"github.com/rondo-db/rondo/internal/ramtemp"
)

var _ = ramtemp.Use() // before any test has a temporary folder

// ErrPower is what every operation answers after a power cut.
var ErrPower = errors.New("power is lost")

// sector is the unit that a power cut keeps or loses whole.
const sector = 512

// Disk is a wal.FS in memory that knows what was synced. After a power cut (Restart) a file has
// what was synced and any part of what was written since, sector by sector in any order; a folder
// has the names that were synced and the first few of the changes since, as a journal keeps them.
type Disk struct {
	mu      sync.Mutex
	rnd     *rand.Rand
	names   map[string]*inode
	durable map[string]*inode
	changes []change // of names, since they were synced
	locked  map[string]bool
	ops     int
	cutAt   int // the operation at which power is lost; 0 is never
	lost    bool
	syncs   int

	// Capacity bounds the bytes of all files; 0 is no bound. What goes beyond fails with ENOSPC.
	Capacity int64
	// Fault is asked before each operation that changes something. If it returns an error the
	// operation fails with it; of a write, kept bytes are done.
	Fault func(op Op) (kept int, err error)
	// FaultRead is asked before each operation that changes nothing: mkdir, readdir, open, read,
	// size, named or lock.
	FaultRead func(op Op) error

	calls   map[string]int // by kind
	plan    plan
	refusal error // set by Refuse
}

// Op is an operation. Those that change something are create, write, truncate, allocate, sync,
// rename, remove and syncdir; those that do not are mkdir, readdir, open, read, size, named and
// lock.
type Op struct {
	Kind   string
	Name   string
	Offset int64
	Length int64
}

type inode struct {
	data []byte // as read
	disk []byte // as synced
	ops  []edit // since then
}

// edit is a write, or a truncation to size.
type edit struct {
	off  int64
	data []byte
	size int64
	cut  bool
}

type change struct {
	dir   string
	names map[string]*inode // nil: gone
}

// NewDisk gives an empty disk. What it keeps in a power cut follows from seed.
func NewDisk(seed uint64) *Disk {
	return &Disk{
		rnd:   rand.New(rand.NewPCG(seed, 1)),
		names: map[string]*inode{}, durable: map[string]*inode{}, locked: map[string]bool{},
		calls: map[string]int{},
	}
}

// CutAt makes the disk lose power in the n-th changing operation from now on, which may be done in
// part.
func (d *Disk) CutAt(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cutAt = d.ops + n
}

// Ops is the number of changing operations so far.
func (d *Disk) Ops() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ops
}

// Syncs is the number of files synced so far.
func (d *Disk) Syncs() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.syncs
}

// Used is the size of all files.
func (d *Disk) Used() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.used()
}

func (d *Disk) used() (n int64) {
	for _, f := range d.names {
		n += int64(len(f.data))
	}
	return n
}

// Files gives the names and contents of the files whose names match pattern in the last element.
func (d *Disk) Files(pattern string) map[string][]byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	files := map[string][]byte{}
	for name, f := range d.names {
		if ok, _ := filepath.Match(pattern, filepath.Base(name)); ok {
			files[name] = slices.Clone(f.data)
		}
	}
	return files
}

// Put makes a durable file.
func (d *Disk) Put(name string, data []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := &inode{data: slices.Clone(data), disk: slices.Clone(data)}
	d.names[name], d.durable[name] = f, f
}

// Flip changes a bit of the byte at offset off of a file, as a worn disk does.
func (d *Disk) Flip(name string, off int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.names[name]
	for _, b := range [][]byte{f.data, f.disk} {
		if off < int64(len(b)) {
			b[off] ^= 1
		}
	}
}

// Restart gives the disk as it is after a power cut now. The old one answers ErrPower from now on.
func (d *Disk) Restart() *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lost = true
	n := NewDisk(d.rnd.Uint64())
	n.Capacity = d.Capacity
	for _, c := range d.changes[:d.rnd.IntN(len(d.changes)+1)] {
		c.apply(d.durable)
	}
	after := map[*inode]*inode{}
	for name, f := range d.durable {
		if after[f] == nil {
			data := f.survive(d.rnd)
			after[f] = &inode{data: data, disk: slices.Clone(data)}
		}
		n.names[name], n.durable[name] = after[f], after[f]
	}
	return n
}

// Kill gives the disk as it is after the process was killed: all that was written is there, synced
// or not. What Fail was asked for goes on.
func (d *Disk) Kill() *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := NewDisk(d.rnd.Uint64())
	n.Capacity = d.Capacity
	n.durable, n.changes = d.durable, d.changes
	n.names = d.names
	n.calls, n.plan = d.calls, d.plan
	d.calls = map[string]int{}
	d.lost = true
	d.names = map[string]*inode{}
	return n
}

func (c change) apply(names map[string]*inode) {
	for name, f := range c.names {
		if f == nil {
			delete(names, name)
		} else {
			names[name] = f
		}
	}
}

// survive is the content after a power cut.
func (f *inode) survive(r *rand.Rand) []byte {
	data := slices.Clone(f.disk)
	keep := []float64{0, 0.1, 0.5, 0.9, 1}[r.IntN(5)]
	for _, e := range f.ops {
		if e.cut {
			if r.Float64() < keep {
				data = resize(data, e.size)
			}
			continue
		}
		for at := int64(0); at < int64(len(e.data)); {
			n := min(sector-(e.off+at)%sector, int64(len(e.data))-at)
			if r.Float64() < keep {
				data = splice(data, e.off+at, e.data[at:at+n])
			}
			at += n
		}
	}
	return data
}

func (e edit) apply(b []byte) []byte {
	if e.cut {
		return resize(b, e.size)
	}
	return splice(b, e.off, e.data)
}

func resize(b []byte, size int64) []byte {
	if size <= int64(len(b)) {
		return b[:size:size] // what stood behind must not come back
	}
	return append(b, make([]byte, size-int64(len(b)))...)
}

func splice(b []byte, off int64, data []byte) []byte {
	b = resize(b, max(int64(len(b)), off+int64(len(data))))
	copy(b[off:], data)
	return b
}

// do counts an operation and reports whether it fails. d.mu is held.
func (d *Disk) do(op Op) (kept int, err error) {
	if d.lost {
		return 0, ErrPower
	}
	d.ops++
	if d.ops == d.cutAt {
		d.lost = true
		if op.Length > 0 {
			kept = d.rnd.IntN(int(op.Length) + 1)
		}
		return kept, ErrPower
	}
	if kept, err := d.planned(op); err != nil {
		return kept, err
	}
	if d.refusal != nil {
		return 0, &fs.PathError{Op: op.Kind, Path: op.Name, Err: d.refusal}
	}
	if d.Fault != nil {
		if kept, err := d.Fault(op); err != nil {
			return kept, &fs.PathError{Op: op.Kind, Path: op.Name, Err: err}
		}
	}
	return 0, nil
}

func (d *Disk) rename(names map[string]*inode, dir string) {
	c := change{dir: dir, names: names}
	c.apply(d.names)
	d.changes = append(d.changes, c)
}
