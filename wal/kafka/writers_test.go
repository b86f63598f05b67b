package kafka_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rondo-db/rondo/wal"
	"github.com/rondo-db/rondo/wal/kafka"
	"github.com/rondo-db/rondo/wal/stream"
)

// TestSecondWriter opens a log that another process has open, while brokers lose answers and the
// leader moves. The first writer stops, and all that either was told as durable is there.
func TestSecondWriter(t *testing.T) {
	c := brokers(t)
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.NotEnoughReplicasAfterAppend, Count: -1, When: every(6)})
	told := make(chan error, 100)
	open := func() *stream.Log {
		t.Helper()
		l, err := kafka.Open(t.Context(), kafka.Options{Brokers: c.ListenAddrs(), Topic: "log", Log: stream.Options{
			Linger: -1, OnDurable: func(_, _ wal.Pos, err error) { told <- err },
		}})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	n := 0
	add := func(l *stream.Log) error {
		t.Helper()
		if _, err := l.Enqueue(fmt.Appendf(nil, "record %d", n+1)); err != nil {
			t.Fatal(err)
		}
		err := <-told
		if err == nil {
			n++
		}
		return err
	}
	first := open()
	for i := range 20 {
		if err := add(first); err != nil {
			t.Fatal(err)
		}
		if i%5 == 0 {
			c.ShufflePartitionLeaders()
		}
	}
	second := open()
	for range 5 {
		if err := add(second); err != nil {
			t.Fatal(err)
		}
	}
	if err := add(first); !errors.Is(err, wal.ErrSealed) {
		t.Errorf("a record of the first writer: got %v, want ErrSealed", err)
	}
	if err := add(second); err != nil {
		t.Errorf("a record behind that: %v", err)
	}
	got := 0
	err := second.Replay(1, func(p wal.Pos, rec []byte) error {
		if got++; p != wal.Pos(got) || string(rec) != fmt.Sprintf("record %d", got) {
			t.Errorf("position %d: got %q", p, rec)
		}
		return nil
	})
	if err != nil || got != n {
		t.Errorf("replay: got %d records, %v, want %d", got, err, n)
	}
	r, err := kafka.OpenReader(t.Context(), kafka.Options{Brokers: c.ListenAddrs(), Topic: "log"}, stream.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	enough := errors.New("enough")
	if err := r.Tail(t.Context(), 1, func(p wal.Pos, rec []byte) error {
		if string(rec) != fmt.Sprintf("record %d", p) {
			t.Errorf("position %d: a reader has %q", p, rec)
		}
		if p == wal.Pos(n) {
			return enough
		}
		return nil
	}); !errors.Is(err, enough) {
		t.Errorf("tail: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	for _, l := range []*stream.Log{first, second} {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}
