package natskv

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

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
	// set: then the error wraps ErrNoBucket.
	Bucket    string
	MustExist bool
	// Beside is a stream that a cluster has; empty: it does not matter. While the servers have it,
	// Connect makes no bucket that is missing, as if MustExist were set.
	Beside string
	// Logger gets what servers refuse; nil: it is not logged.
	Logger *slog.Logger
	// AcceptFewerReplicas accepts a bucket on one server, and makes such a bucket. It is for tests.
	AcceptFewerReplicas bool
}

// Store is a connection to a bucket. Get and List ask the bucket's leader.
type Store struct {
	nc     *nats.Conn
	js     jetstream.JetStream
	stream jetstream.Stream // that keeps the bucket
	kv     jetstream.KeyValue
	bucket string
	beside string
	hop    natsconn.Hop
	watch  *watch
}

var _ coord.Store = (*Store)(nil)

// Connect connects to the servers, and makes the bucket if it is missing. It does not check how the
// servers sync: they also keep the logs, and jetstream.Connect checks them.
func Connect(ctx context.Context, o Options) (*Store, error) {
	nc, err := natsconn.Connect(o.URL, o.Logger, o.Connect...)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", natsconn.Redacted(o.URL), err)
	}
	s := &Store{nc: nc, bucket: o.Bucket, beside: o.Beside}
	if s.js, err = jetstream.New(nc); err == nil {
		err = s.prepare(ctx, &o)
	}
	if err != nil {
		err = natsconn.Explain(nc, err)
		nc.Close()
		return nil, fmt.Errorf("bucket %s: %w", o.Bucket, err)
	}
	s.watch = newWatch(s.kv)
	return s, nil
}

// Get is as coord.Store has it.
func (s *Store) Get(ctx context.Context, key string) (coord.Entry, error) {
	e, err := s.kv.Get(ctx, key)
	none := errors.Is(err, jetstream.ErrKeyNotFound)
	if none {
		err = nil
	}
	if err = s.answered("read "+key, err); err != nil || none {
		return coord.Entry{Key: key}, err
	}
	return coord.Entry{Key: key, Value: e.Value(), Revision: e.Revision()}, nil
}

// List is as coord.Store has it. It asks the leader for the newest revision, and waits until the
// client's Watch has brought that.
func (s *Store) List(ctx context.Context, prefix string) (all []coord.Entry, err error) {
	m, err := s.stream.GetLastMsgForSubject(ctx, "$KV."+s.bucket+"."+watched)
	if err == nil {
		all, err = s.watch.list(ctx, prefix, m.Sequence)
	} else if errors.Is(err, jetstream.ErrMsgNotFound) {
		err = nil
	}
	return all, s.answered("list "+prefix, err)
}

// CompareAndSet is as coord.Store has it.
func (s *Store) CompareAndSet(ctx context.Context, key string, value []byte, revision uint64) (rev uint64, err error) {
	if revision == 0 {
		rev, err = s.kv.Create(ctx, key, value)
	} else {
		rev, err = s.kv.Update(ctx, key, value, revision)
	}
	return rev, s.answered("set "+key, err)
}

// Delete is as coord.Store has it.
func (s *Store) Delete(ctx context.Context, key string, revision uint64) error {
	return s.answered("remove "+key, s.kv.Delete(ctx, key, jetstream.LastRevision(revision)))
}

// answered notes that a server has answered a call, or has not, and returns what the call's error
// means to a caller.
func (s *Store) answered(what string, err error) error {
	const wrongLast, wrongLast2, tooLong, noStream = 10071, 10164, 10054, 10059
	api, ok := errors.AsType[*jetstream.APIError](err)
	s.hop.Heard(s.nc, err == nil || ok && api.Code != 503 || errors.Is(err, nats.ErrMaxPayload) || errors.Is(err, context.Canceled))
	switch {
	case err == nil:
		return nil
	case errors.Is(err, nats.ErrMaxPayload), ok && api.ErrorCode == tooLong:
		err = fmt.Errorf("%w: %w", coord.ErrTooLong, err)
	case ok && (api.ErrorCode == wrongLast || api.ErrorCode == wrongLast2):
		err = fmt.Errorf("%w: %w", coord.ErrConflict, err)
	case ok && api.ErrorCode == noStream:
		err = fmt.Errorf("%w: bucket %s: %w", coord.ErrMapLost, s.bucket, ErrNoBucket)
	}
	return fmt.Errorf("%s: %w", what, natsconn.Explain(s.nc, err))
}

