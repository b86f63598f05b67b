//go:build faults

package core_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/wal/waltest"
)

// These tests need a bbolt that asks before each call on its file: .ci/bbolt-faults makes one. The
// database is a real file, because bbolt maps it; a baseDisk knows what of it was synced, makes
// calls fail, and says what loss of power leaves. The log is on a waltest.Disk.

const sector = 512

// A baseDisk stands under the database's file.
type baseDisk struct {
	mu    sync.Mutex
	r     *rand.Rand
	dir   string               // of the store
	files map[uint64]*baseFile // by inode
	// replaced is the file whose name another file has got since the folder was synced, or nil.
	replaced *baseFile
	calls    map[string]int

	kind    string // fails, the n-th call from now on
	n       int
	forever bool
	cut     func() bool // says whether power is lost with this call
}

// A baseFile is what a loss of power may leave of a file.
type baseFile struct {
	durable []byte
	pending []baseWrite
}

// A baseWrite is not synced yet: bytes, or with none of them a new size.
type baseWrite struct {
	off int64
	b   []byte
}

func newBaseDisk(t *testing.T, seed uint64, dir string) *baseDisk {
	d := &baseDisk{r: rand.New(rand.NewPCG(seed, 21)), dir: dir, files: make(map[uint64]*baseFile), calls: make(map[string]int)}
	bolt.Fault = d.fault
	t.Cleanup(func() { bolt.Fault = nil })
	return d
}

func (d *baseDisk) fail(kind string, n int, forever bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.kind, d.n, d.forever = kind, n, forever
}

// named returns the file that has the name, or nil.
func (d *baseDisk) named(name string) *baseFile {
	st, err := os.Stat(filepath.Join(d.dir, name))
	if err != nil {
		return nil
	}
	ino := st.Sys().(*syscall.Stat_t).Ino
	if d.files[ino] == nil {
		d.files[ino] = new(baseFile)
	}
	return d.files[ino]
}

// of returns what is known of f; nil is the database.
func (d *baseDisk) of(f *os.File) *baseFile {
	if f == nil {
		return d.named("rondo.bolt")
	}
	st, err := f.Stat()
	if err != nil {
		return new(baseFile)
	}
	ino := st.Sys().(*syscall.Stat_t).Ino
	if d.files[ino] == nil {
		d.files[ino] = new(baseFile)
	}
	return d.files[ino]
}

func (d *baseDisk) fault(op string, f *os.File, off int64, b []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch op {
	case "commit", "committed", "repair", "reopen": // steps, not calls
		return nil
	}
	d.calls[op]++
	x := d.of(f)
	changes := op == "write" || op == "sync" || op == "truncate" || op == "rename" || op == "folder"
	if op == "write" && off == 0 && len(b) > 2*4096 { // the first of a file
		x.durable, x.pending = nil, nil
	}
	if changes && d.cut != nil && d.cut() {
		if op == "write" {
			x.pending = append(x.pending, baseWrite{off, slices.Clone(b[:d.r.IntN(len(b)+1)])})
		}
		return waltest.ErrPower
	}
	if op == d.kind && d.n > 0 {
		if d.n--; d.n == 0 {
			if d.forever {
				d.n = 1
			}
			switch op {
			case "write": // a part of it is done
				b = b[:d.r.IntN(len(b)+1)]
				if _, err := f.WriteAt(b, off); err != nil {
					return err
				}
				x.pending = append(x.pending, baseWrite{off, slices.Clone(b)})
			case "sync": // a part is durable, and the kernel forgets that the rest is not
				x.durable = d.keep(x, 2+d.r.IntN(2))
				x.pending = nil
			}
			return syscall.EIO
		}
	}
	switch op {
	case "write":
		x.pending = append(x.pending, baseWrite{off, slices.Clone(b)})
	case "truncate":
		x.pending = append(x.pending, baseWrite{off, nil})
	case "sync":
		x.durable, x.pending = d.keep(x, 0), nil
	case "rename":
		if old := d.named("rondo.bolt"); old != nil {
			kept := *old // a new file may get its inode
			d.replaced = &kept
		}
	case "folder":
		d.replaced = nil
	}
	return nil
}

