package jetstream_test

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/rondo-db/rondo/internal/natstest"
	"github.com/rondo-db/rondo/wal"
	log "github.com/rondo-db/rondo/wal/jetstream"
	"github.com/rondo-db/rondo/wal/stream"
	"github.com/rondo-db/rondo/wal/waltest"
)

// TestMain lets all tests that wait for servers wait at the same time, however few cores there are.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// A gate refuses messages as the suite says, and else hands them on.
type gate struct {
	stream.Server
	*refusal
}

type refusal struct {
	mu      sync.Mutex
	err     error
	damaged map[wal.Pos]bool
}

// Read flips a bit of the messages with damaged records.
func (g gate) Read(ctx context.Context, replica int, from uint64, n int, fn func(seq uint64, msg []byte) error) error {
	return g.Server.Read(ctx, replica, from, n, func(seq uint64, msg []byte) error {
		first, count := wal.Pos(binary.LittleEndian.Uint64(msg[24:])), wal.Pos(binary.LittleEndian.Uint32(msg[20:]))
		g.mu.Lock()
		for p := range g.damaged {
			if p >= first && p < first+count {
				msg[len(msg)-1] ^= 1
			}
		}
		g.mu.Unlock()
		return fn(seq, msg)
	})
}

// damage says which records have a flipped bit.
func (r *refusal) damage(damaged map[wal.Pos]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.damaged = damaged
}

func (r *refusal) set(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
}

func (g gate) Publish(ctx context.Context, after uint64, id string, msg []byte) (uint64, error) {
	g.mu.Lock()
	err := g.err
	g.mu.Unlock()
	if err != nil {
		return 0, fmt.Errorf("%w: %w", waltest.Refusal(err), err)
	}
	return g.Server.Publish(ctx, after, id, msg)
}

// TestOneServer runs what needs no more than one server on the same one, each with streams of its
// own.
func TestOneServer(t *testing.T) {
	t.Parallel() // most of it is waiting
	n := natstest.One(t)
	for name, test := range map[string]func(t *testing.T, n *natstest.Process){
		"Suite": suite, "Sealed": sealed, "Full": full, "Settings": settings, "Announcements": announcements,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, n)
		})
	}
}

