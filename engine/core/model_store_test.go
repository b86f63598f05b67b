package core_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
)

// A modelRun drives one program against a store and the model.
type modelRun struct {
	*program
	ctx  context.Context
	s    *core.Store
	dir  string
	o    core.Options
	log  []string
	copy string // a copy of the folder taken in the midst of a checkpoint
}

func (m *modelRun) note(format string, args ...any) {
	m.log = append(m.log, fmt.Sprintf(format, args...))
}

func (m *modelRun) fatalf(format string, args ...any) {
	m.t.Helper()
	m.t.Fatalf("%s\nafter: %s", fmt.Sprintf(format, args...), strings.Join(m.log[max(0, len(m.log)-40):], "\n       "))
}

func (m *modelRun) must(err error, what string) {
	m.t.Helper()
	if err != nil {
		m.fatalf("%s: %v", what, err)
	}
}

func (m *modelRun) create(n int) {
	def := pick(m.r, m.defs...)
	var specs []core.Spec
	var made []*modelSeries
	for range n {
		m.made++
		start := rra.Seconds(programStart + m.r.Int64N(1000))
		if len(m.series) > 0 && m.r.IntN(2) == 0 {
			start = pick(m.r, m.series...).last()
		}
		path := fmt.Sprintf("p%d/s%d%s", m.r.IntN(5), m.made, pick(m.r, "", ".rrd"))
		labels := []core.Label{{Name: "n", Value: fmt.Sprint(m.made)}, {Name: "mod", Value: fmt.Sprint(m.made % 3)}}
		spec := core.Spec{Path: path, Definition: def, Start: start, Labels: labels}
		x := newModelSeries(def, path, start)
		if m.r.IntN(4) == 0 {
			spec.SmoothHash = m.r.Uint64()
			x.m.SmoothBy(x.st.W, spec.SmoothHash)
		}
		specs = append(specs, spec)
		x.labels = labels
		made = append(made, x)
	}
	out, err := m.s.CreateBatch(m.ctx, specs)
	m.must(err, "create")
	for i, o := range out {
		m.must(o.Err, "create "+specs[i].Path)
		made[i].ref = o.Ref
	}
	m.series = append(m.series, made...)
	m.note("create %d of %v", n, def.Args())
}

func (m *modelRun) overwrite() {
	x := pick(m.r, m.series...)
	def := pick(m.r, m.defs...)
	start := x.last() + rra.Seconds(m.r.Int64N(100)-50)
	y := newModelSeries(def, x.path, start)
	ref, err := m.s.Create(m.ctx, core.Spec{Path: x.path, Definition: def, Start: start, Overwrite: true})
	m.must(err, "overwrite "+x.path)
	y.ref = ref
	m.series[slices.Index(m.series, x)] = y
	m.note("overwrite %s", x.path)
}

func (m *modelRun) drop() {
	i := m.r.IntN(len(m.series))
	x := m.series[i]
	m.must(core.Drop(m.ctx, m.s, x.path), "drop "+x.path)
	m.series = slices.Delete(m.series, i, i+1)
	if _, err := m.s.Fetch(m.ctx, x.ref, 0, 0, 10); !errors.Is(err, core.ErrNotFound) {
		m.fatalf("fetch of a dropped series: %v, want ErrNotFound", err)
	}
	m.note("drop %s", x.path)
}

func (m *modelRun) rename() {
	x := pick(m.r, m.series...)
	m.made++
	to := fmt.Sprintf("q/%d%s", m.made, pick(m.r, "", ".rrd"))
	m.must(m.s.Rename(m.ctx, x.path, to), "rename "+x.path)
	m.note("rename %s to %s", x.path, to)
	x.path = to
}

// append gives a batch to both and compares what was refused.
func (m *modelRun) append(rds []*reading) {
	m.t.Helper()
	var b core.Batch
	var late, other, accepted int
	for _, rd := range rds {
		b.AddText(rd.x.ref, rd.at, rd.values, rd.texts)
		var te *rra.TimeError
		switch err := rd.x.append(rd); {
		case err == nil:
			accepted++
		case errors.As(err, &te):
			late++
		default:
			other++
		}
	}
	err := m.s.Append(m.ctx, &b)
	var rej *core.RejectedError
	switch {
	case late+other == 0:
		m.must(err, "append")
	case !errors.As(err, &rej):
		m.fatalf("append: %v, want %d late, %d refused", err, late, other)
	case rej.Late != late || rej.Other != other || rej.Accepted != accepted:
		m.fatalf("append: %v, want %d late, %d refused, %d stored", rej, late, other, accepted)
	}
}

func (m *modelRun) update() {
	x := pick(m.r, m.series...)
	var rds []*reading
	var b core.Batch
	b.SkipPast = m.r.IntN(2) == 0
	at := x.last()
	for range 1 + m.r.IntN(6) {
		at = max(at, nextTime(m.r, x))
		if m.r.IntN(3) > 0 {
			at += rra.Time(m.r.Int64N(3e6))
		}
		rd := m.reading(x, at)
		rds = append(rds, rd)
		b.AddText(x.ref, rd.at, rd.values, rd.texts)
	}
	b.Stopped = m.r.IntN(4) == 0
	n, wantErr := x.update(rds, b.SkipPast, b.Stopped)
	got, err := m.s.Update(m.ctx, x.ref, &b)
	if got != n || (err != nil) != (wantErr != nil) {
		m.fatalf("update %s: %d samples, %v, want %d, %v", x.path, got, err, n, wantErr)
	}
}

