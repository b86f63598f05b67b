package kafka_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rondo-db/rondo/wal"
	"github.com/rondo-db/rondo/wal/kafka"
	"github.com/rondo-db/rondo/wal/stream"
)

// publish stores a message behind another one and returns its sequence number.
func publish(t *testing.T, s stream.Server, after uint64, msg string) uint64 {
	t.Helper()
	seq, err := s.Publish(t.Context(), after, msg, []byte(msg))
	if err != nil {
		t.Fatalf("publish %q behind %d: %v", msg, after, err)
	}
	return seq
}

// messages returns what a server shows.
func messages(t *testing.T, s stream.Server) (seqs []uint64, msgs []string) {
	t.Helper()
	for from := uint64(0); ; {
		n := len(seqs)
		err := s.Read(t.Context(), 0, from, 3, func(seq uint64, msg []byte) error {
			seqs, msgs, from = append(seqs, seq), append(msgs, string(msg)), seq+1
			return nil
		})
		switch {
		case errors.Is(err, kerr.NotLeaderForPartition): // it asks for the leader next time
		case err != nil:
			t.Fatal(err)
		case len(seqs) == n:
			return seqs, msgs
		}
	}
}

func wantMessages(t *testing.T, s stream.Server, want ...string) {
	t.Helper()
	if _, got := messages(t, s); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the server shows %q, want %q", got, want)
	}
}

func wantBounds(t *testing.T, s stream.Server, oldest, newest uint64) {
	t.Helper()
	if o, n, err := s.Bounds(t.Context()); err != nil || o != oldest || n != newest {
		t.Errorf("bounds: got %d to %d, %v, want %d to %d", o, n, err, oldest, newest)
	}
}

// TestLateAppend lets an append arrive after its writer has given up and another one has written:
// nobody sees it.
func TestLateAppend(t *testing.T) {
	c := brokers(t, kfake.SleepOutOfOrder())
	first, second := connect(t, c, "log"), connect(t, c, "log")
	seq := publish(t, first, 0, "one")

	arrived, late := make(chan struct{}), make(chan struct{})
	var held atomic.Bool
	c.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		if !held.Swap(true) {
			c.SleepControl(func() { close(arrived); <-late })
		}
		return nil, nil, false // the broker serves it
	})
	ctx, giveUp := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := first.Publish(ctx, seq, "", []byte("late"))
		done <- err
	}()
	<-arrived
	giveUp()
	if err := <-done; !errors.Is(err, context.Canceled) || errors.Is(err, wal.ErrRetry) {
		t.Errorf("publish without an answer: got %v, want one that leaves it open", err)
	}
	stored := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Observe: true, Count: -1})
	next := publish(t, second, seq, "two")
	close(late)
	if err := stored.Wait(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	if _, err := first.Publish(t.Context(), seq, "", []byte("late")); !errors.Is(err, stream.ErrConflict) {
		t.Errorf("publish behind an old message: got %v, want ErrConflict", err)
	}
	if _, err := first.Publish(t.Context(), next, "", []byte("three")); err != nil {
		t.Errorf("publish behind void records: %v", err)
	}
	wantMessages(t, first, "one", "two", "three")
}

// TestForeignRecords has other programs write into the topic, with and without a transaction, and
// with a key that names another offset. The log goes on, and nobody sees them.
func TestForeignRecords(t *testing.T) {
	c := brokers(t)
	other, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.TransactionalID("other"), kgo.DefaultProduceTopic("log"))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	s := connect(t, c, "log")
	write := func(key []byte) {
		t.Helper()
		if err := other.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		if err := other.ProduceSync(t.Context(), &kgo.Record{Key: key, Value: []byte("foreign")}).FirstErr(); err != nil {
			t.Fatal(err)
		}
		if err := other.EndTransaction(t.Context(), kgo.TryCommit); err != nil {
			t.Fatal(err)
		}
	}
	write(nil)
	wantBounds(t, s, 1, 0)
	seq := publish(t, s, 0, "one")
	write(binary.LittleEndian.AppendUint64(nil, seq+1))
	write([]byte("key"))
	wantBounds(t, s, 1, seq)
	seq = publish(t, s, seq, "two")
	wantBounds(t, s, 1, seq)
	wantMessages(t, connect(t, c, "log"), "one", "two")
	if err := s.Purge(t.Context(), seq); err != nil {
		t.Fatal(err)
	}
	if err := s.Purge(t.Context(), 1); err != nil {
		t.Errorf("purge what was purged: %v", err)
	}
	wantBounds(t, s, seq, seq)
	wantMessages(t, s, "two")
}

