package stream_test

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/wal"
	"github.com/rondo-db/rondo/wal/stream"
	"github.com/rondo-db/rondo/wal/stream/streamtest"
)

func openLog(t *testing.T, c *streamtest.Cluster, o stream.Options) *stream.Log {
	t.Helper()
	l, err := stream.Open(context.Background(), c.Connect(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // a test that cares closes it itself
	return l
}

func openReader(t *testing.T, c *streamtest.Cluster, o stream.ReaderOptions) *stream.Reader {
	t.Helper()
	r, err := stream.OpenReader(context.Background(), c.Connect(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() }) // a test that cares closes it itself
	return r
}

// addRecords appends n records, each in a message of its own.
func addRecords(t *testing.T, l *stream.Log, n int) {
	t.Helper()
	for range n {
		if _, err := l.Enqueue(fmt.Appendf(nil, "record %d", l.Last()+1)); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Barrier(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

// errEnough ends a Tail that has all it wants.
var errEnough = errors.New("enough")

// tail reads the records of addRecords up to last, and returns the error that ended it.
func tail(t *testing.T, r *stream.Reader, from, last wal.Pos) (next wal.Pos, err error) {
	t.Helper()
	next = from
	return next, r.Tail(context.Background(), from, func(p wal.Pos, rec []byte) error {
		if p != next || string(rec) != fmt.Sprintf("record %d", p) {
			t.Errorf("got position %d, %q, want %d", p, rec, next)
		}
		if next++; next > last {
			return errEnough
		}
		return nil
	})
}

// TestReaderFaults lets readers follow writers that depose each other, on servers that lose
// requests and answers, deliver late and lag, while each replica has some messages damaged and
// lacks some. Each reader gets what the log holds: no record twice, none out of order, none that
// was reported as failed. RONDO_SEED repeats one seed.
func TestReaderFaults(t *testing.T) {
	for _, seed := range seedtest.Many(t, 40) {
		synctest.Test(t, func(t *testing.T) {
			c := &streamtest.Cluster{
				Seed: seed,
				// Another replica has each message whole.
				Damaged: func(replica int, msg []byte) bool {
					n := crc32.ChecksumIEEE(msg) + uint32(seed)
					return n%7 == 0 && n%2 == uint32(replica)
				},
				Lacks: func(replica int, seq uint64) bool {
					n := uint32((seq + seed) * 2654435761 >> 7)
					return n%7 == 0 && n%2 == uint32(replica)
				},
			}
			all := &outcome{kept: make(map[wal.Pos]string), failed: make(map[string]error)}
			var writers, readers sync.WaitGroup
			for i := range 3 {
				r := rand.New(rand.NewPCG(seed, uint64(i)))
				writers.Go(func() {
					time.Sleep(time.Duration(i*5000+r.IntN(5000)) * time.Millisecond)
					(&appender{outcome: all}).write(t, c, r, fmt.Sprintf("writer %d", i))
				})
			}
			follows := make([]*follower, 3)
			for i := range follows {
				f := &follower{reader: openReader(t, c, stream.ReaderOptions{Patience: time.Hour})}
				follows[i] = f
				r := rand.New(rand.NewPCG(seed, uint64(100+i)))
				readers.Go(func() { f.err = f.follow(r) })
			}
			writers.Wait()
			time.Sleep(5 * time.Minute) // what was lost is long asked for again
			for _, f := range follows {
				if err := f.reader.Close(); err != nil {
					t.Error(err)
				}
			}
			readers.Wait()
			for i, f := range follows {
				f.check(t, fmt.Sprintf("reader %d", i), all)
			}
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		})
	}
}

// A follower keeps what its reader has given it.
type follower struct {
	reader *stream.Reader
	got    []string
	err    error // what the last Tail returned
}

// follow reads until the reader is closed. Now and then it stops, and begins again where it was, or
// a little before.
func (f *follower) follow(r *rand.Rand) error {
	time.Sleep(time.Duration(r.IntN(20_000)) * time.Millisecond)
	for {
		from := max(1, len(f.got)+1-r.IntN(3))
		stop := len(f.got) + 1 + r.IntN(60)
		next := from
		err := f.reader.Tail(context.Background(), wal.Pos(from), func(p wal.Pos, rec []byte) error {
			switch s := string(rec); {
			case p != wal.Pos(next):
				return fmt.Errorf("position %d behind %d", p, next-1)
			case next <= len(f.got) && f.got[next-1] != s:
				return fmt.Errorf("position %d was another record before", p)
			case next > len(f.got):
				f.got = append(f.got, s)
			}
			if next++; next > stop {
				return errEnough
			}
			time.Sleep(time.Duration(r.IntN(50)) * time.Millisecond)
			return nil
		})
		if err != errEnough {
			return err
		}
	}
}

// check compares what a reader has given with what was reported to the writers.
func (f *follower) check(t *testing.T, name string, o *outcome) {
	if !errors.Is(f.err, wal.ErrClosed) {
		t.Errorf("%s: %v", name, f.err)
	}
	if len(f.got) != len(o.kept) || f.reader.Last() != wal.Pos(len(f.got)) {
		t.Errorf("%s: %d records, %d were told as durable, the newest known is %d", name, len(f.got), len(o.kept), f.reader.Last())
	}
	for i, rec := range f.got {
		if o.kept[wal.Pos(i+1)] != rec {
			t.Errorf("%s: position %d has another record than was told", name, i+1)
			return
		}
	}
}

// TestReaderTruncated truncates the log below a reader that is slow, and opens one that is too far
// behind.
func TestReaderTruncated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &streamtest.Cluster{}
		l := openLog(t, c, stream.Options{})
		addRecords(t, l, 1000)
		r := openReader(t, c, stream.ReaderOptions{})
		next := wal.Pos(0)
		err := r.Tail(context.Background(), 0, func(p wal.Pos, _ []byte) error {
			if next = p; p == 100 { // the messages that were read with this one still come
				return l.Truncate(900)
			}
			return nil
		})
		if cut, ok := errors.AsType[*wal.TruncatedError](err); !ok || cut.First != l.First() || next < 100 || next >= 900 {
			t.Errorf("truncated below a reader that stands at %d: got %v, want a TruncatedError with %d", next, err, l.First())
		}
	})
}

// TestReaderHealed damages all messages of one replica, or lets it lose some, be behind, or not
// answer. The reader gets all records from another one, and names the damaged one.
func TestReaderHealed(t *testing.T) {
	for _, c := range []struct {
		name    string
		cluster *streamtest.Cluster
		named   bool
	}{
		{"damaged", &streamtest.Cluster{Damaged: func(replica int, _ []byte) bool { return replica == 0 }}, true},
		{"lacks", &streamtest.Cluster{Lacks: func(replica int, seq uint64) bool { return replica == 0 && seq%10 == 5 }}, true},
		{"behind", &streamtest.Cluster{Behind: func(replica int, seq uint64) bool { return replica == 0 && seq > 20 }}, false},
		{"down", &streamtest.Cluster{Down: func(replica int) bool { return replica == 0 }}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				addRecords(t, openLog(t, c.cluster, stream.Options{}), 50)
				var said strings.Builder
				r := openReader(t, c.cluster, stream.ReaderOptions{Logger: slog.New(slog.NewTextHandler(&said, nil))})
				if next, err := tail(t, r, 1, 50); err != errEnough {
					t.Errorf("got records up to %d, %v", next-1, err)
				}
				if named := strings.Contains(said.String(), `replica="server a"`); named != c.named {
					t.Errorf("logged:\n%s", said.String())
				}
			})
		})
	}
}