func (m *modelRun) checkpoint() {
	if m.r.IntN(3) > 0 {
		m.must(m.s.Checkpoint(m.ctx), "checkpoint")
		m.note("checkpoint")
		if m.r.IntN(2) == 0 {
			m.note("unload %d groups", m.s.UnloadIdle())
		}
		return
	}
	// Somewhere within, the folder is copied, as a crash would leave it.
	at := m.r.IntN(12)
	m.copy = ""
	m.s.SetHook(func(name string) {
		if at--; at == 0 {
			m.copy = copyStore(m.t, m.dir)
			m.note("copy at %s", name)
		}
	})
	m.must(m.s.Checkpoint(m.ctx), "checkpoint")
	m.s.SetHook(nil)
	if m.copy == "" {
		return
	}
	whole := m.s
	var err error
	m.s, err = core.Open(m.copy, m.o)
	m.must(err, "open a copy")
	m.compare(50)
	m.must(m.s.Checkpoint(m.ctx), "checkpoint of a copy")
	m.compare(50)
	m.must(m.s.Abandon(), "close a copy")
	_ = os.RemoveAll(m.copy)
	m.s = whole
}

func (m *modelRun) reopen() {
	var err error
	switch m.r.IntN(3) {
	case 0:
		m.must(m.s.Close(), "close")
		m.note("close")
	case 1:
		m.must(m.s.Abandon(), "abandon")
		m.note("abandon")
	case 2:
		dir := copyStore(m.t, m.dir)
		m.must(m.s.Abandon(), "abandon")
		_ = os.RemoveAll(m.dir)
		m.dir = dir
		m.note("crash")
	}
	m.s, err = core.Open(m.dir, m.o)
	m.must(err, "open")
}

