package stream_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rondo-db/rondo/wal/stream"
	"github.com/rondo-db/rondo/wal/stream/streamtest"
)

// standingStill is a server whose nearest replica has stopped to follow the others.
type standingStill struct {
	stream.Server
	last uint64 // that the replica has
}

func (s standingStill) Read(ctx context.Context, replica int, from uint64, n int, fn func(seq uint64, msg []byte) error) error {
	if replica == 0 {
		if from > s.last {
			return nil
		}
		n = min(n, int(s.last-from)+1)
	}
	return s.Server.Read(ctx, replica, from, n, fn)
}

// TestReaderOfLateReplica: while the nearest replica stands still a reader took 256 messages of
// another one, asked the nearest one eight times, and so on.
func TestReaderOfLateReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &streamtest.Cluster{}
		l := openLog(t, c, stream.Options{Linger: -1})
		const records = 20 * 256
		addRecords(t, l, records)
		r, err := stream.OpenReader(context.Background(), standingStill{c.Connect(), 100}, stream.ReaderOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.Close() }() // it was only read
		began := time.Now()
		if next, err := tail(t, r, 1, records); err != errEnough {
			t.Fatalf("before record %d: %v", next, err)
		}
		if took := time.Since(began); took > 2*time.Second { // of the virtual clock
			t.Errorf("%d records took %v", records, took)
		}
	})
}

// slowLine is a server at the end of a slow line. What was asked for comes in order, also what
// nobody waits for any more.
type slowLine struct {
	stream.Server
	free *time.Time // when the line will be
}

const messageTime = 50 * time.Millisecond // for a message on the line

func (s slowLine) Read(ctx context.Context, replica int, from uint64, n int, fn func(seq uint64, msg []byte) error) error {
	if now := time.Now(); s.free.Before(now) {
		*s.free = now
	}
	var all [][]byte
	err := s.Server.Read(ctx, replica, from, n, func(_ uint64, msg []byte) error {
		all = append(all, msg)
		return nil
	})
	at := *s.free
	*s.free = at.Add(time.Duration(len(all)) * messageTime)
	for i, msg := range all {
		at = at.Add(messageTime)
		select {
		case <-time.After(time.Until(at)):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := fn(from+uint64(i), msg); err != nil {
			return err
		}
	}
	return err
}

// TestReaderOfSlowLine: a reader gave up what had not come after 2 s and asked anew. The answer
// came behind what it had given up, too late again, and it read nothing any more.
func TestReaderOfSlowLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &streamtest.Cluster{}
		l := openLog(t, c, stream.Options{Linger: -1})
		const records = 4 * 256
		addRecords(t, l, records)
		r, err := stream.OpenReader(context.Background(), slowLine{c.Connect(), new(time.Time)}, stream.ReaderOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.Close() }() // it was only read
		defer time.AfterFunc(time.Hour, func() { _ = r.Close() }).Stop()
		began := time.Now() // by the virtual clock
		next, err := tail(t, r, 1, records)
		if took := time.Since(began); err != errEnough || took > records*messageTime+5*time.Second {
			t.Errorf("before record %d after %v: %v", next, took, err)
		}
	})
}