// TestReaderOldest lets one replica lose the oldest message while the others do not answer for some
// seconds. The reader waits for them: the log is not truncated.
func TestReaderOldest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var began time.Time
		c := &streamtest.Cluster{
			Lacks: func(replica int, seq uint64) bool { return replica == 0 && seq < 3 },
			Down: func(replica int) bool {
				return replica > 0 && !began.IsZero() && time.Since(began) < 9*time.Second
			},
		}
		addRecords(t, openLog(t, c, stream.Options{}), 50)
		began = time.Now()
		r := openReader(t, c, stream.ReaderOptions{})
		if next, err := tail(t, r, 1, 50); err != errEnough {
			t.Errorf("got records up to %d, %v", next-1, err)
		}
	})
}

// TestReaderStandIn lets the replica that has a message damaged answer for the others, too, which
// are not current for some seconds. The reader waits for them.
func TestReaderStandIn(t *testing.T) {
	for _, what := range []string{"damaged", "lacks"} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var began time.Time
				standsIn := func(replica int) bool { return replica == 0 || time.Since(began) < 9*time.Second }
				c := &streamtest.Cluster{}
				switch what {
				case "damaged":
					c.Damaged = func(replica int, msg []byte) bool { return standsIn(replica) && msg[24] == 30 && msg[9] == 1 }
				case "lacks":
					c.Lacks = func(replica int, seq uint64) bool { return standsIn(replica) && seq == 31 }
				}
				addRecords(t, openLog(t, c, stream.Options{}), 50)
				began = time.Now()
				if next, err := tail(t, openReader(t, c, stream.ReaderOptions{}), 1, 50); err != errEnough {
					t.Errorf("a reader that follows got records up to %d, %v", next-1, err)
				}
				began = time.Now()
				l := openLog(t, c, stream.Options{})
				n := 0
				if err := l.Replay(1, func(wal.Pos, []byte) error { n++; return nil }); err != nil || n != 50 {
					t.Errorf("a replay got %d records, %v", n, err)
				}
			})
		})
	}
}

