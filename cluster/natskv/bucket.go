package natskv

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

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
