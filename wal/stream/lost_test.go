package stream_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rondo-db/rondo/wal"
	"github.com/rondo-db/rondo/wal/stream"
	"github.com/rondo-db/rondo/wal/stream/streamtest"
)

// lossOptions are the options of a caller that holds ten records of a log.
func lossOptions(l *stream.Log) stream.Options { return stream.Options{After: 10, ID: l.ID()} }

// A stream that has lost its end, or all of it, is refused by whoever holds more, and begun anew
// behind that if the caller says so. Readers that hold as much go on.
func TestLostEnd(t *testing.T) {
	for name, kept := range map[string]int{"all": 0, "the last records": 6} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &streamtest.Cluster{}
				l := openLog(t, c, stream.Options{})
				addRecords(t, l, 10)
				r := openReader(t, c, stream.ReaderOptions{ID: l.ID()})
				ctx, stop := context.WithCancel(context.Background())
				defer stop()
				read := make(chan wal.Pos, 100)
				follow := func(from wal.Pos) error {
					return r.Tail(ctx, from, func(p wal.Pos, _ []byte) error {
						read <- p
						return nil
					})
				}
				ended := make(chan error, 1)
				go func() { ended <- follow(10) }()
				if p := <-read; p != 10 {
					t.Fatalf("read record %d first, want 10", p)
				}
				c.Lose(kept)

				if _, err := l.Enqueue([]byte("record 11")); err != nil {
					t.Fatal(err)
				}
				if _, err := l.Barrier(ctx); !errors.Is(err, wal.ErrSealed) || !errors.Is(err, wal.ErrLost) {
					t.Errorf("the writer of a stream that has lost its end gets %v, want ErrSealed and ErrLost", err)
				}
				if err := <-ended; !errors.Is(err, wal.ErrLost) {
					t.Errorf("a reader of a stream that has lost its end gets %v, want ErrLost", err)
				}
				if _, err := stream.Open(ctx, c.Connect(), lossOptions(l)); !errors.Is(err, wal.ErrLost) {
					t.Errorf("opened by who holds more: %v, want ErrLost", err)
				}

				o := lossOptions(l)
				o.Anew = true
				next := openLog(t, c, o)
				if next.ID() != l.ID() {
					t.Errorf("the log begun anew has the ID %v, want %v", next.ID(), l.ID())
				}
				go func() { ended <- follow(11) }()
				addRecords(t, next, 3)
				for want := wal.Pos(11); want <= 13; want++ {
					if p := <-read; p != want {
						t.Errorf("read record %d behind the loss, want %d", p, want)
					}
				}
				stop()
				if err := <-ended; !errors.Is(err, context.Canceled) {
					t.Errorf("a reader behind the loss ends with %v", err)
				}
				behind := openReader(t, c, stream.ReaderOptions{ID: l.ID()})
				_, err := tail(t, behind, wal.Pos(8), 8)
				if !errors.Is(err, wal.ErrTruncated) && !errors.Is(err, wal.ErrHole) || errors.Is(err, wal.ErrLost) {
					t.Errorf("who is behind the loss gets %v, want ErrTruncated or ErrHole", err)
				}
			})
		})
	}
}

// Who may begin a log anew does not do so while the log has everything.
func TestAnewChangesNoWholeLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &streamtest.Cluster{}
		l := openLog(t, c, stream.Options{})
		addRecords(t, l, 12)
		o := lossOptions(l)
		o.Anew = true
		next := openLog(t, c, o)
		if next.Last() != 12 {
			t.Errorf("the log ends at %d, want 12", next.Last())
		}
		if _, err := tail(t, openReader(t, c, stream.ReaderOptions{}), 1, 12); !errors.Is(err, errEnough) {
			t.Error(err)
		}
	})
}