// TestReaderLost damages a message in all replicas, or lets all lose it: the reader gets the
// records before it and says what is wrong.
func TestReaderLost(t *testing.T) {
	third := func(seq uint64) bool { return seq == 31 } // behind the claim: record 30
	for _, c := range []struct {
		name    string
		cluster *streamtest.Cluster
		want    func(err error) bool
	}{
		{"damaged", &streamtest.Cluster{Damaged: func(_ int, msg []byte) bool { return msg[24] == 30 && msg[9] == 1 }}, func(err error) bool {
			_, ok := errors.AsType[*wal.CorruptError](err)
			return ok
		}},
		{"lacks", &streamtest.Cluster{Lacks: func(_ int, seq uint64) bool { return third(seq) }}, func(err error) bool {
			return errors.Is(err, wal.ErrHole)
		}},
		// One does not answer, and might have it: the reader waits for it, but not for ever.
		{"down", &streamtest.Cluster{
			Lacks: func(_ int, seq uint64) bool { return third(seq) },
			Down:  func(replica int) bool { return replica == 2 },
		}, func(err error) bool { return errors.Is(err, wal.ErrHole) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				addRecords(t, openLog(t, c.cluster, stream.Options{}), 50)
				next, err := tail(t, openReader(t, c.cluster, stream.ReaderOptions{}), 1, 50)
				if !c.want(err) || next != 30 {
					t.Errorf("got records up to %d, %v, want 29", next-1, err)
				}
			})
		})
	}
}

// TestReaderAhead follows from behind the end: the caller holds a record that the log does not.
func TestReaderAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &streamtest.Cluster{}
		l := openLog(t, c, stream.Options{})
		addRecords(t, l, 10)
		r := openReader(t, c, stream.ReaderOptions{})
		if next, err := tail(t, r, 12, 12); !errors.Is(err, wal.ErrHole) || next != 12 {
			t.Errorf("follow from 12 in a log of 10 records: got %v", err)
		}
		time.AfterFunc(time.Hour, func() { addRecords(t, l, 1) })
		if next, err := tail(t, r, 11, 11); err != errEnough {
			t.Errorf("follow from 11 in a log of 10 records: got up to %d, %v", next-1, err)
		}
	})
}

// TestReaderOfOtherLog opens the stream of another log than the expected one.
func TestReaderOfOtherLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &streamtest.Cluster{}
		early := openReader(t, c, stream.ReaderOptions{ID: wal.ID{1}})
		l := openLog(t, c, stream.Options{})
		addRecords(t, l, 1)
		if _, err := tail(t, early, 1, 1); !errors.Is(err, stream.ErrOtherLog) {
			t.Errorf("tail: got %v, want ErrOtherLog", err)
		}
		if _, err := stream.OpenReader(context.Background(), c.Connect(), stream.ReaderOptions{ID: wal.ID{1}}); !errors.Is(err, stream.ErrOtherLog) {
			t.Errorf("open: got %v, want ErrOtherLog", err)
		}
		if r := openReader(t, c, stream.ReaderOptions{ID: l.ID()}); r.ID() != l.ID() {
			t.Errorf("the reader of log %v has %v", l.ID(), r.ID())
		}
	})
}

