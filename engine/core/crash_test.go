package core_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
)

// The test binary runs itself as a child that appends and says what was
// acknowledged, until it is killed: by the parent at some acknowledgement, or by
// itself at a named point. The parent opens what is left, compares it with the
// model, and lets the next child go on in the same folder.

const crashEnv = "RONDO_CRASH_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(crashEnv) != "" {
		crashChild()
	}
	os.Exit(m.Run())
}

// crashPoints are the named points and the most hits that are waited for.
var crashPoints = map[string]int{
	"open-log": 1, "open-replayed": 1, "catalogue-create": 40, "log-durable": 150, "record-applied": 300,
	"checkpoint-tx": 8, "checkpoint-between": 8, "checkpoint-groups": 8, "checkpoint-catalogue": 8, "checkpoint-end": 8,
	"expire": 12, "merge": 12,
	"compact-copied": 1, "compact-renamed": 1, "compact-end": 1,
}

// A crashTask is what the parent asks of a child.
type crashTask struct {
	dir   string
	seed  uint64
	gen   int
	point string // where it dies; empty: when the parent says so
	hits  int
	from  [crashAppenders]int // operations that are done
}

func (c *crashTask) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%d %d %q %d", c.seed, c.gen, c.point, c.hits)
	for _, n := range c.from {
		fmt.Fprintf(&s, " %d", n)
	}
	return s.String() + " " + c.dir
}

func parseCrashTask(s string) (c crashTask) {
	args := []any{&c.seed, &c.gen, &c.point, &c.hits}
	for i := range c.from {
		args = append(args, &c.from[i])
	}
	if _, err := fmt.Sscanf(s, "%d %d %q %d %d %d %d %d", args...); err != nil {
		panic(err)
	}
	_, c.dir, _ = strings.Cut(s, " /")
	c.dir = "/" + c.dir
	return c
}

// options of a generation: how the log syncs does not matter to a killed process.
func (c *crashTask) options() core.Options {
	return core.Options{CheckpointBytes: 24 << 10, Sync: []wal.Sync{wal.SyncAlways, wal.SyncNone, wal.SyncInterval}[c.gen%3]}
}

// say writes a line to the parent. It is there when the call returns, whatever becomes of the
// process.
func say(format string, args ...any) {
	if _, err := fmt.Fprintf(os.Stdout, format+"\n", args...); err != nil {
		os.Exit(3)
	}
}

func childFatal(format string, args ...any) {
	say("error "+format, args...)
	os.Exit(2)
}

// crashChild appends until it dies.
func crashChild() {
	task := parseCrashTask(os.Getenv(crashEnv))
	runtime.GOMAXPROCS([]int{2, 4, 1, 3}[task.gen%4])
	var hits atomic.Int64
	o := task.options().WithHook(func(name string) {
		if name == task.point && hits.Add(1) == int64(task.hits) {
			say("point %s", name)
			if p, err := os.FindProcess(os.Getpid()); err == nil {
				_ = p.Kill() // SIGKILL
			}
			select {}
		}
	})
	if task.gen%3 == 0 || strings.HasPrefix(task.point, "compact-") {
		if _, err := core.Compact(context.Background(), task.dir, o); err != nil && !errors.Is(err, os.ErrNotExist) {
			childFatal("compact: %v", err)
		}
	}
	s, err := core.Open(task.dir, o)
	if err != nil {
		childFatal("open: %v", err)
	}
	say("open")
	for i := range crashAppenders {
		go func() {
			a := newCrashAppender(s, task.seed, i, task.from[i])
			a.depth = 4
			a.begin = func(n int) { say("do %d %d", i, n) }
			a.done = func(n int) { say("done %d %d", i, n) }
			for {
				if err := a.step(); err != nil {
					childFatal("%v", err)
				}
			}
		}()
	}
	childReads(s)
}

// childReads fetches and lists what is there as long as the process lives.
func childReads(s *core.Store) {
	ctx := context.Background()
	for {
		var refs []core.Ref
		for x, err := range s.Select(ctx, core.Query{Prefix: "a0/k0/s1", Order: core.ByPath}) {
			if err != nil {
				childFatal("list: %v", err)
			}
			refs = append(refs, x.Ref)
		}
		if len(refs) == 0 {
			runtime.Gosched()
			continue
		}
		last, err := s.Last(refs[0])
		if err == nil {
			err = s.FetchMany(ctx, core.Spans(refs, 0, last.Unix()-1200, last.Unix()), func(int, *core.Rows, error) {})
		}
		if err != nil && !errors.Is(err, core.ErrNotFound) {
			childFatal("fetch: %v", err)
		}
	}
}

// A crashRun is one folder and what must be in it.
type crashRun struct {
	t    *testing.T
	r    *rand.Rand
	task crashTask
	apps [crashAppenders]*crashModel
	hit  map[string]int
	soon bool                            // points are met for sure: within the first dozen hits
	wrap func(core.Options) core.Options // how verify opens the store; nil: as it is
	more func(s *core.Store) int         // compares what is not of the model and counts it; nil: there is no such series
}

