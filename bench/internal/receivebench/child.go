package receivebench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/metrics"
	"runtime/pprof"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/sink"
)

// An order is the configuration of a child process.
type order struct {
	Protocol string
	Options  map[string][]string
	Dir      string  // folder of the store
	Epoch    int64   // time at which the child's clock begins, in seconds; 0: use the system's clock
	Speed    float64 // how much faster than the system's the child's clock runs
	Profile  string  // file for a CPU profile between the first look and the next; empty: none
}

// A request is a line that a child reads. The child answers each with a line: look with a snapshot,
// verify with the differences. It ends when its input ends.
type request struct {
	Do     string // look, verify
	States []state
}

// An answer is a line that a child writes. The first contains its address.
type answer struct {
	Address  string
	Snapshot snapshot
	Wrong    []string // the differences that verify has found
	Err      string
}

// A snapshot is the counters of a child.
type snapshot struct {
	Receiver receivers.Stats
	Store    core.Stats
	User     time.Duration // processor time
	System   time.Duration
	Allocs   uint64 // objects allocated
	Cycles   uint64 // of the garbage collector
	PeakRSS  int64
}

// Child runs a receiver until in ends. arg is the order of Run.
func Child(ctx context.Context, arg string, in io.Reader, out io.Writer) (err error) {
	var o order
	if err := json.Unmarshal([]byte(arg), &o); err != nil {
		return fmt.Errorf("bench: order of a child: %w", err)
	}
	s, err := subjectOf(o.Protocol)
	if err != nil {
		return err
	}
	store, err := core.Open(o.Dir, core.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	c := receivers.Config{Address: "127.0.0.1:0", Options: o.Options}
	if o.Epoch != 0 {
		c.Now = fastClock(o.Epoch, o.Speed)
	}
	r, err := s.protocol.New(c, sink.New(store, sink.Options{}))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- r.Serve(ctx) }()
	defer func() {
		cancel()
		err = errors.Join(err, <-served)
	}()
	return converse(&subordinate{r, store, o.Profile, nil}, r.Addr().String(), in, out)
}

// fastClock returns a clock that begins at the second epoch and runs speed times as fast as the
// real one.
func fastClock(epoch int64, speed float64) func() time.Time {
	begun := time.Now()
	return func() time.Time {
		return time.Unix(epoch, 0).Add(time.Duration(float64(time.Since(begun)) * speed))
	}
}

// converse answers requests until in ends.
func converse(s *subordinate, address string, in io.Reader, out io.Writer) error {
	defer s.stopProfile()
	enc, dec := json.NewEncoder(out), json.NewDecoder(in)
	if err := enc.Encode(answer{Address: address}); err != nil {
		return err
	}
	for {
		var q request
		if err := dec.Decode(&q); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("bench: request to a child: %w", err)
		}
		if err := enc.Encode(s.answer(q)); err != nil {
			return err
		}
	}
}

// A subordinate is the state of a child.
type subordinate struct {
	receiver receivers.Receiver
	store    *core.Store
	profile  string   // file for the next profile
	writing  *os.File // file of the profile under way
}

func (s *subordinate) answer(q request) answer {
	var err error
	var a answer
	switch q.Do {
	case "look":
		a.Snapshot = s.look()
	case "begin":
		err = s.startProfile()
		a.Snapshot = s.look()
	case "end":
		a.Snapshot = s.look()
		s.stopProfile()
	case "verify":
		for i := range q.States {
			if wrong := s.verify(&q.States[i]); wrong != "" {
				a.Wrong = append(a.Wrong, wrong)
			}
		}
	default:
		err = fmt.Errorf("request %q", q.Do)
	}
	if err != nil {
		a.Err = err.Error()
	}
	return a
}

func (s *subordinate) look() snapshot {
	n := snapshot{Receiver: s.receiver.Stats(), Store: s.store.Stats(), PeakRSS: processPeak(0)}
	n.User, n.System = cpuTimes()
	samples := []metrics.Sample{{Name: "/gc/heap/allocs:objects"}, {Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(samples)
	n.Allocs, n.Cycles = samples[0].Value.Uint64(), samples[1].Value.Uint64()
	return n
}

func (s *subordinate) startProfile() error {
	if s.profile == "" {
		return nil
	}
	f, err := os.Create(s.profile)
	if err != nil {
		return err
	}
	s.profile, s.writing = "", f
	return pprof.StartCPUProfile(f)
}

func (s *subordinate) stopProfile() {
	if s.writing == nil {
		return
	}
	pprof.StopCPUProfile()
	_ = s.writing.Close() // a truncated profile does not load
	s.writing = nil
}

// verify returns how a series differs from want, or "".
func (s *subordinate) verify(want *state) string {
	ref, err := s.store.Lookup(want.Path)
	if err != nil {
		return err.Error()
	}
	info, err := s.store.Info(ref)
	if err != nil {
		return err.Error()
	}
	if at := info.Machine.LastUpdate(info.State.W).Unix(); want.At != 0 && at != want.At {
		return fmt.Sprintf("%s: last update at %d, sent at %d", want.Path, at, want.At)
	}
	if n := len(info.Definition.Sources); n != len(want.Readings) {
		return fmt.Sprintf("%s: %d data sources, %d values sent", want.Path, n, len(want.Readings))
	}
	for i, sent := range want.Readings {
		if got := info.Machine.LastReading(&info.State, i); got != sent {
			return fmt.Sprintf("%s: %s is %s, sent was %s", want.Path, info.Definition.Sources[i].Name, got, sent)
		}
	}
	return ""
}