// TestReaderIdle counts the questions of a reader that has nothing to read, and wants the next
// record soon.
func TestReaderIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &streamtest.Cluster{}
		l := openLog(t, c, stream.Options{Linger: -1})
		addRecords(t, l, 3)
		r := openReader(t, c, stream.ReaderOptions{})
		seen := make(chan time.Time, 10)
		go func() {
			_ = r.Tail(context.Background(), 3, func(wal.Pos, []byte) error { seen <- time.Now(); return nil })
		}()
		<-seen
		time.Sleep(10 * time.Second)
		before := c.Asks()
		time.Sleep(time.Minute)
		if n := c.Asks() - before; n > 5*60 {
			t.Errorf("a reader asked %d times in an idle minute", n)
		}
		began := time.Now()
		addRecords(t, l, 1)
		if late := (<-seen).Sub(began); late > 250*time.Millisecond {
			t.Errorf("a record came %v late", late)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
}

// heraldServer is a server by which readers hear of news.
type heraldServer struct {
	stream.Server
	news *news
}

// news are who listens.
type news struct {
	mu   sync.Mutex // guards what follows
	to   map[*func()]bool
	told int
}

func (h heraldServer) Announce() {
	h.news.mu.Lock()
	defer h.news.mu.Unlock()
	h.news.told++
	for f := range h.news.to {
		(*f)()
	}
}

func (h heraldServer) Listen(heard func()) (stop func(), err error) {
	h.news.mu.Lock()
	defer h.news.mu.Unlock()
	h.news.to[&heard] = true
	return func() {
		h.news.mu.Lock()
		defer h.news.mu.Unlock()
		delete(h.news.to, &heard)
	}, nil
}

// A reader of a quiet stream saw a record up to a quarter of a second late.
func TestReaderHearsOfNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &streamtest.Cluster{}
		n := &news{to: make(map[*func()]bool)}
		l, err := stream.Open(t.Context(), heraldServer{c.Connect(), n}, stream.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }() // the test is over
		r, err := stream.OpenReader(t.Context(), heraldServer{c.Connect(), n}, stream.ReaderOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got := make(chan time.Time, 1)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = r.Tail(context.Background(), 1, func(wal.Pos, []byte) error { // closed at the end
				got <- time.Now()
				return nil
			})
		}()
		addRecords(t, l, 1)
		<-got
		for range 10 {
			time.Sleep(10*time.Second + 17*time.Millisecond) // the reader asks seldom by now
			addRecords(t, l, 1)
			stored := time.Now()
			if late := (<-got).Sub(stored); late > 40*time.Millisecond {
				t.Errorf("the reader has the record after %v", late)
			}
		}
		if n.told != 11 {
			t.Errorf("told %d times of 11 records", n.told)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		<-ended
		if len(n.to) > 0 {
			t.Error("a reader that is closed listens")
		}
	})
}

// A process that opened another log's stream for writing deposed its writer before it knew.
func TestOpenOfOtherLogClaimsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &streamtest.Cluster{}
		if _, err := stream.Open(t.Context(), c.Connect(), stream.Options{ID: wal.ID{1}}); !errors.Is(err, stream.ErrOtherLog) {
			t.Errorf("an empty stream: %v", err)
		}
		l := openLog(t, c, stream.Options{})
		addRecords(t, l, 3)
		if _, err := stream.Open(t.Context(), c.Connect(), stream.Options{ID: wal.ID{1}}); !errors.Is(err, stream.ErrOtherLog) || !strings.Contains(err.Error(), l.ID().String()) {
			t.Errorf("another log: %v, want one that names the log %v", err, l.ID())
		}
		addRecords(t, l, 1) // it is the writer still
		next := openLog(t, c, stream.Options{ID: l.ID(), After: 4})
		addRecords(t, next, 1)
		if next.Last() != 5 {
			t.Errorf("the log ends at position %d, want 5", next.Last())
		}
	})
}
