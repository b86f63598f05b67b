package natskv

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/internal/natsconn"
)

// Options say where the bucket is.
type Options struct {
	// URL names the servers, separated by commas: nats://HOST:PORT.
	URL string
	// Connect are more options of the connection: credentials, TLS.
	Connect []nats.Option
	// Bucket is the name of the bucket. Connect makes one that is missing, unless MustExist is
	// set: then the error wraps ErrNoBucket. A Store makes a bucket again that was deleted, too,
	// once the servers have said for 10 s that they have none.
	Bucket    string
	MustExist bool
	// Beside is a stream that a cluster has; empty: it does not matter. While the servers have it,
	// Connect makes no bucket that is missing, as if MustExist were set.
	Beside string
	// Logger gets a line for a bucket that is made again; nil: none.
	Logger *slog.Logger
	// AcceptFewerReplicas accepts a bucket on one server, and makes such a bucket. It is for tests.
	AcceptFewerReplicas bool
}

// headerOperation is the header of a message that marks a key as removed.
const headerOperation = "KV-Operation"

// headerSum is the header with the checksum of a message: see sum. Older programs write none.
const headerSum = "Rondo-Sum"

// Store is a connection to a bucket. Whatever it reads is at least as new as all that it has read
// and written before.
type Store struct {
	nc     *nats.Conn
	js     jetstream.JetStream
	o      Options
	bucket string

	mu    sync.Mutex // guards what follows
	gone  gone
	known known
	moved time.Time    // when the connection was to go to another server last
	late  time.Time    // since when all answers are too old; zero: they are not
	mute  [2]time.Time // since when all reads, and all writes, have failed; zero: they have not

	most  time.Duration // lateMost
	every time.Duration // goneEvery
	times int           // goneTimes
}

var _ coord.Store = (*Store)(nil)

// Connect connects to the servers, and makes the bucket if it is missing. It does not check how the
// servers sync: they also keep the logs, and jetstream.Connect checks them.
func Connect(ctx context.Context, o Options) (*Store, error) {
	nc, err := natsconn.Connect(o.URL, o.Logger, o.Connect...)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", natsconn.Redacted(o.URL), err)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Store{nc: nc, o: o, bucket: o.Bucket, most: lateMost, every: goneEvery, times: goneTimes}
	if s.js, err = jetstream.New(nc); err == nil {
		err = s.prepare(ctx, s.Beside)
	}
	if err != nil {
		err = natsconn.Explain(nc, err)
		nc.Close()
		return nil, fmt.Errorf("bucket %s: %w", o.Bucket, err)
	}
	return s, nil
}

// CompareAndSet is as coord.Store has it.
func (s *Store) CompareAndSet(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	rev, err := s.compareAndSet(ctx, key, value, revision)
	s.heard(write, err)
	return rev, natsconn.Explain(s.nc, err)
}

func (s *Store) compareAndSet(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	rev, err := s.put(ctx, key, value, revision)
	if revision == 0 && errors.Is(err, coord.ErrConflict) {
		// A key that was removed has a revision.
		m, e := s.get(ctx, key)
		switch {
		case e != nil:
			return 0, fmt.Errorf("%w: %w", err, e)
		case !m.removed:
			return 0, err
		}
		rev, err = s.put(ctx, key, value, m.Revision)
	}
	if err != nil {
		return 0, err
	}
	s.learn(rev, key, rev)
	return rev, nil
}

// put publishes a value with a checksum, which the client's own Update does not: a server gives out
// a value whose bits have flipped on its disk.
func (s *Store) put(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	m := nats.NewMsg(s.subject(key))
	m.Data = value
	m.Header.Set(headerSum, sum(key, value))
	ack, err := s.js.PublishMsg(ctx, m, jetstream.WithExpectLastSequencePerSubject(revision))
	if err != nil {
		return 0, conflict(err)
	}
	return ack.Sequence, nil
}

// sum returns the checksum of a value, CRC-32C in hexadecimal digits.
func sum(key string, value []byte) string {
	return strconv.FormatUint(uint64(crc32.Update(crc32.Checksum([]byte(key), castagnoli), castagnoli, value)), 16)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Delete is as coord.Store has it.
func (s *Store) Delete(ctx context.Context, key string, revision uint64) error {
	err := s.remove(ctx, key, revision)
	s.heard(write, err)
	return natsconn.Explain(s.nc, err)
}

func (s *Store) remove(ctx context.Context, key string, revision uint64) error {
	// The client's own Delete does not return the revision.
	m := nats.NewMsg(s.subject(key))
	m.Header.Set(headerOperation, "DEL")
	ack, err := s.js.PublishMsg(ctx, m, jetstream.WithExpectLastSequencePerSubject(revision))
	if err != nil {
		return conflict(err)
	}
	s.learn(ack.Sequence, key, ack.Sequence)
	return nil
}

// conflict makes coord.ErrConflict and coord.ErrTooLong of the errors that say so.
func conflict(err error) error {
	const wrongLast, wrongLast2, tooLong = 10071, 10164, 10054
	api, ok := errors.AsType[*jetstream.APIError](err)
	if errors.Is(err, nats.ErrMaxPayload) || ok && api.ErrorCode == tooLong {
		return fmt.Errorf("%w: %w", coord.ErrTooLong, err)
	}
	if ok && (api.ErrorCode == wrongLast || api.ErrorCode == wrongLast2) {
		return fmt.Errorf("%w: %w", coord.ErrConflict, err)
	}
	return err
}

// Conn returns the connection to the servers. Close closes it.
func (s *Store) Conn() *nats.Conn { return s.nc }

// Close is as coord.Store has it.
func (s *Store) Close() error {
	s.nc.Close()
	return nil
}