// keep gives what is durable with all of the pending writes (0), none (1), the first few, the last
// torn (2), or any sectors of any of them in any order (3).
func (d *baseDisk) keep(x *baseFile, how int) []byte {
	img := slices.Clone(x.durable)
	put := func(off int64, b []byte) {
		if n := int(off) + len(b); n > len(img) {
			img = append(img, make([]byte, n-len(img))...)
		}
		copy(img[off:], b)
	}
	pending := x.pending
	switch how {
	case 1:
		return img
	case 2:
		pending = pending[:d.r.IntN(len(pending)+1)]
	case 3:
		var parts []baseWrite
		for _, w := range pending {
			for at := 0; at < len(w.b); at += sector {
				parts = append(parts, baseWrite{w.off + int64(at), w.b[at:min(at+sector, len(w.b))]})
			}
			if len(w.b) == 0 {
				parts = append(parts, w)
			}
		}
		d.r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		pending = parts[:d.r.IntN(len(parts)+1)]
	}
	for i, w := range pending {
		b := w.b
		if how == 2 && i == len(pending)-1 && len(b) > 0 {
			b = b[:d.r.IntN(len(b)+1)/sector*sector]
		}
		if w.b == nil {
			if int(w.off) > len(img) {
				img = append(img, make([]byte, int(w.off)-len(img))...)
			}
			img = img[:w.off]
			continue
		}
		put(w.off, b)
	}
	return img
}

// restart makes the database what loss of power leaves of it.
func (d *baseDisk) restart(t *testing.T) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.n, d.cut = 0, nil
	name := "rondo.bolt"
	x := d.named(name)
	if x == nil {
		name += ".new"
		if x = d.named(name); x == nil {
			return
		}
	}
	if d.replaced != nil && d.r.IntN(2) == 0 {
		x = d.replaced // the folder shows the old file again
	}
	d.replaced = nil
	x.durable, x.pending = d.keep(x, d.r.IntN(4)), nil
	if err := os.WriteFile(filepath.Join(d.dir, name), x.durable, 0o600); err != nil {
		t.Fatal(err)
	}
	d.files = make(map[uint64]*baseFile)
	d.named(name).durable = x.durable
}

// faultRun is one run of the crash tests' operations on two disks.
type faultRun struct {
	*crashRun
	base  *baseDisk
	log   *waltest.Disk
	calls map[string]int // of the script
	extra extraSeries
}

func newFaultRun(t *testing.T, seed uint64) *faultRun {
	c := newCrashRun(t, seed)
	f := &faultRun{crashRun: c, base: newBaseDisk(t, seed, c.task.dir), log: waltest.NewDisk(seed)}
	f.more = f.extras
	f.wrap = func(o core.Options) core.Options { return o.WithFS(f.log).WithFault(f.base.fault) }
	return f
}

// script opens a store, loads it, imports and alters series, closes and opens it again, writes
// checkpoints and a backup, and ends as power is lost. With a kind, the n-th call of that kind
// fails. It returns how many errors were met.
func (f *faultRun) script(kind string, n int, forever bool) (met int) {
	t := f.t
	ctx := t.Context()
	onBase, isBase := strings.CutPrefix(kind, "database ")
	logKind := strings.TrimPrefix(kind, "log ")
	arm := func(n int) {
		if isBase {
			f.base.fail(onBase, n, forever)
		} else if kind != "" {
			f.log.Fail(logKind, n, forever, syscall.EIO)
		}
	}
	var mu sync.Mutex
	note := func(what string, err error) {
		mu.Lock()
		defer mu.Unlock()
		met++
		// bbolt hands errors of some calls on as text.
		if kind == "" || !errors.Is(err, syscall.EIO) && !strings.Contains(err.Error(), syscall.EIO.Error()) {
			t.Errorf("%s %d (for good: %v): %s: %v", kind, n, forever, what, err)
		}
	}
	arm(n)
	o := f.wrap(core.Options{CheckpointBytes: 8 << 10})
	s, err := core.Open(f.task.dir, o)
	if err != nil {
		note("open", err)
		arm(0)
		if s, err = core.Open(f.task.dir, o); err != nil {
			t.Fatalf("%s %d: open when the disk works again: %v", kind, n, err)
		}
	}
	tries := 0
	f.load(s, 0, 4, func(err error) bool {
		note("load", err)
		if err := s.Checkpoint(ctx); err != nil { // then appends may be refused until one succeeds
			note("checkpoint", err)
		}
		mu.Lock()
		defer mu.Unlock()
		tries++
		return !forever && tries < 30
	})
	if err := s.Checkpoint(ctx); err != nil {
		note("checkpoint", err)
	}
	f.copies(ctx, s, note)
	if err := s.Close(); err != nil {
		note("close", err)
	}
	if _, err := core.Compact(ctx, f.task.dir, o); err != nil {
		note("compact", err)
	}
	if s, err = core.Open(f.task.dir, o); err != nil {
		note("open again", err)
		arm(0)
		if s, err = core.Open(f.task.dir, o); err != nil {
			t.Fatalf("%s %d: open again when the disk works again: %v", kind, n, err)
		}
	}
	f.copies(ctx, s, note)
	if err := s.Backup(ctx, io.Discard); err != nil {
		note("backup", err)
	}
	if !forever && met > 0 { // it has worked for a while: nothing may be wrong any more
		if err := s.Checkpoint(ctx); err != nil {
			t.Errorf("%s %d: a checkpoint after the one error: %v", kind, n, err)
		}
	}
	arm(0)
	if err := s.Checkpoint(ctx); err != nil {
		t.Errorf("%s %d (for good: %v): checkpoint when the disk works again: %v", kind, n, forever, err)
	}
	f.compare(s)
	f.load(s, 0, 2, func(err error) bool {
		t.Errorf("%s %d (for good: %v): an operation when the disk works again: %v", kind, n, forever, err)
		return false
	})
	f.compare(s)
	_ = s.Abandon() // what it has to say was said
	f.calls = make(map[string]int)
	for kind, n := range f.base.calls {
		f.calls["database "+kind] = n
	}
	for kind, n := range f.log.Calls() {
		f.calls["log "+kind] = n
	}
	f.base.restart(t)
	f.log = f.log.Restart()
	f.verify()
	return met
}