// A crashModel is what one appender has put into the store.
type crashModel struct {
	*crashPlan
	model map[*planSeries]*modelSeries
	acked int // operations that were acknowledged
	begun int // operations that were begun
}

func newCrashRun(t *testing.T, seed uint64) *crashRun {
	c := &crashRun{t: t, r: rand.New(rand.NewPCG(seed, 7)), hit: make(map[string]int)}
	c.task.seed, c.task.dir = seed, filepath.Join(t.TempDir(), "store")
	for i := range c.apps {
		c.apps[i] = &crashModel{crashPlan: newCrashPlan(seed, i), model: make(map[*planSeries]*modelSeries)}
	}
	return c
}

// generation runs one child until it is dead, and compares what is left.
func (c *crashRun) generation(point string) {
	c.t.Helper()
	c.task.point, c.task.hits = point, 0
	if point != "" {
		most := crashPoints[point]
		if c.soon {
			most = min(most, 12)
		}
		c.task.hits = 1 + c.r.IntN(most)
	}
	for i, a := range c.apps {
		c.task.from[i] = a.n
	}
	limit := 1 + c.r.IntN(160)
	if point != "" {
		limit = 600
	}
	c.child(limit)
	c.verify()
	c.task.gen++
}

// child starts a child and kills it after so many acknowledgements.
func (c *crashRun) child(limit int) {
	c.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), crashEnv+"="+c.task.String())
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		c.t.Fatal(err)
	}
	said := c.listen(out, limit, func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait() // it was killed
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || ws.Signal() != syscall.SIGKILL || said != "" {
		c.t.Fatalf("the child ended by itself: %v: %s\n%s\ntask %v", cmd.ProcessState, said, errs.String(), &c.task)
	}
}

// listen notes what a child says until it is dead.
func (c *crashRun) listen(out io.Reader, limit int, kill func()) (said string) {
	in := bufio.NewScanner(out)
	acks := 0
	for in.Scan() {
		var app, n int
		line := in.Text()
		word, rest, _ := strings.Cut(line, " ")
		if word == "do" || word == "done" {
			if _, err := fmt.Sscanf(rest, "%d %d", &app, &n); err != nil {
				return line
			}
		}
		switch word {
		case "do":
			c.apps[app].begun = n + 1
		case "done":
			if c.apps[app].acked = n + 1; acks == limit {
				kill()
			}
			acks++
		case "point":
			c.hit[rest]++
		case "open":
		default:
			said += line
		}
	}
	return said
}

// verify opens what the child left, each time in another way, and compares it.
func (c *crashRun) verify() {
	c.t.Helper()
	o := core.Options{NoBackground: c.r.IntN(2) == 0}
	var before map[string]uint64
	if _, err := os.Stat(filepath.Join(c.task.dir, "rondo.bolt")); c.r.IntN(3) == 0 && err == nil {
		ro := c.open(core.Options{ReadOnly: true})
		before = mustDigest(c.t, ro)
		c.close(ro.Close())
	}
	s := c.open(o)
	if before != nil {
		sameDigest(c.t, "read-only", mustDigest(c.t, s), before)
	}
	c.compare(s)
	switch c.r.IntN(4) {
	case 0:
		c.close(s.Abandon())
	case 1:
		c.close(s.Close())
	default: // once more from what a checkpoint makes of it
		before = mustDigest(c.t, s)
		if err := s.Checkpoint(context.Background()); err != nil {
			c.t.Fatalf("checkpoint: %v", err)
		}
		sameDigest(c.t, "checkpoint", mustDigest(c.t, s), before)
		c.close(s.Abandon())
		s = c.open(o)
		sameDigest(c.t, "open after a checkpoint", mustDigest(c.t, s), before)
		c.compare(s)
		c.close(s.Abandon())
	}
	if c.t.Failed() {
		c.t.FailNow()
	}
}

func (c *crashRun) open(o core.Options) *core.Store {
	c.t.Helper()
	if c.wrap != nil {
		o = c.wrap(o)
	}
	s, err := core.Open(c.task.dir, o)
	if err != nil {
		c.t.Fatalf("open after generation %d, %q: %v", c.task.gen, c.task.point, err)
	}
	return s
}

func (c *crashRun) close(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatalf("close: %v", err)
	}
}

func (c *crashRun) compare(s *core.Store) {
	c.t.Helper()
	series := 0
	for _, a := range c.apps {
		a.recover(c, s)
		series += len(a.model)
	}
	if c.more != nil {
		series += c.more(s)
	}
	if got := s.Stats().Series; got != int64(series) {
		c.t.Fatalf("%d series, want %d", got, series)
	}
	if ps, err := s.Check(context.Background()); err != nil || len(ps) > 0 {
		c.t.Fatalf("check after generation %d, %q: %v %v", c.task.gen, c.task.point, ps, err)
	}
}

