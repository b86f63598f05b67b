package natskv

import (
	"context"
	"errors"
	"fmt"
	"time"

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

// prepare finds the bucket, or makes it unless it is lost, and checks it.
func (s *Store) prepare(ctx context.Context, isLost func(context.Context) (bool, error)) error {
	want := replicas
	if s.o.AcceptFewerReplicas {
		want = 1
	}
	found, err := s.js.KeyValue(ctx, s.bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		if lost, err := isLost(ctx); err != nil || lost || s.o.MustExist {
			return errors.Join(ErrNoBucket, err)
		}
		found, err = s.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket: s.bucket, Description: "what the nodes of a cluster of rondo tell each other", Storage: jetstream.FileStorage, Replicas: want,
		})
	}
	if e, ok := errors.AsType[*jetstream.APIError](err); ok && e.ErrorCode == codeAlone {
		return fmt.Errorf("%w: the server of NATS is in no cluster of servers, and %d are to keep it: give each a cluster { name, listen, routes }, or accept one server, to try it (--cluster-accept one-server)", ErrUnfit, want)
	}
	if err != nil {
		return err
	}
	status, err := found.Status(ctx)
	if err != nil {
		return err
	}
	kv, ok := status.(*jetstream.KeyValueBucketStatus)
	if !ok {
		return fmt.Errorf("the client describes it as a %T", status)
	}
	s.is(kv.StreamInfo().Created)
	switch c := kv.StreamInfo().Config; {
	case c.Replicas < want:
		return fmt.Errorf("%w: its num_replicas is %d: set %d, so that the loss of a server does not lose the map of partitions, or accept one server, to try it (--cluster-accept one-server)", ErrUnfit, c.Replicas, want)
	case c.Storage != jetstream.FileStorage:
		return fmt.Errorf("%w: its storage is %v: set file, so that the map of partitions outlives the servers' processes", ErrUnfit, c.Storage)
	case c.MaxAge != 0:
		return fmt.Errorf("%w: its max_age is %v: set none, so that the map of partitions does not vanish", ErrUnfit, c.MaxAge)
	case !c.AllowDirect:
		return fmt.Errorf("%w: its allow_direct is off: set it on, because the bucket is read so", ErrUnfit)
	}
	return nil
}

// Beside reports whether the servers have the stream of Options.Beside.
func (s *Store) Beside(ctx context.Context) (bool, error) {
	if s.o.Beside == "" {
		return false, nil
	}
	_, err := s.js.Stream(ctx, s.o.Beside)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return false, nil
	}
	return err == nil, err
}

// known is what a Store has seen of its bucket.
type known struct {
	revision uint64 // the newest one of the bucket; 0: none
	// key is a key that the bucket had at a late revision. Every read asks for it too: a read that
	// finds nothing does not say how far it reaches.
	key string
	at  uint64 // the revision of key
}

// Somebody may delete the bucket while nodes run. Reads then get no answer, as they do while the
// servers choose a leader. So a Store whose read has failed asks the leader of all servers, which
// knows what streams there are. It makes the bucket again once that one has said often enough that
// there is none. Nodes then write again what they know.

const (
	// goneEvery is the time between two questions whether there is a bucket, goneTimes how often
	// the answer must be no before it is made again. A leader that was just chosen may not know
	// all streams yet.
	goneEvery = time.Second
	goneTimes = 10
)

// gone is what a Store knows of whether its bucket was deleted.
type gone struct {
	created time.Time // when the bucket that is read was made
	asked   time.Time // when the servers were asked last
	times   int       // they have said in a row that there is no bucket
}

// errGone says that the bucket was deleted.
var errGone = fmt.Errorf("the bucket was deleted: %w", ErrNoBucket)

// explain returns why a read has failed with err, if the servers know a better reason: the bucket
// was deleted, or is another one than before. It does what is due then.
func (s *Store) explain(ctx context.Context, err error) error {
	s.mu.Lock()
	now := time.Now()
	ask := !s.o.MustExist && now.Sub(s.gone.asked) >= s.every && ctx.Err() == nil
	if ask {
		s.gone.asked = now
	}
	gone := s.gone.times > 0
	s.mu.Unlock()
	switch {
	case ask:
	case gone:
		return errGone
	default:
		return err
	}
	b, failed := s.js.Stream(ctx, Stream(s.bucket))
	switch {
	case failed == nil:
		if s.is(b.CachedInfo().Created) {
			return fmt.Errorf("the bucket was deleted and made again, and is read anew: %w", err)
		}
		return err
	case !errors.Is(failed, jetstream.ErrStreamNotFound):
		s.absent(false)
		return err
	case s.absent(true) < s.times:
		return errGone
	}
	again := func(context.Context) (bool, error) { return false, nil }
	if failed := s.prepare(ctx, again); failed != nil { // which calls is
		return fmt.Errorf("%w: %w", errGone, failed)
	}
	s.o.Logger.Error("the bucket of the cluster was deleted; it is made again, and the nodes write again what they know", "bucket", s.bucket)
	return errGone // the next read shows it
}

// absent takes in that there is no bucket, or that this is not known. It returns how often there
// was none in a row.
func (s *Store) absent(yes bool) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone.times++; !yes {
		s.gone.times = 0
	}
	return s.gone.times
}

// is takes in when the bucket was made. It reports whether that is another one than before. Then
// its revisions have begun anew.
func (s *Store) is(created time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.gone.created
	s.gone.created, s.gone.times = created, 0
	if was.IsZero() || was.Equal(created) {
		return false
	}
	s.known, s.late = known{}, time.Time{}
	return true
}