// copyStore copies the folder of an open store as a crash would leave it: the
// database first, so that the log is never behind it.
func copyStore(t testing.TB, dir string) string {
	t.Helper()
	to := t.TempDir()
	copyFile(t, filepath.Join(dir, "rondo.bolt"), filepath.Join(to, "rondo.bolt"))
	err := filepath.WalkDir(filepath.Join(dir, "wal"), func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		if e.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		copyFile(t, name, filepath.Join(to, rel))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// copyFile copies a file and leaves its holes: most of a database is one.
func copyFile(t testing.TB, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }() // only read
	info, err := in.Stat()
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	for at := int64(0); err == nil && at < info.Size(); {
		data, hole := at, info.Size()
		if runtime.GOOS == "linux" {
			if data, err = in.Seek(at, seekData); errors.Is(err, syscall.ENXIO) { // nothing more
				err = nil
				break
			}
			if err == nil {
				hole, err = in.Seek(data, seekHole)
			}
		}
		if err == nil {
			_, err = io.Copy(io.NewOffsetWriter(out, data), io.NewSectionReader(in, data, hole-data))
		}
		at = hole
	}
	if err := errors.Join(err, out.Truncate(info.Size()), out.Close()); err != nil {
		t.Fatal(err)
	}
}

// Of Linux' lseek: the next data, and the next hole.
const (
	seekData = 3
	seekHole = 4
)

// readDatabase returns the pages of a database that are in use. The file is larger.
func readDatabase(t testing.TB, dir string) []byte {
	t.Helper()
	name := filepath.Join(dir, "rondo.bolt")
	db, err := bolt.Open(name, 0o600, &bolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	var b []byte
	err = db.View(func(tx *bolt.Tx) error { b = make([]byte, tx.Size()); return nil })
	f, openErr := os.Open(name)
	if err := errors.Join(err, openErr); err != nil {
		t.Fatal(err)
	}
	_, err = io.ReadFull(f, b)
	if err := errors.Join(err, f.Close(), db.Close()); err != nil {
		t.Fatal(err)
	}
	return b
}

// compare holds everything the store says against the model; of the series, at most n.
func (m *modelRun) compare(n int) {
	m.t.Helper()
	if got := m.s.Stats().Series; got != int64(len(m.series)) {
		m.fatalf("%d series, want %d", got, len(m.series))
	}
	order := m.r.Perm(len(m.series))
	for _, i := range order[:min(n, len(order))] {
		m.compareSeries(m.series[i])
	}
	m.compareMany(n)
	ps, err := m.s.Check(m.ctx)
	m.must(err, "check")
	if len(ps) > 0 {
		m.fatalf("check: %v", ps)
	}
}

func (m *modelRun) compareSeries(x *modelSeries) {
	m.t.Helper()
	ref, err := m.s.Lookup(x.path)
	m.must(err, "lookup "+x.path)
	if ref != x.ref {
		m.fatalf("lookup %s: %#x, want %#x", x.path, ref, x.ref)
	}
	at, err := m.s.Last(ref)
	m.must(err, "last "+x.path)
	if at != x.last() {
		m.fatalf("last of %s: %d, want %d", x.path, at, x.last())
	}
	info, err := m.s.Info(ref)
	m.must(err, "info "+x.path)
	if !slices.Equal(info.State.W, x.st.W) {
		i := 0
		for info.State.W[i] == x.st.W[i] {
			i++
		}
		m.fatalf("state of %s: word %d is %x, want %x (%v)", x.path, i, info.State.W[i], x.st.W[i], x.m.Definition().Args())
	}
	for j := range x.m.Definition().Sources {
		if got, want := x.m.LastReading(&info.State, j), x.m.LastReading(&x.st, j); got != want {
			m.fatalf("last reading of source %d of %s: %q, want %q", j, x.path, got, want)
		}
	}
	for a, ra := range x.m.Definition().Archives {
		span := ra.PDPs * x.m.Definition().Step
		last := x.last().Unix()
		start, end := last-(ra.Rows+3)*span, last+2*span
		if m.r.IntN(2) == 0 {
			start = last - m.r.Int64N(ra.Rows*span+1)
			end = start + m.r.Int64N(ra.Rows*span+1)
		}
		rows, err := m.s.Fetch(m.ctx, ref, a, start, end)
		m.must(err, "fetch "+x.path)
		if d := x.diffRows(a, start, end, &rows); d != "" {
			m.fatalf("%s, archive %d (%v): %s", x.path, a, ra, d)
		}
	}
}

// compareMany compares a FetchMany of several series over one range.
func (m *modelRun) compareMany(n int) {
	m.t.Helper()
	if len(m.series) == 0 {
		return
	}
	x := pick(m.r, m.series...)
	var who []*modelSeries
	var refs []core.Ref
	for range min(n, 40) {
		y := pick(m.r, m.series...)
		if m.r.IntN(4) > 0 && y.m.Shape() != x.m.Shape() {
			continue
		}
		who, refs = append(who, y), append(refs, y.ref)
	}
	span := x.m.Definition().Step * x.m.Definition().Archives[0].PDPs
	end := x.last().Unix() + m.r.Int64N(10*span)
	start := end - m.r.Int64N(200*span) - 1
	seen := 0
	err := m.s.FetchMany(m.ctx, core.Spans(refs, 0, start, end), func(i int, rows *core.Rows, err error) {
		seen++
		m.must(err, "fetch many")
		if d := who[i].diffRows(0, start, end, rows); d != "" {
			m.fatalf("fetch many: %s, archive 0: %s", who[i].path, d)
		}
	})
	m.must(err, "fetch many")
	if seen != len(refs) {
		m.fatalf("fetch many gave %d answers to %d series", seen, len(refs))
	}
}

// cost is what the series of m have given so far: it bounds a program.
func (m *modelRun) cost() (rows int) {
	for _, x := range m.series {
		rows += x.given
	}
	return rows
}

func (m *modelRun) op() {
	switch n := m.r.IntN(40); {
	case len(m.series) == 0 || n == 0:
		m.create(1 + m.r.IntN(8))
	case n == 1 && m.r.IntN(4) == 0:
		m.create(100 + m.r.IntN(200))
	case n == 1 && m.r.IntN(2) == 0:
		m.alter()
	case n == 1:
		m.transplant()
	case n == 2:
		m.overwrite()
	case n == 3:
		m.drop()
	case n == 4:
		m.rename()
	case n == 5:
		m.toggle()
	case n < 12:
		m.update()
	case n == 12:
		ticks := m.r.IntN(2 + 20000/(len(m.series)+50))
		m.note("march of %d", ticks)
		m.march(ticks, m.append)
	case n < 16:
		m.checkpoint()
	case n == 16:
		m.reopen()
	case n == 17:
		m.compare(30)
	default:
		if rds := m.batch(); len(rds) > 0 {
			m.append(rds)
		}
	}
}

// TestModel runs random programs on a store and on the model and compares everything.
func TestModel(t *testing.T) {
	seed := seedtest.One(t)
	n := seedtest.Programs(4, 4)
	t.Logf("%d programs", n)
	for i := range n {
		t.Run(fmt.Sprintf("program=%d", i), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			m := &modelRun{program: &program{t: t, r: r}, ctx: context.Background(), dir: t.TempDir()}
			m.o = core.Options{NoBackground: r.IntN(2) == 0, Sync: pick(r, wal.SyncNone, wal.SyncNone, wal.SyncNone, wal.SyncNone, wal.SyncInterval, wal.SyncAlways)}
			for range 1 + r.IntN(5) {
				m.defs = append(m.defs, randomDefinition(t, r, false))
			}
			var err error
			m.s, err = core.Open(m.dir, m.o)
			m.must(err, "open")
			for range 60 + r.IntN(200) {
				if m.op(); m.cost() > 120_000 {
					break
				}
			}
			m.compare(len(m.series))
			m.must(m.s.Close(), "close")
			m.s, err = core.Open(m.dir, m.o)
			m.must(err, "open")
			m.compare(len(m.series))
			m.must(m.s.Close(), "close")
		})
	}
}
