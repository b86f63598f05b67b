package natskv

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rondo-db/rondo/engine/cluster/coord"
)

// Options say where the bucket is.
type Options struct {
	// URL names the servers, separated by commas: nats://HOST:PORT.
	URL string
	// Connect are more options of the connection: credentials, TLS.
	Connect []nats.Option
	// Bucket is the name of the bucket. Connect makes one that is missing, unless MustExist is set:
	// then the error wraps ErrNoBucket.
	Bucket    string
	MustExist bool
	// AcceptFewerReplicas accepts a bucket on one server, and makes such a bucket. It is for tests.
	AcceptFewerReplicas bool
}

// ErrNoBucket says that the servers have no bucket of a name.
var ErrNoBucket = errors.New("it does not exist")

// replicas is how many servers keep a bucket.
const replicas = 3

// Store is a connection to a bucket.
type Store struct {
	nc     *nats.Conn
	kv     jetstream.KeyValue
	bucket string
}

var _ coord.Store = (*Store)(nil)

// Connect connects to the servers, and makes the bucket if it is missing. It does not check how the
// servers sync: they are those of the logs, and jetstream.Connect checks them.
func Connect(ctx context.Context, o Options) (*Store, error) {
	options := append([]nats.Option{
		nats.Name("rondo"), nats.MaxReconnects(-1), nats.ReconnectWait(100 * time.Millisecond), nats.ReconnectBufSize(-1),
	}, o.Connect...)
	nc, err := nats.Connect(o.URL, options...)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", o.URL, err)
	}
	s := &Store{nc: nc, bucket: o.Bucket}
	if err := s.prepare(ctx, o); err != nil {
		nc.Close()
		return nil, fmt.Errorf("bucket %s: %w", o.Bucket, err)
	}
	return s, nil
}

// prepare finds or makes the bucket, and checks it.
func (s *Store) prepare(ctx context.Context, o Options) error {
	js, err := jetstream.New(s.nc)
	if err != nil {
		return err
	}
	want := replicas
	if o.AcceptFewerReplicas {
		want = 1
	}
	s.kv, err = js.KeyValue(ctx, o.Bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		if o.MustExist {
			return ErrNoBucket
		}
		s.kv, err = js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket: o.Bucket, Description: "what the nodes of a cluster of rondo tell each other", Storage: jetstream.FileStorage, Replicas: want,
		})
	}
	if err != nil {
		return err
	}
	status, err := s.kv.Status(ctx)
	if err != nil {
		return err
	}
	kv, ok := status.(*jetstream.KeyValueBucketStatus)
	if !ok {
		return fmt.Errorf("the client describes it as a %T", status)
	}
	switch c := kv.StreamInfo().Config; {
	case c.Replicas < want:
		return fmt.Errorf("its num_replicas is %d: set %d, so that the loss of a server does not lose the map of partitions", c.Replicas, want)
	case c.Storage != jetstream.FileStorage:
		return fmt.Errorf("its storage is %v: set file, so that the map of partitions outlives the servers' processes", c.Storage)
	case c.MaxAge != 0:
		return fmt.Errorf("its max_age is %v: set none, so that the map of partitions does not vanish", c.MaxAge)
	case !c.AllowDirect:
		return errors.New("its allow_direct is off: set it on, because the bucket is read so")
	}
	return nil
}

// Get is as coord.Store has it.
func (s *Store) Get(ctx context.Context, key string) (coord.Entry, error) {
	e, err := s.kv.Get(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return coord.Entry{Key: key}, nil
	}
	if err != nil {
		return coord.Entry{}, err
	}
	return coord.Entry{Key: key, Value: e.Value(), Revision: e.Revision()}, nil
}

// CompareAndSet is as coord.Store has it.
func (s *Store) CompareAndSet(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	var rev uint64
	var err error
	if revision == 0 {
		rev, err = s.kv.Create(ctx, key, value) // a key that was deleted has a revision
	} else {
		rev, err = s.kv.Update(ctx, key, value, revision)
	}
	return rev, conflict(err)
}

// Delete is as coord.Store has it.
func (s *Store) Delete(ctx context.Context, key string, revision uint64) error {
	return conflict(s.kv.Delete(ctx, key, jetstream.LastRevision(revision)))
}

// conflict makes coord.ErrConflict of the errors that say so.
func conflict(err error) error {
	const wrongLast, wrongLast2 = 10071, 10164
	if api, ok := errors.AsType[*jetstream.APIError](err); ok && (api.ErrorCode == wrongLast || api.ErrorCode == wrongLast2) || errors.Is(err, jetstream.ErrKeyExists) {
		return fmt.Errorf("%w: %w", coord.ErrConflict, err)
	}
	return err
}

// List is as coord.Store has it. It asks once, for the newest message of each key, and any replica
// answers: a consumer, by which the client would list keys, takes the servers long to make.
func (s *Store) List(ctx context.Context, prefix string) ([]coord.Entry, error) {
	subject := "$KV." + s.bucket + "."
	ask, err := json.Marshal(map[string]any{"multi_last": []string{subject + prefix + ">"}})
	if err != nil {
		return nil, err
	}
	inbox := s.nc.NewInbox()
	sub, err := s.nc.SubscribeSync(inbox)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", prefix, err)
	}
	defer func() { _ = sub.Unsubscribe() }() // an error says that the connection is closed
	if err := sub.SetPendingLimits(-1, -1); err != nil {
		return nil, fmt.Errorf("list %s: %w", prefix, err)
	}
	if err := s.nc.PublishRequest("$JS.API.DIRECT.GET."+Stream(s.bucket), inbox, ask); err != nil {
		return nil, fmt.Errorf("list %s: %w", prefix, err)
	}
	var out []coord.Entry
	for {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", prefix, err)
		}
		switch status := m.Header.Get("Status"); status {
		case "":
		case "204", "404": // the end, or nothing there
			slices.SortFunc(out, func(a, b coord.Entry) int { return cmp.Compare(a.Key, b.Key) })
			return out, nil
		default:
			return nil, fmt.Errorf("list %s: status %s %s", prefix, status, m.Header.Get("Description"))
		}
		revision, err := strconv.ParseUint(m.Header.Get(jetstream.SequenceHeader), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("list %s: sequence: %w", prefix, err)
		}
		if op := m.Header.Get("KV-Operation"); op == "DEL" || op == "PURGE" {
			continue
		}
		out = append(out, coord.Entry{Key: strings.TrimPrefix(m.Header.Get(jetstream.SubjectHeader), subject), Value: m.Data, Revision: revision})
	}
}

// Conn returns the connection to the servers. Close closes it.
func (s *Store) Conn() *nats.Conn { return s.nc }

// Stream returns the name of the stream that keeps a bucket.
func Stream(bucket string) string { return "KV_" + bucket }

// Close is as coord.Store has it.
func (s *Store) Close() error {
	s.nc.Close()
	return nil
}