// TestTopicMadeAnew deletes the topic of a log and makes one of the same name. The log may not go
// on there.
func TestTopicMadeAnew(t *testing.T) {
	c := brokers(t)
	s := connect(t, c, "log")
	seq := publish(t, s, publish(t, s, 0, "one"), "two")
	client, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	req := kmsg.NewPtrDeleteTopicsRequest()
	topic := kmsg.NewDeleteTopicsRequestTopic()
	topic.Topic = new("log")
	req.Topics, req.TopicNames = append(req.Topics, topic), []string{"log"}
	if resp, err := req.RequestWith(t.Context(), client); err != nil || resp.Topics[0].ErrorCode != 0 {
		t.Fatal(resp, err)
	}
	connect(t, c, "log")
	for range 5 { // the first attempts find out that the topic is another one
		if _, err = s.Publish(t.Context(), seq, "", []byte("three")); errors.Is(err, wal.ErrSealed) {
			break
		}
	}
	if !errors.Is(err, wal.ErrSealed) {
		t.Errorf("publish into a topic made anew: got %v, want ErrSealed", err)
	}
	wantMessages(t, s)
}

// TestAppendOrNot says for errors of the brokers whether the record may have been stored.
func TestAppendOrNot(t *testing.T) {
	c := brokers(t)
	s := connect(t, c, "log")
	seq := uint64(0)
	for err, retry := range map[*kerr.Error]bool{
		kerr.NotEnoughReplicas:            true,
		kerr.MessageTooLarge:              true,
		kerr.TopicAuthorizationFailed:     true,
		kerr.PolicyViolation:              true,
		kerr.NotEnoughReplicasAfterAppend: false,
		kerr.RequestTimedOut:              false,
		kerr.NotLeaderForPartition:        false,
		kerr.KafkaStorageError:            false,
		kerr.UnknownTopicOrPartition:      false,
		kerr.UnknownServerError:           false,
	} {
		c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: err})
		msg := []byte(err.Message)
		_, got := s.Publish(t.Context(), seq, "", msg)
		if !errors.Is(got, err) || errors.Is(got, wal.ErrRetry) != retry {
			t.Errorf("%s: got %v; want it to say that nothing was stored: %t", err.Message, got, retry)
		}
		// The next attempt stores it, unless this one has.
		if seq, got = s.Publish(t.Context(), seq, "", msg); errors.Is(got, stream.ErrConflict) {
			_, newest, e := s.Bounds(t.Context())
			if e != nil {
				t.Fatal(e)
			}
			seq = newest
		} else if got != nil {
			t.Fatalf("%s: again: %v", err.Message, got)
		}
	}
	if _, msgs := messages(t, s); len(msgs) != 10 {
		t.Errorf("the server shows %q, want each of 10 once", msgs)
	}
}

// TestCompareAndAppend has several writers append to one topic whose leader moves and whose answers
// get lost. Each message is there once, in a chain.
func TestCompareAndAppend(t *testing.T) {
	c := brokers(t)
	const writers, each = 3, 20
	s := connect(t, c, "log")
	c.Fault(
		kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.RequestTimedOut, Count: 30, When: every(7)},
		kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.NotEnoughReplicas, Count: 30, When: every(5)},
		kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Err: kerr.NotLeaderForPartition, Count: 30, When: every(11)},
	)
	var mu sync.Mutex
	told := make(map[string]uint64)
	var wg sync.WaitGroup
	for w := range writers {
		s := connect(t, c, "log")
		wg.Go(func() {
			for i := range each {
				msg := fmt.Sprintf("writer %d message %d", w, i)
				seq, err := append1(t.Context(), s, msg)
				if err != nil {
					t.Errorf("%s: %v", msg, err)
					return
				}
				mu.Lock()
				told[msg] = seq
				mu.Unlock()
				if i%5 == w {
					c.ShufflePartitionLeaders()
				}
			}
		})
	}
	wg.Wait()
	seqs, msgs := messages(t, s)
	for i, msg := range msgs {
		if told[msg] != seqs[i] {
			t.Errorf("message %d is %q, and was told as %d", seqs[i], msg, told[msg])
		}
	}
	if len(msgs) != writers*each {
		t.Errorf("got %d messages, want %d", len(msgs), writers*each)
	}
}

// every returns a function that is true of each nth request.
func every(n int) func(kmsg.Request) bool {
	i := 0
	return func(kmsg.Request) bool { i++; return i%n == 0 }
}

// append1 appends a message behind whatever is the newest, once.
func append1(ctx context.Context, s *kafka.Server, msg string) (uint64, error) {
	var after uint64
	for ctx.Err() == nil {
		seq, err := s.Publish(ctx, after, "", []byte(msg))
		if err == nil {
			return seq, nil
		}
		found := uint64(0)
		for {
			n := after
			err := s.Read(ctx, 0, after+1, 100, func(seq uint64, b []byte) error {
				if string(b) == msg {
					found = seq
				}
				after = seq
				return nil
			})
			if found != 0 {
				return found, nil
			}
			if err == nil && after == n {
				break
			}
		}
	}
	return 0, ctx.Err()
}