// Who is refused since the stream has lost its end leaves no claim there. A reader that stands
// behind that end would take one for a position that comes again, and halt.
func TestRefusedOpenLeavesNoClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &streamtest.Cluster{}
		l := openLog(t, c, stream.Options{})
		addRecords(t, l, 10)
		r := openReader(t, c, stream.ReaderOptions{ID: l.ID()})
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		read, ended := make(chan wal.Pos, 100), make(chan error, 1)
		go func() {
			ended <- r.Tail(ctx, 10, func(p wal.Pos, _ []byte) error {
				read <- p
				return nil
			})
		}()
		<-read
		c.Lose(10) // of a claim and ten records
		for range 3 {
			if _, err := stream.Open(ctx, c.Connect(), lossOptions(l)); !errors.Is(err, wal.ErrLost) {
				t.Fatalf("opened by who holds more: %v, want ErrLost", err)
			}
		}
		if err := <-ended; !errors.Is(err, wal.ErrLost) {
			t.Errorf("a reader of a stream that has lost its end gets %v, want ErrLost", err)
		}
	})
}

// A writer does not know whether its last message was stored, and then the stream is deleted: it
// gives up.
func TestDeletedWhileUnsure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stage atomic.Int32
		c := &streamtest.Cluster{Refuse: func() error { return []error{nil, errors.New("no answer"), wal.ErrRetry}[stage.Load()] }}
		l := openLog(t, c, stream.Options{})
		addRecords(t, l, 10)
		stage.Store(1)
		if _, err := l.Enqueue([]byte("record 11")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		c.Lose(0)
		stage.Store(2)
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
		defer cancel()
		if _, err := l.Barrier(ctx); !errors.Is(err, wal.ErrSealed) || !errors.Is(err, wal.ErrLost) {
			t.Errorf("got %v, want ErrSealed and ErrLost", err)
		}
	})
}

// A writer that has nothing to write learns from Truncate that the stream has lost its end, once
// that has lasted for Options.Retry. One answer that is out of date does not make it give up.
func TestIdleWriterLearnsOfLoss(t *testing.T) {
	for name, kept := range map[string]int{"all": 0, "the last records": 6} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &streamtest.Cluster{}
				l := openLog(t, c, stream.Options{})
				addRecords(t, l, 10)
				if err := l.Truncate(0); err != nil {
					t.Fatalf("of a whole log: %v", err)
				}
				c.Lose(kept)
				began := time.Now()
				for {
					err := l.Truncate(0)
					since := time.Since(began)
					if err == nil && since < 40*time.Second {
						time.Sleep(10 * time.Second)
						continue
					}
					if !errors.Is(err, wal.ErrSealed) || !errors.Is(err, wal.ErrLost) || since < 25*time.Second {
						t.Errorf("%v after the loss: %v, want ErrSealed and ErrLost after 25 s or more", since, err)
					}
					break
				}
				if _, err := l.Enqueue([]byte("record 11")); !errors.Is(err, wal.ErrLost) {
					t.Errorf("then a record gets %v, want ErrLost at once", err)
				}
			})
		})
	}
}

// Bounds that are out of date now and then, and servers that do not answer, are no loss: the writer
// goes on.
func TestIdleWriterBelievesNoStaleBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &staleServer{Server: (&streamtest.Cluster{}).Connect()}
		l, err := stream.Open(t.Context(), s, stream.Options{})
		if err != nil {
			t.Fatal(err)
		}
		addRecords(t, l, 10)
		for i := range 30 {
			s.mode.Store(int32(i % 3))
			if err := l.Truncate(0); err != nil {
				t.Fatalf("question %d: %v", i, err)
			}
			time.Sleep(15 * time.Second)
		}
		s.mode.Store(0)
		addRecords(t, l, 1)
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A staleServer gives right bounds, none, and bounds that are behind.
type staleServer struct {
	stream.Server
	mode atomic.Int32
}

func (s *staleServer) Bounds(ctx context.Context) (oldest, newest uint64, err error) {
	oldest, newest, err = s.Server.Bounds(ctx)
	switch s.mode.Load() {
	case 1:
		return 0, 0, errors.New("no answer")
	case 2:
		newest -= 3
	}
	return oldest, newest, err
}
