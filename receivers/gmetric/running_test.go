package gmetric

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/rra"
)

// A running receiver, its clock, and what it asks of its sink.
type running struct {
	*receivertest.Running
	t     testing.TB
	clock atomic.Int64 // seconds
	calls *calls
}

// calls counts what reaches a sink.
type calls struct {
	receivers.Sink
	described, read, resolved, relabelled atomic.Int64 // paths

	mu   sync.Mutex
	fail error // of Resolve and Metadata, if not nil
}

func (c *calls) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fail
}

func (c *calls) setFailure(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail = err
}

func (c *calls) Describe(ctx context.Context, ds []receivers.Description) ([]error, error) {
	c.described.Add(int64(len(ds)))
	return c.Sink.Describe(ctx, ds)
}

func (c *calls) Metadata(ctx context.Context, path string) (core.Metadata, error) {
	c.read.Add(1)
	if err := c.failure(); err != nil {
		return core.Metadata{}, err
	}
	return c.Sink.Metadata(ctx, path)
}

func (c *calls) Resolve(ctx context.Context, reqs []receivers.Request) error {
	if err := c.failure(); err != nil {
		return err
	}
	for i := range reqs {
		if reqs[i].Relabel {
			c.relabelled.Add(1)
		} else {
			c.resolved.Add(1)
		}
	}
	return c.Sink.Resolve(ctx, reqs)
}

const began = receivertest.Now

// run serves into rec.
func run(t testing.TB, rec *receivertest.Recorder, options map[string][]string) *running {
	t.Helper()
	return runOf(t, rec, options, began, nil)
}

// runOf serves into rec, begins at the second at, and has change look at the server before it
// serves.
func runOf(t testing.TB, rec *receivertest.Recorder, options map[string][]string, at int64, change func(*server)) *running {
	t.Helper()
	r := &running{t: t, calls: &calls{Sink: rec}}
	r.clock.Store(at)
	p := Protocol
	p.New = func(cfg receivers.Config, _ receivers.Sink) (receivers.Receiver, error) {
		x, err := newServer(cfg, r.calls)
		if err != nil {
			return nil, err
		}
		s := x.(*server)
		s.every = 20 * time.Millisecond
		if change != nil {
			change(s)
		}
		return s, nil
	}
	c := receivertest.Case{Protocol: p, Options: options}
	r.Running = receivertest.Start(t, c, rec, func(c *receivers.Config) {
		c.Now = func() time.Time { return time.Unix(r.clock.Load(), 0) }
	})
	return r
}

// send sends messages, and waits until they are read.
func (r *running) send(ms ...Message) {
	r.t.Helper()
	for _, m := range ms {
		r.raw(example(r.t, m))
	}
}

func (r *running) raw(packets ...[]byte) {
	r.t.Helper()
	for _, b := range packets {
		before := r.Stats().Packets
		r.Send(b)
		until(r.t, "a packet is read", func() bool { return r.Stats().Packets > before })
	}
}

func until(t testing.TB, what string, cond func() bool) {
	t.Helper()
	end := time.After(time.Minute)
	tick := time.NewTicker(50 * time.Microsecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("%s: not within a minute", what)
		}
	}
}

// described waits until what was handed over of a path meets cond.
func (r *running) described(what, path string, cond func(core.Metadata) bool) core.Metadata {
	r.t.Helper()
	var md core.Metadata
	r.Until(path+": "+what, func(s receivertest.State) bool {
		md = s.Texts[path]
		return cond(md)
	})
	return md
}

func meta(host, name, typ string, slope Slope) Message {
	return Message{
		Word: WordMetadata, Host: []byte(host), Name: []byte(name), Name2: []byte(name), Type: []byte(typ),
		Slope: slope, TMax: 60,
	}
}

func value(host, name, text string) Message {
	return Message{Word: WordString, Host: []byte(host), Name: []byte(name), Format: []byte("%s"), Text: []byte(text)}
}

// samplesOf returns values of a path, in order.
func (r *running) samplesOf(path string) []rra.Value {
	var vs []rra.Value
	for _, s := range r.Recorder.Samples() {
		if s.Path == path {
			vs = append(vs, s.Values...)
		}
	}
	return vs
}

func attribute(md core.Metadata, name string) string {
	for _, a := range md.Attributes {
		if a.Name == name {
			return a.Value
		}
	}
	return ""
}

// An offline server reads what feed gives it.
type offlineServer struct{ *server }

func offline(sink receivers.Sink, cfg receivers.Config) offlineServer {
	cfg = cfg.WithDefaults()
	set, err := configure(cfg)
	if err != nil {
		panic(err)
	}
	s := makeServer(cfg, set, sink)
	s.queue = receivers.NewQueue(sink, &s.Counters, cfg)
	return offlineServer{s}
}

func (s offlineServer) feed(t testing.TB, ms ...Message) {
	t.Helper()
	s.begin()
	for _, m := range ms {
		s.datagram(example(t, m), loopback)
	}
	s.resolve(t.Context())
	s.tick(t.Context())
}

func (s offlineServer) close() {
	s.finish()
}