// recover does what was acknowledged, and of what was begun after it as much as
// the store has: in order, and each operation whole.
func (a *crashModel) recover(c *crashRun, s *core.Store) {
	c.t.Helper()
	for a.n < a.acked {
		a.do()
	}
	for {
		diff := a.diff(s)
		if diff == "" {
			break
		}
		if a.n >= a.begun {
			c.t.Fatalf("generation %d, %q: appender %d, %d operations done, %d acknowledged, %d begun: %s",
				c.task.gen, c.task.point, a.app, a.n, a.acked, a.begun, diff)
		}
		a.do()
	}
	a.acked, a.begun = a.n, a.n
}

// do does the next operation.
func (a *crashModel) do() {
	o := a.next()
	for _, x := range o.create {
		a.create(x, o.start)
	}
	switch {
	case o.drop != nil:
		delete(a.model, o.drop)
	case o.rename != nil:
		a.model[o.rename].path = o.rename.path
	case o.replace != nil:
		delete(a.model, o.replace)
		a.create(o.by, o.start)
	}
	for _, sm := range o.samples {
		values, texts := a.values(sm.x, sm.at)
		if err := a.model[sm.x].append(&reading{at: sm.at, values: values, texts: texts}); err != nil {
			panic(fmt.Sprintf("operation %d of appender %d: %v", a.n-1, a.app, err))
		}
	}
}

func (a *crashModel) create(x *planSeries, start int64) {
	a.model[x] = newModelSeries(a.kinds[x.kind].def, x.path, rra.Seconds(start))
}

// diff says where the store differs from the model, or nothing.
func (a *crashModel) diff(s *core.Store) string {
	ctx := context.Background()
	there := make(map[string]core.Ref)
	for x, err := range s.Select(ctx, core.Query{Prefix: fmt.Sprintf("a%d/", a.app), Order: core.ByPath}) {
		if err != nil {
			return err.Error()
		}
		there[x.Path] = x.Ref
	}
	if len(there) != len(a.model) {
		return fmt.Sprintf("%d series, want %d", len(there), len(a.model))
	}
	for _, x := range a.series {
		m := a.model[x]
		if m == nil {
			continue
		}
		ref, ok := there[m.path]
		if !ok {
			return m.path + " is missing"
		}
		if d := m.diff(s, ref); d != "" {
			return m.path + ": " + d
		}
	}
	return ""
}

// diff says where the series of a store differs from x: state, and every row of every archive.
func (x *modelSeries) diff(s *core.Store, ref core.Ref) string {
	info, err := s.Info(ref)
	if err != nil {
		return err.Error()
	}
	if !slices.Equal(info.State.W, x.st.W) {
		return fmt.Sprintf("last update %d, want %d, or another state", info.Machine.LastUpdate(info.State.W).Unix(), x.last().Unix())
	}
	for j := range x.m.Definition().Sources {
		if got, want := x.m.LastReading(&info.State, j), x.m.LastReading(&x.st, j); got != want {
			return fmt.Sprintf("last reading of source %d: %q, want %q", j, got, want)
		}
	}
	last := x.last().Unix()
	for i, ra := range x.m.Definition().Archives {
		span := ra.PDPs * x.m.Definition().Step
		rows, err := s.Fetch(context.Background(), ref, i, last-(ra.Rows+2)*span, last+span)
		if err != nil {
			return err.Error()
		}
		if d := x.diffRows(i, last-(ra.Rows+2)*span, last+span, &rows); d != "" {
			return fmt.Sprintf("archive %d (%v): %s", i, ra, d)
		}
	}
	return ""
}

// generations of one folder: its rings wrap, its slots are merged and expire.
const generations = 25

// TestCrash kills children at random acknowledgements and at every named point.
func TestCrash(t *testing.T) {
	total := seedtest.Crashes(4)
	seed := seedtest.One(t)
	points := make([]string, 0, len(crashPoints))
	for name := range crashPoints {
		points = append(points, name)
	}
	slices.Sort(points)
	rand.New(rand.NewPCG(seed, 3)).Shuffle(len(points), func(i, j int) { points[i], points[j] = points[j], points[i] })
	hit := make(map[string]int)
	var mu sync.Mutex
	folders := (total + generations - 1) / generations
	t.Run("folders", func(t *testing.T) {
		for f := range folders {
			t.Run(strconv.Itoa(f), func(t *testing.T) {
				t.Parallel()
				c := newCrashRun(t, seed+uint64(f))
				c.soon = f%2 == 1
				for i := f * generations; i < min(total, (f+1)*generations); i++ {
					point := ""
					if i%2 == 1 {
						point = points[i/2%len(points)]
					}
					c.generation(point)
				}
				t.Logf("%d kills", c.task.gen)
				mu.Lock()
				defer mu.Unlock()
				for k, n := range c.hit {
					hit[k] += n
				}
			})
		}
	})
	t.Logf("%d kills, at named points: %v", total, hit)
	for _, name := range points {
		if total >= 6*len(points) && hit[name] == 0 && !t.Failed() {
			t.Errorf("no child died at %s", name)
		}
	}
}
