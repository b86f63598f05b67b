package enginebench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// fullLog is the length of log at which the engine starts a checkpoint if Options do not say.
const fullLog = 64 << 20

// An order says what a child process does, and with which load.
type order struct {
	Fill   bool   // append until the log is full, say so, wait to be killed; else open and compare
	Config Config // without Exec and the profiles
	Done   []int  // for a child that compares: readings that were acknowledged, by appender
}

// A filled is the report of a child that waits to be killed.
type filled struct {
	Done     []int
	LogBytes int64
}

// recovery starts a child that fills the log of the store in c.Dir, and kills it. A second child
// then opens the store, times that, and compares the store with what was acknowledged.
func recovery(ctx context.Context, c Config, r *Result) error {
	var f filled
	if err := child(ctx, c, order{Fill: true, Config: c}, &f); err != nil {
		return fmt.Errorf("bench: fill the log: %w", err)
	}
	var o opened
	if err := child(ctx, c, order{Config: c, Done: f.Done}, &o); err != nil {
		return fmt.Errorf("bench: recover: %w", err)
	}
	r.RecoverySeconds, r.Opened, r.RecoveredLogBytes = o.OpenSeconds, o, f.LogBytes
	return nil
}

// child runs an order in a process of its own and decodes the line it writes; one that fills is
// then killed.
func child(ctx context.Context, c Config, o order, answer any) error {
	arg, err := json.Marshal(o)
	if err != nil {
		return err
	}
	cmd := c.Exec(ctx, string(arg))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	err = json.NewDecoder(out).Decode(answer)
	if o.Fill && err == nil {
		err = cmd.Process.Kill()
		_ = cmd.Wait() // says that it was killed, which is what was wanted
		return err
	}
	return errors.Join(err, childError(cmd.Wait(), &stderr))
}

// childError adds what the child wrote to its standard error.
func childError(err error, stderr *bytes.Buffer) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %s", err, bytes.TrimSpace(stderr.Bytes()))
}

// Child does what arg, made by Ingest, orders, and writes its answer to out. A child that fills the
// log waits for its end after that: it returns when ctx does.
func Child(ctx context.Context, arg string, out io.Writer) error {
	var o order
	if err := json.Unmarshal([]byte(arg), &o); err != nil {
		return fmt.Errorf("bench: order of a child: %w", err)
	}
	if o.Fill {
		return fill(ctx, o, out)
	}
	return look(ctx, o, out)
}

// fill goes on with the load, without checkpoints, until the log is as long as it gets.
func fill(ctx context.Context, o order, out io.Writer) error {
	opt := o.Config.Options
	opt.NoBackground = true
	limit := opt.CheckpointBytes
	if limit == 0 {
		limit = fullLog
	}
	store, err := core.Open(o.Config.Dir, opt)
	if err != nil {
		return err
	}
	l := newLoad(store, o.Config)
	if err := l.find(ctx); err != nil {
		return err
	}
	l.first = o.Config.Readings
	l.skip(l.first)
	full := func() bool { return store.Stats().LogBytes >= limit }
	if _, err := l.run(ctx, 10*8640, full); err != nil {
		return err
	}
	if err := json.NewEncoder(out).Encode(filled{Done: l.done, LogBytes: store.Stats().LogBytes}); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

// look opens a store that was killed, and times it.
func look(ctx context.Context, o order, out io.Writer) error {
	gen := newHostGenerator(o.Config.Seed, o.Config.Layout, 0)
	end := gen.At(0, o.Done[0]-1).Unix() / step * step
	_ = resetPeak() // the process is young: its whole peak serves as well
	watch := watchAnon()
	stopProfile, err := profileTo(o.Config.RecoveryProfile)
	if err != nil {
		return err
	}
	begin := time.Now()
	store, err := core.Open(o.Config.Dir, o.Config.Options)
	if err != nil {
		return err
	}
	ref, err := store.Lookup(gen.Spec(0, 0).Path)
	if err != nil {
		return err
	}
	if _, err := store.Fetch(ctx, ref, 0, end-hourRows*step, end); err != nil {
		return err
	}
	took := time.Since(begin)
	if err := stopProfile(); err != nil {
		return err
	}
	answer := opened{OpenSeconds: took.Seconds(), PeakRSSBytes: peakRSS(), PeakAnonBytes: watch()}
	st := store.Stats()
	answer.EngineSeconds, answer.Replayed = st.RecoverySeconds, st.ReplayedRecords

	l := newLoad(store, o.Config)
	readings := func(h int) int { return o.Done[l.appenderOf(h)] }
	if err := l.find(ctx); err != nil {
		return err
	}
	for h := range l.gen.Hosts() {
		for i := 0; i < l.gen.HostSeries(); i += blockSeries - 1 {
			at, err := store.Last(l.refs[h*l.gen.HostSeries()+i])
			if err != nil {
				return err
			}
			if want := l.gen.At(h, readings(h)-1); at != want {
				return fmt.Errorf("bench: after recovery the last update of series %d of host %d is %d; %d was acknowledged", i, h, at, want)
			}
		}
	}
	if answer.Verified, err = l.verify(ctx, o.Config.Verify, readings); err != nil {
		return err
	}
	if err := store.Close(); err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(answer)
}

// profileTo writes a CPU profile to the file path, if it is not empty, until the function it
// returns is called.
func profileTo(path string) (func() error, error) {
	if path == "" {
		return func() error { return nil }, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return f.Close()
	}, nil
}

// find looks up all series of the load.
func (l *load) find(ctx context.Context) error {
	l.refs = l.refs[:cap(l.refs)]
	found := 0
	for s, err := range l.store.Select(ctx, core.Query{Prefix: "bench/host", Order: core.ByPath}) {
		if err != nil {
			return err
		}
		// bench/host000000/shape-00
		host, series, ok := strings.Cut(strings.TrimPrefix(s.Path, "bench/host"), "/")
		h, err1 := strconv.Atoi(host)
		i, err2 := strconv.Atoi(series[strings.LastIndexByte(series, '-')+1:])
		if n := h*l.gen.HostSeries() + i; ok && err1 == nil && err2 == nil && n < len(l.refs) {
			l.refs[n] = s.Ref
			found++
		}
	}
	if found != len(l.refs) {
		return fmt.Errorf("bench: %d of %d series are listed", found, len(l.refs))
	}
	return nil
}

// skip makes the first n readings of all hosts and drops them.
func (l *load) skip(n int) {
	var wg sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		wg.Go(func() {
			var values [HostReadings]rra.Value
			for h := w; h < l.gen.Hosts(); h += workers {
				for range n {
					l.gen.Next(h, values[:])
				}
			}
		})
	}
	wg.Wait()
}