// Conn returns the connection to the servers. Close closes it.
func (s *Store) Conn() *nats.Conn { return s.nc }

// Close is as coord.Store has it.
func (s *Store) Close() error {
	s.watch.close()
	s.nc.Close()
	return nil
}

// ErrNoBucket says that the servers have no bucket of a name.
var ErrNoBucket = errors.New("it does not exist")

// ErrUnfit says that the servers cannot keep the bucket, or keep it with settings that lose it,
// until somebody changes that.
var ErrUnfit = errors.New("the bucket cannot be kept there")

// codeAlone is nats-server's, of a server in no cluster that is to keep several replicas.
const codeAlone = 10074

// replicas is how many servers keep a bucket.
const replicas = 3

// Stream returns the name of the stream that keeps a bucket.
func Stream(bucket string) string { return "KV_" + bucket }

// prepare finds the bucket, or makes it, and checks it.
func (s *Store) prepare(ctx context.Context, o *Options) error {
	want := replicas
	if o.AcceptFewerReplicas {
		want = 1
	}
	name := Stream(o.Bucket)
	found, err := s.js.Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		if lost, err := s.Beside(ctx); err != nil || lost || o.MustExist {
			return errors.Join(ErrNoBucket, err)
		}
		// As the client's CreateKeyValue makes it, but that its leader alone answers.
		found, err = s.js.CreateStream(ctx, jetstream.StreamConfig{
			Name: name, Description: "what the nodes of a cluster of rondo tell each other", Subjects: []string{"$KV." + o.Bucket + ".>"},
			MaxMsgsPerSubject: 1, Discard: jetstream.DiscardNew, AllowRollup: true, DenyDelete: true, Storage: jetstream.FileStorage, Replicas: want,
		})
	}
	if e, ok := errors.AsType[*jetstream.APIError](err); ok && e.ErrorCode == codeAlone {
		return fmt.Errorf("%w: the server of NATS is in no cluster of servers, and %d are to keep it: give each a cluster { name, listen, routes }, or accept one server, to try it (--cluster-accept one-server)", ErrUnfit, want)
	}
	if err != nil {
		return err
	}
	switch c := found.CachedInfo().Config; {
	case c.Replicas < want:
		return fmt.Errorf("%w: its num_replicas is %d: set %d, so that the loss of a server does not lose the map of partitions, or accept one server, to try it (--cluster-accept one-server)", ErrUnfit, c.Replicas, want)
	case c.Storage != jetstream.FileStorage:
		return fmt.Errorf("%w: its storage is %v: set file, so that the map of partitions outlives the servers' processes", ErrUnfit, c.Storage)
	case c.MaxAge != 0:
		return fmt.Errorf("%w: its max_age is %v: set none, so that the map of partitions does not vanish", ErrUnfit, c.MaxAge)
	case c.AllowDirect:
		return fmt.Errorf("%w: its allow_direct is on: set it off, because a replica that is behind would answer", ErrUnfit)
	}
	s.stream = found
	s.kv, err = s.js.KeyValue(ctx, o.Bucket)
	return err
}

// Beside reports whether the servers have the stream of Options.Beside.
func (s *Store) Beside(ctx context.Context) (bool, error) {
	if s.beside == "" {
		return false, nil
	}
	_, err := s.js.Stream(ctx, s.beside)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return false, nil
	}
	return err == nil, err
}
