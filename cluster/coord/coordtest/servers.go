package coordtest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
)

// Servers keep values in memory. They start no goroutine and wait for nothing: a request that is
// late arrives when the clock is past its time and the servers are asked anything. So a test that
// calls them from one goroutine repeats for the same seed.
type Servers struct {
	now  func() time.Time
	rand *rand.Rand // nil: nothing fails

	mu       sync.Mutex
	versions map[string][]version // of each key, oldest first
	revision uint64
	late     []delayed
	cut      map[string]bool
	down     time.Time // until when nobody gets an answer
}

// A version is a value that a key had.
type version struct {
	value    []byte // nil: the key was removed
	revision uint64
	at       time.Time
}

// A delayed write arrives when the clock is past its time.
type delayed struct {
	at       time.Time
	key      string
	value    []byte
	revision uint64
}

// ErrNoAnswer is what a caller gets whose request or answer is lost.
var ErrNoAnswer = errors.New("the servers do not answer")

// New returns servers with a clock. They fail at random, unless seed is 0: requests and answers are
// lost, requests arrive up to 20 s late, reads are up to 2 s out of date, and nobody gets an answer
// for 4 to 9 s. What a client reads is no older than what it has read or written before:
// node.Node.Leads relies on that.
func New(now func() time.Time, seed uint64) *Servers {
	s := &Servers{now: now, versions: make(map[string][]version), cut: make(map[string]bool)}
	if seed != 0 {
		s.rand = rand.New(rand.NewPCG(seed, 27))
	}
	return s
}

// Cut cuts a client off, or ends that.
func (s *Servers) Cut(client string, off bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut[client] = off
}

// Heal ends all faults for good. Requests that are late still arrive.
func (s *Servers) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rand, s.down = nil, time.Time{}
	clear(s.cut)
}

// Client returns the connection of a client.
func (s *Servers) Client(name string) coord.Store { return &client{Servers: s, name: name} }

type client struct {
	*Servers
	name string
	saw  time.Time // it has seen all that was written before
}

// A fate is what becomes of a call.
type fate struct {
	lost  bool          // the request
	mute  bool          // the answer is lost
	late  time.Duration // until the request arrives
	stale time.Duration // how old the answer of a read is
}

// fate draws what becomes of the next call, and lets late requests arrive first. s.mu is held.
func (c *client) fate() fate {
	now := c.now()
	c.late = slices.DeleteFunc(c.late, func(d delayed) bool {
		if now.Before(d.at) {
			return false
		}
		_, _ = c.write(d.key, d.value, d.revision) // nobody waits for the answer
		return true
	})
	var f fate
	if c.name == "" { // see Truth
		return f
	}
	if c.rand == nil {
		f.lost = c.cut[c.name]
		return f
	}
	n, wait := c.rand.IntN(1000), time.Duration(c.rand.IntN(20_000))*time.Millisecond
	switch {
	case n < 20:
		f.lost = true
	case n < 40:
		f.mute = true
	case n < 60:
		f.late = wait
	case n < 100:
		f.stale = wait / 10
	case n < 102:
		c.down = now.Add(4*time.Second + wait/4)
	}
	f.lost = f.lost || c.cut[c.name] || now.Before(c.down)
	return f
}

// write compares and sets; a nil value removes. s.mu is held.
func (s *Servers) write(key string, value []byte, revision uint64) (uint64, error) {
	all := s.versions[key]
	if n := len(all); n > 0 && all[n-1].revision != revision && (revision != 0 || all[n-1].value != nil) || n == 0 && revision != 0 {
		return 0, coord.ErrConflict
	}
	s.revision++
	s.versions[key] = append(all[max(0, len(all)-8):], version{value: bytes.Clone(value), revision: s.revision, at: s.now()})
	return s.revision, nil
}

// call lets a write meet its fate.
func (c *client) call(key string, value []byte, revision uint64) (uint64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.fate()
	switch {
	case f.lost:
		return 0, fmt.Errorf("%s: %w", c.name, ErrNoAnswer)
	case f.late > 0:
		c.late = append(c.late, delayed{c.now().Add(f.late), key, bytes.Clone(value), revision})
		return 0, fmt.Errorf("%s: %w", c.name, ErrNoAnswer)
	}
	rev, err := c.write(key, value, revision)
	if f.mute {
		return 0, fmt.Errorf("%s: %w", c.name, ErrNoAnswer)
	}
	if err == nil {
		c.saw = c.now()
	}
	return rev, err
}

func (c *client) CompareAndSet(_ context.Context, key string, value []byte, revision uint64) (uint64, error) {
	if value == nil {
		value = []byte{}
	}
	return c.call(key, value, revision)
}

func (c *client) Delete(_ context.Context, key string, revision uint64) error {
	_, err := c.call(key, nil, revision)
	return err
}

func (c *client) List(_ context.Context, prefix string) ([]coord.Entry, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.fate()
	if f.lost || f.mute || f.late > 0 {
		return nil, fmt.Errorf("%s: %w", c.name, ErrNoAnswer)
	}
	if at := c.now().Add(-f.stale); at.After(c.saw) {
		c.saw = at
	}
	var out []coord.Entry
	for key, all := range c.versions {
		if !strings.HasPrefix(key, prefix) {
			continue
		}
		for i := len(all) - 1; i >= 0; i-- {
			if v := all[i]; !v.at.After(c.saw) {
				if v.value != nil {
					out = append(out, coord.Entry{Key: key, Value: bytes.Clone(v.value), Revision: v.revision})
				}
				break
			}
		}
	}
	slices.SortFunc(out, func(a, b coord.Entry) int { return cmp.Compare(a.Key, b.Key) })
	return out, nil
}

func (c *client) Get(ctx context.Context, key string) (coord.Entry, error) {
	all, err := c.List(ctx, key)
	for _, e := range all {
		if e.Key == key {
			return e, nil
		}
	}
	return coord.Entry{Key: key}, err
}

func (c *client) Close() error { return nil }

// Truth returns a connection without faults.
func (s *Servers) Truth() coord.Store { return &client{Servers: s} }
