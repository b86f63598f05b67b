package rrdd

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/rra"
)

const captures = "../../testdata/captures/rrdd"

// A stepped receiver turns when a test says so, and does not wait for a second look.
type stepped struct {
	*server
	tick chan time.Time
	done chan struct{} // has one for each turn
	file *os.File      // the file of deliver
}

// protocol is Protocol with receivers that are stepped; between is called before each second look.
func protocol(between func()) receivers.Protocol {
	p := Protocol
	p.New = func(c receivers.Config, sink receivers.Sink) (receivers.Receiver, error) {
		s, err := newServer(c, sink)
		if err != nil {
			return nil, err
		}
		r := &stepped{server: s, tick: make(chan time.Time), done: make(chan struct{}, 1)}
		s.ticks = func(time.Duration) (<-chan time.Time, func()) { return r.tick, func() {} }
		s.wait = func(context.Context, time.Duration) error {
			if between != nil {
				between()
			}
			return nil
		}
		s.turned = func() { r.done <- struct{}{} }
		return r, nil
	}
	return p
}

// turn has r make one turn, and returns when that is over.
func turn(t testing.TB, r receivers.Receiver) {
	t.Helper()
	s := r.(*stepped)
	wait := func(what string, c <-chan struct{}) {
		select {
		case <-c:
		case <-time.After(time.Minute):
			t.Fatal(what)
		}
	}
	wait("the turn before does not end", s.done)
	select {
	case s.tick <- time.Time{}:
	case <-time.After(time.Minute):
		t.Fatal("no turn begins")
	}
	wait("a turn does not end", s.done)
	s.done <- struct{}{}
}

// rest returns between turns.
func rest(r receivers.Receiver) {
	s := r.(*stepped)
	<-s.done
	s.done <- struct{}{}
}

// write writes the file of a plugin.
func write(t testing.TB, r receivers.Receiver, name string, content []byte) {
	t.Helper()
	rest(r)
	if err := os.WriteFile(filepath.Join(r.Addr().String(), name), content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// deliver makes message the whole of a file, and has r look at it.
func deliver(t testing.TB, r receivers.Receiver, message []byte) {
	t.Helper()
	s := r.(*stepped)
	rest(r)
	if s.file == nil {
		f, err := os.Create(filepath.Join(r.Addr().String(), "suite"))
		if err != nil {
			t.Fatal(err)
		}
		s.file = f
		t.Cleanup(func() { _ = f.Close() }) // read
	}
	_, err := s.file.WriteAt(message, 0)
	if err == nil {
		err = s.file.Truncate(int64(len(message)))
	}
	if err != nil {
		t.Fatal(err)
	}
	turn(t, r)
}

// encode returns the bytes of f.
func encode(t testing.TB, f *File) []byte {
	t.Helper()
	b, err := f.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func capture(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(captures, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func gauge(version, n int) *File {
	return &File{
		Version: version, Timestamp: float64(receivertest.Epoch + n),
		Sources: []Source{{Name: "suite", Type: Gauge, Min: -inf, Max: inf}}, Values: []rra.Value{rra.Float(float64(n))},
	}
}

// TestReceiver is the suite. Messages and garbage are contents of one file.
func TestReceiver(t *testing.T) {
	names, err := filepath.Glob(captures + "/*.bin")
	if err != nil || len(names) == 0 {
		t.Fatalf("no captures (%v)", err)
	}
	var garbage [][]byte
	for _, name := range names {
		garbage = append(garbage, capture(t, filepath.Base(name)))
	}
	for _, version := range []int{1, 2} {
		t.Run([]string{1: "v1", 2: "v2"}[version], func(t *testing.T) {
			receivertest.Run(t, receivertest.Case{
				Protocol: protocol(nil),
				Message:  func(n int) []byte { return encode(t, gauge(version, n)) },
				Garbage:  garbage,
				Deliver:  deliver,
			})
		})
	}
}