// TestDiskFaults fails every call on the files, of the log and of the database, one at a time: the
// n-th of each kind for every n of a run, once and for good. What fails says so; nothing that was
// acknowledged is lost, then or after a loss of power; and all goes on without a restart when the
// disk works again.
func TestDiskFaults(t *testing.T) {
	seed := seedtest.One(t)
	f := newFaultRun(t, seed)
	f.script("", 0, false)
	most := max(2, seedtest.Crashes(0)) // of a kind; spread over the run
	if testing.Short() {
		most = 1
	}
	var report []string
	for kind, n := range f.calls {
		t.Run(kind, func(t *testing.T) {
			runs, met := 0, 0
			step := max(1, n/most)
			for i := 1 + int(seed%uint64(step)); i <= n; i += step {
				for _, forever := range []bool{false, true} {
					runs++
					if newFaultRun(t, seed).script(kind, i, forever) > 0 {
						met++
					}
					if t.Failed() {
						t.FailNow()
					}
				}
			}
			report = append(report, fmt.Sprintf("%s: %d calls in a run, %d runs, %d with an error", kind, n, runs, met))
		})
	}
	slices.Sort(report)
	t.Logf("seed %d\n%s", seed, strings.Join(report, "\n"))
}

// TestDiskCuts loses power at random under load, of log and database at once: writes that were not
// synced are lost, kept, torn or kept in another order.
func TestDiskCuts(t *testing.T) {
	seed := seedtest.One(t)
	f := newFaultRun(t, seed)
	r := rand.New(rand.NewPCG(seed, 22))
	cuts := powerCuts()
	samples := 0
	for range cuts {
		var mu sync.Mutex
		left := 1 + r.IntN(400)
		cut := func() bool {
			mu.Lock()
			defer mu.Unlock()
			left--
			return left <= 0
		}
		f.base.mu.Lock()
		f.base.cut = cut
		f.base.mu.Unlock()
		f.log.Fault = func(op waltest.Op) (int, error) {
			if !cut() {
				return 0, nil
			}
			return int(op.Length) / 2, waltest.ErrPower
		}
		o := f.wrap(core.Options{CheckpointBytes: 16 << 10})
		if r.IntN(4) == 0 {
			_, _ = core.Compact(t.Context(), f.task.dir, o) // Open meets the loss of power, too
		}
		s, err := core.Open(f.task.dir, o)
		if err == nil {
			f.load(s, 3, 1<<30, func(err error) bool {
				if !errors.Is(err, waltest.ErrPower) {
					t.Errorf("an operation met %v", err)
				}
				return false
			})
			_ = s.Abandon() // the disks are gone
		} else if !errors.Is(err, waltest.ErrPower) {
			t.Fatalf("open: %v", err)
		}
		f.base.restart(t)
		f.log = f.log.Restart()
		f.verify()
		f.task.gen++
	}
	for _, a := range f.apps {
		samples += a.acked
	}
	t.Logf("seed %d: %d power cuts of log and database, %d operations acknowledged", seed, cuts, samples)
}
