package kafka_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/rondo-db/rondo/wal"
	"github.com/rondo-db/rondo/wal/kafka"
	"github.com/rondo-db/rondo/wal/stream"
	"github.com/rondo-db/rondo/wal/waltest"
)

// brokers starts three brokers that end with the test.
func brokers(t *testing.T, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(3)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// connect returns a connection to a topic that is made if it is missing.
func connect(t *testing.T, c *kfake.Cluster, topic string, opts ...kgo.Opt) *kafka.Server {
	t.Helper()
	s, err := kafka.Connect(t.Context(), kafka.Options{Brokers: c.ListenAddrs(), Topic: topic, Connect: opts})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// A disk flips a bit of records that brokers have sent.
type disk struct {
	mu   sync.Mutex
	bad  [][]byte // what the records contain
	dial net.Dialer
}

func (d *disk) connect(ctx context.Context, network, host string) (net.Conn, error) {
	conn, err := d.dial.DialContext(ctx, network, host)
	return &platter{Conn: conn, disk: d}, err
}

// flip flips a bit in each bad record of an answer.
func (d *disk) flip(answer []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, b := range d.bad {
		if i := bytes.Index(answer, b); i >= 0 {
			answer[i+len(b)/2] ^= 1
		}
	}
}

// A platter is a connection on which whole answers are looked at. One goroutine reads from it.
type platter struct {
	net.Conn
	disk *disk
	rest []byte
}

func (p *platter) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		size := make([]byte, 4)
		if _, err := io.ReadFull(p.Conn, size); err != nil {
			return 0, err
		}
		answer := make([]byte, binary.BigEndian.Uint32(size))
		if _, err := io.ReadFull(p.Conn, answer); err != nil {
			return 0, err
		}
		p.disk.flip(answer)
		p.rest = append(size, answer...)
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// topics are topics of one cluster, by the place that the suite names.
type topics struct {
	*disk
	shared *kgo.Client
	names  map[string]string

	lock    sync.Mutex
	refusal error
}

func (a *topics) of(place string) string {
	a.lock.Lock()
	defer a.lock.Unlock()
	place = filepath.Clean(place)
	if a.names[place] == "" {
		a.names[place] = fmt.Sprintf("log%d", len(a.names))
	}
	return a.names[place]
}

func (a *topics) refuse(err error) {
	a.lock.Lock()
	defer a.lock.Unlock()
	a.refusal = err
}

// A refusing server does not take messages while its topics are to refuse them.
type refusing struct {
	stream.Server
	topics *topics
}

func (s refusing) Publish(ctx context.Context, after uint64, id string, msg []byte) (uint64, error) {
	s.topics.lock.Lock()
	err := s.topics.refusal
	s.topics.lock.Unlock()
	if err != nil {
		return 0, fmt.Errorf("%w: %w", waltest.Refusal(err), err)
	}
	return s.Server.Publish(ctx, after, id, msg)
}

func (a *topics) open(t *testing.T, place string, onDurable func(first, last wal.Pos, err error)) (waltest.Log, error) {
	s, err := kafka.Connect(t.Context(), kafka.Options{Client: a.shared, Topic: a.of(place)})
	if err != nil {
		return nil, err
	}
	return stream.Open(t.Context(), refusing{s, a}, stream.Options{OnDurable: onDurable, Linger: time.Millisecond, Retry: -1, Patience: 5 * time.Second})
}

// damage flips a bit of the message that has the record at p.
func (a *topics) damage(t *testing.T, place string, p wal.Pos) {
	s, err := kafka.Connect(t.Context(), kafka.Options{Client: a.shared, Topic: a.of(place)})
	if err != nil {
		t.Fatal(err)
	}
	found := errors.New("found")
	for from := uint64(1); ; {
		before := from
		err := s.Read(t.Context(), 0, from, 100, func(seq uint64, msg []byte) error {
			from = seq + 1
			first, count := binary.LittleEndian.Uint64(msg[24:]), binary.LittleEndian.Uint32(msg[20:])
			if uint64(p) < first || uint64(p) >= first+uint64(count) {
				return nil
			}
			a.mu.Lock()
			defer a.mu.Unlock()
			a.bad = append(a.bad, bytes.Clone(msg))
			return found
		})
		switch {
		case errors.Is(err, found):
			return
		case err != nil || from == before:
			t.Fatalf("look for position %d: %v", p, err)
		}
	}
}

func TestSuite(t *testing.T) {
	c := brokers(t)
	a := &topics{disk: &disk{}, names: make(map[string]string)}
	var err error
	if a.shared, err = kafka.Dial(kafka.Options{Brokers: c.ListenAddrs(), Connect: []kgo.Opt{kgo.Dialer(a.connect)}}); err != nil {
		t.Fatal(err)
	}
	defer a.shared.Close()
	waltest.Run(t, waltest.Subject{
		Open: func(place string, onDurable func(first, last wal.Pos, err error)) (waltest.Log, error) {
			return a.open(t, place, onDurable)
		},
		Refuse: a.refuse,
		Damage: func(_ waltest.Log, place string, p wal.Pos) { a.damage(t, place, p) },
	})
}