func suite(t *testing.T, n *natstest.Process) {
	names := make(map[string]string) // of streams, by the suite's place
	r := new(refusal)
	c, err := log.Connect(log.Options{URL: n.URL, Monitor: []string{n.Monitor}, MaxBytes: 64 << 20, AcceptFewerReplicas: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	at := func(place string) (gate, error) {
		place = filepath.Clean(place)
		if names[place] == "" {
			names[place] = fmt.Sprintf("suite%d", len(names))
		}
		s, err := c.Stream(t.Context(), names[place])
		return gate{s, r}, err
	}
	subject := waltest.Subject{
		Open: func(place string, onDurable func(first, last wal.Pos, err error)) (waltest.Log, error) {
			s, err := at(place)
			if err != nil {
				return nil, err
			}
			return stream.Open(t.Context(), s, stream.Options{OnDurable: onDurable, Retry: -1, Linger: time.Millisecond, Patience: 10 * time.Second})
		},
		Refuse: r.set,
		Damage: func(_ waltest.Log, _ string, p wal.Pos) { // it is the suite's last test
			r.damage(map[wal.Pos]bool{p: true})
		},
	}
	waltest.Run(t, subject)
	r.damage(nil)
	waltest.RunReader(t, subject, func(place string) (waltest.Reader, error) {
		s, err := at(place)
		if err != nil {
			return nil, err
		}
		return stream.OpenReader(t.Context(), s, stream.ReaderOptions{Patience: 10 * time.Second})
	})
}

func open(t *testing.T, o options) *stream.Log {
	t.Helper()
	l, err := openLog(t, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // a test that cares closes it itself
	return l
}

func add(t *testing.T, l *stream.Log, rec string) {
	t.Helper()
	if _, err := l.Enqueue([]byte(rec)); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Barrier(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// sealed opens a stream twice: the servers refuse what the first process writes then.
func sealed(t *testing.T, n *natstest.Process) {
	o := options{Stream: "sealed", Options: log.Options{URL: n.URL, Monitor: []string{n.Monitor}, MaxBytes: 1 << 20, AcceptFewerReplicas: true}}
	a := open(t, o)
	add(t, a, "one")
	b := open(t, o)
	if _, err := a.Enqueue([]byte("of the first")); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Barrier(t.Context()); !errors.Is(err, wal.ErrSealed) {
		t.Errorf("barrier of the first writer: got %v, want ErrSealed", err)
	}
	if _, err := a.Enqueue(nil); !errors.Is(err, wal.ErrSealed) {
		t.Errorf("enqueue of the first writer: got %v, want ErrSealed", err)
	}
	if err := a.Truncate(1); !errors.Is(err, wal.ErrSealed) {
		t.Errorf("truncate of the first writer: got %v, want ErrSealed", err)
	}
	add(t, b, "two")
	if err := wants(b, "one", "two"); err != nil {
		t.Error(err)
	}
	if a.ID() != b.ID() || a.ID() == (wal.ID{}) {
		t.Errorf("ids of the log: %v, %v", a.ID(), b.ID())
	}
}

// wants replays and compares.
func wants(l *stream.Log, want ...string) error {
	n := 0
	err := l.Replay(1, func(p wal.Pos, rec []byte) error {
		if n++; n > len(want) || string(rec) != want[n-1] || p != wal.Pos(n) {
			return fmt.Errorf("position %d: %q of %d records", p, rec, len(want))
		}
		return nil
	})
	if err == nil && n != len(want) {
		err = fmt.Errorf("%d records, want %d", n, len(want))
	}
	return err
}

// full fills a stream. Another process can open it nevertheless, and many times: it could not,
// because there was no room for its claim. Truncation makes it take records again.
func full(t *testing.T, n *natstest.Process) {
	o := options{Stream: "full", Options: log.Options{URL: n.URL, Monitor: []string{n.Monitor}, MaxBytes: 40_000, AcceptFewerReplicas: true}}
	l := open(t, o)
	rec := make([]byte, 3000)
	for i := range rec {
		rec[i] = byte(i * i >> 3)
	}
	var err error
	kept := wal.Pos(0)
	for err == nil && kept < 1000 {
		if _, err = l.Enqueue(rec); err == nil {
			_, err = l.Barrier(t.Context())
		}
		if err == nil {
			kept++
		}
	}
	if !errors.Is(err, wal.ErrFull) || l.Last() != kept || kept < 2 {
		t.Fatalf("after %d records, last is %d: got %v, want ErrFull", kept, l.Last(), err)
	}
	for range 10 {
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		l = open(t, o)
		if _, err = l.Enqueue(rec); err == nil {
			_, err = l.Barrier(t.Context())
		}
		if !errors.Is(err, wal.ErrFull) || l.Last() != kept {
			t.Fatalf("opened again, last is %d: got %v, want ErrFull behind %d", l.Last(), err, kept)
		}
	}
	if err := l.Truncate(kept - 1); err != nil {
		t.Fatal(err)
	}
	add(t, l, "again")
	if l.Last() != kept+1 || l.First() != kept {
		t.Errorf("the log has positions %d to %d, want %d to %d", l.First(), l.Last(), kept, kept+1)
	}
}

// settings opens streams and servers that would lose data: each is refused with the line to
// write.
func settings(t *testing.T, n *natstest.Process) {
	js := natstest.JetStream(t, n.URL)
	o := options{Options: log.Options{URL: n.URL, Monitor: []string{n.Monitor}, AcceptFewerReplicas: true}}
	good := jetstream.StreamConfig{
		Discard: jetstream.DiscardNew, MaxBytes: 1 << 20, AllowDirect: true, DenyDelete: true,
	}
	// The server removes the folder of all streams after the last one was deleted, also while it
	// makes the next one.
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "stays"}); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		setting string
		change  func(c *jetstream.StreamConfig, o *options)
	}{
		{"", func(*jetstream.StreamConfig, *options) {}},
		{"subjects", func(c *jetstream.StreamConfig, _ *options) { c.Subjects = []string{"settings.>"} }},
		{"num_replicas", func(_ *jetstream.StreamConfig, o *options) { o.AcceptFewerReplicas = false }},
		{"storage", func(c *jetstream.StreamConfig, _ *options) { c.Storage = jetstream.MemoryStorage }},
		{"retention", func(c *jetstream.StreamConfig, _ *options) { c.Retention = jetstream.InterestPolicy }},
		{"discard", func(c *jetstream.StreamConfig, _ *options) { c.Discard = jetstream.DiscardOld }},
		{"max_bytes", func(c *jetstream.StreamConfig, _ *options) { c.MaxBytes = -1 }},
		{"max_age", func(c *jetstream.StreamConfig, _ *options) { c.MaxAge = time.Hour }},
		{"max_msgs", func(c *jetstream.StreamConfig, _ *options) { c.MaxMsgs = 1000 }},
		{"max_msgs_per_subject", func(c *jetstream.StreamConfig, _ *options) { c.MaxMsgsPerSubject = 1000 }},
		{"max_msg_size", func(c *jetstream.StreamConfig, _ *options) { c.MaxMsgSize = 1000 }},
		{"allow_direct", func(c *jetstream.StreamConfig, _ *options) { c.AllowDirect = false }},
		{"deny_delete", func(c *jetstream.StreamConfig, _ *options) { c.DenyDelete = false }},
		{"deny_purge", func(c *jetstream.StreamConfig, _ *options) { c.DenyPurge = true }},
		{"allow_rollup_hdrs", func(c *jetstream.StreamConfig, _ *options) { c.AllowRollup = true; c.DenyPurge = false }},
		{"allow_msg_ttl", func(c *jetstream.StreamConfig, _ *options) { c.AllowMsgTTL = true }},
		{"no_ack", func(c *jetstream.StreamConfig, _ *options) { c.NoAck = true }},
		{"persist_mode", func(c *jetstream.StreamConfig, _ *options) { c.PersistMode = jetstream.AsyncPersistMode }},
		{"duplicate_window", func(c *jetstream.StreamConfig, _ *options) { c.Duplicates = time.Second }},
		{"sync_interval", func(_ *jetstream.StreamConfig, o *options) { o.Monitor = nil }},
	} {
		t.Run("setting="+c.setting, func(t *testing.T) {
			config, o := good, o
			// A server removes the files of a deleted stream a little later: each case has a name
			// of its own.
			o.Stream = fmt.Sprintf("settings%d", i)
			config.Name, config.Subjects = o.Stream, []string{"rondo.log." + o.Stream}
			c.change(&config, &o)
			if _, err := js.CreateStream(t.Context(), config); err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := js.DeleteStream(context.Background(), config.Name); err != nil {
					t.Error(err)
				}
			}()
			l, err := openLog(t, o)
			if err == nil {
				err = l.Close()
			}
			setting, ok := errors.AsType[*stream.SettingError](err)
			if c.setting == "" {
				if err != nil {
					t.Errorf("good settings: %v", err)
				}
			} else if !ok || setting.Setting != c.setting || setting.Line == "" {
				t.Errorf("got %v, want a SettingError of %s", err, c.setting)
			}
		})
	}
}

// TestUnsynced starts a server with the default settings, which lose acknowledged messages.
func TestUnsynced(t *testing.T) {
	t.Parallel() // most of it is waiting
	dir := t.TempDir()
	n := natstest.Start(t, dir, "n1", "127.0.0.1:-1", fmt.Sprintf("jetstream { store_dir: %q }", dir))
	if n == nil {
		t.Fatal(natstest.LogOf(dir))
	}
	o := options{Stream: "log", Options: log.Options{URL: n.URL, Monitor: []string{n.Monitor}, MaxBytes: 1 << 20, AcceptFewerReplicas: true}}
	_, err := openLog(t, o)
	if setting, ok := errors.AsType[*stream.SettingError](err); !ok || setting.Line != "jetstream { sync_interval: always }" {
		t.Errorf("got %v, want a SettingError with the line to write", err)
	}
	// A follower stood still when the monitoring ports had gone.
	r, err := openReader(t, o, stream.ReaderOptions{})
	if err != nil {
		t.Fatalf("read from a server that does not sync: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	o.AcceptUnsynced = true
	add(t, open(t, o), "accepted")
}

// Readers hear of news by messages that no stream keeps.
func announcements(t *testing.T, p *natstest.Process) {
	c, err := log.Connect(log.Options{URL: p.URL, MaxBytes: 16 << 20, Monitor: []string{p.Monitor}, AcceptFewerReplicas: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s, err := c.Stream(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	other, err := c.Stream(t.Context(), "b")
	if err != nil {
		t.Fatal(err)
	}
	heard := make(chan string, 10)
	stop, err := s.Listen(func() { heard <- "a" })
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	stopOther, err := other.Listen(func() { heard <- "b" })
	if err != nil {
		t.Fatal(err)
	}
	defer stopOther()
	for _, x := range []struct {
		*log.Server
		name string
	}{{s, "a"}, {other, "b"}, {s, "a"}} {
		x.Announce()
		select {
		case name := <-heard:
			if name != x.name {
				t.Errorf("heard of stream %s, want %s", name, x.name)
			}
		case <-time.After(time.Minute):
			t.Fatal("nothing is heard")
		}
	}
	if _, newest, err := s.Bounds(t.Context()); err != nil || newest != 0 {
		t.Errorf("the stream has message %d, %v", newest, err)
	}
}

// TestServersWithoutRoom: the servers reserve the largest size of a log. If they cannot, they only
// say that they have no peers or no resources.
func TestServersWithoutRoom(t *testing.T) {
	t.Parallel() // most of it is waiting
	dir := t.TempDir()
	n := natstest.Start(t, dir, "n1", "127.0.0.1:-1", fmt.Sprintf("jetstream { store_dir: %q, sync_interval: always, max_file: 1M }", dir))
	if n == nil {
		t.Fatal("nats-server ended by itself: " + natstest.LogOf(dir))
	}
	c, err := log.Connect(log.Options{URL: n.URL, Monitor: []string{n.Monitor}, MaxBytes: 64 << 20, AcceptFewerReplicas: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Stream(t.Context(), "log"); err == nil || !strings.Contains(err.Error(), "have room for a log of 67108864 bytes") {
		t.Errorf("got %v", err)
	}
}
