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

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/internal/natsconn"
)

// Any server that keeps the bucket may answer a read, and its replica may be behind. Every answer
// says how far it reaches: up to which revision of the bucket. A Store remembers the newest one
// that it has read or written, and asks again when an answer does not reach that far.

const (
	// maxAnswers is how many keys the servers give out at once.
	maxAnswers = 1024
	// lateFirst and lateLast bound the pause before a server is asked again, lateTries how often.
	lateFirst, lateLast = 5 * time.Millisecond, 100 * time.Millisecond
	lateTries           = 12
	// lateMost is how long answers may be older than what was seen. No replica is behind for so
	// long on several servers: then the bucket has lost what was seen, and counts as it is.
	lateMost = time.Minute
)

// errLate says that no answer was as new as what this process has seen before.
var errLate = errors.New("the servers answer with an older state than was seen before")

// learn takes in how far an answer reaches, and a key that the bucket had at a revision.
func (s *Store) learn(upto uint64, key string, at uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.late = time.Time{}
	s.known.revision = max(s.known.revision, upto, at)
	if key != "" && at >= s.known.at {
		s.known.key, s.known.at = key, at
	}
}

// A message is the newest one of a key: an entry, or a mark that the key was removed.
type message struct {
	coord.Entry
	removed bool
}

// An answer is what a server says to a read.
type answer struct {
	messages []message
	upto     uint64 // how far it reaches; 0: it does not say, and has nothing
}

// Get is as coord.Store has it.
func (s *Store) Get(ctx context.Context, key string) (coord.Entry, error) {
	m, err := s.get(ctx, key)
	if err != nil || m.removed {
		return coord.Entry{Key: key}, err
	}
	return m.Entry, nil
}

// get returns the newest message of a key; one without a message has revision 0.
func (s *Store) get(ctx context.Context, key string) (message, error) {
	all, err := s.read(ctx, key)
	if err != nil {
		return message{}, fmt.Errorf("read %s: %w", key, err)
	}
	for _, m := range all {
		if m.Key == key {
			return m, nil
		}
	}
	return message{Entry: coord.Entry{Key: key}}, nil
}

// List is as coord.Store has it. It asks for the newest message of each key: a consumer, by which
// the client would list keys, takes the servers long to make.
func (s *Store) List(ctx context.Context, prefix string) ([]coord.Entry, error) {
	all, err := s.read(ctx, prefix+">")
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", prefix, err)
	}
	var out []coord.Entry
	for _, m := range all {
		if !m.removed && strings.HasPrefix(m.Key, prefix) {
			out = append(out, m.Entry)
		}
	}
	slices.SortFunc(out, func(a, b coord.Entry) int { return cmp.Compare(a.Key, b.Key) })
	return out, nil
}

// read returns the newest messages of the keys that match a pattern, and perhaps one more. It asks
// again while the answer is older than what this Store has seen before the call. When that does
// not help, the connection moves to another server for the next call.
func (s *Store) read(ctx context.Context, pattern string) ([]message, error) {
	all, err := s.readNew(ctx, pattern)
	if err != nil {
		err = s.explain(ctx, err)
	}
	s.heard(read, err)
	return all, natsconn.Explain(s.nc, err)
}

func (s *Store) readNew(ctx context.Context, pattern string) ([]message, error) {
	s.mu.Lock()
	known := s.known
	s.mu.Unlock()
	pause := lateFirst
	for try := 1; ; try++ {
		a, err := s.ask(ctx, pattern, known.key)
		if err != nil {
			return nil, err
		}
		if a.upto >= known.revision {
			s.learn(a.upto, "", 0)
			for _, m := range a.messages {
				s.learn(0, m.Key, m.Revision)
			}
			return a.messages, nil
		}
		if try == lateTries {
			s.stillLate()
			return nil, fmt.Errorf("%w: up to revision %d, and not %d: look at the replicas of stream %s; if the bucket has lost what it had, it is believed after %v",
				errLate, a.upto, known.revision, Stream(s.bucket), s.most)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: up to revision %d, and not %d: %w", errLate, a.upto, known.revision, ctx.Err())
		}
		pause = min(2*pause, lateLast)
	}
}

// stillLate lets the connection go to another server, as a server answers by its own replica. When
// that has not helped for long, it forgets what was seen.
func (s *Store) stillLate() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	switch {
	case s.late.IsZero():
		s.late = now
	case now.Sub(s.late) >= s.most:
		s.known, s.late = known{}, time.Time{}
	}
	s.move(now)
}

// ask asks once for the newest message of each key that matches a pattern, and of one more key
// unless that is empty.
func (s *Store) ask(ctx context.Context, pattern, more string) (answer, error) {
	subjects := []string{s.subject(pattern)}
	if prefix, all := strings.CutSuffix(pattern, ">"); more != "" && more != pattern && (!all || !strings.HasPrefix(more, prefix)) {
		subjects = append(subjects, s.subject(more))
	}
	question, err := json.Marshal(map[string]any{"multi_last": subjects})
	if err != nil {
		return answer{}, err
	}
	inbox := s.nc.NewInbox()
	sub, err := s.nc.SubscribeSync(inbox)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = sub.Unsubscribe() }() // an error says that the connection is closed
	if err := sub.SetPendingLimits(maxAnswers+1, -1); err != nil {
		return answer{}, err
	}
	if err := s.nc.PublishRequest("$JS.API.DIRECT.GET."+Stream(s.bucket), inbox, question); err != nil {
		return answer{}, err
	}
	var a answer
	for range maxAnswers + 1 {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return answer{}, err
		}
		if m.Header.Get("Status") != "" {
			a.upto, err = end(m, len(a.messages))
			return a, err
		}
		x, err := s.decode(m)
		if err != nil {
			return answer{}, err
		}
		a.messages = append(a.messages, x)
	}
	return answer{}, fmt.Errorf("a server has answered with more than %d keys", maxAnswers)
}

// end reads the message that ends an answer with n messages, and returns how far it reaches; 0: it
// does not say.
func end(m *nats.Msg, n int) (upto uint64, err error) {
	status, description := m.Header.Get("Status"), m.Header.Get("Description")
	switch {
	case status == "404" && n == 0 && description == "No Results":
		return 0, nil
	case status != "204": // a 404 behind messages says that the server could not read one
		return 0, fmt.Errorf("a server answers with status %s %s behind %d keys", status, description, n)
	case m.Header.Get("Nats-Num-Pending") != "0":
		return 0, fmt.Errorf("a server answers with %d keys, and leaves %s out", n, m.Header.Get("Nats-Num-Pending"))
	}
	upto, err = strconv.ParseUint(m.Header.Get("Nats-UpTo-Sequence"), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("a server does not say how far its answer reaches: use nats-server 2.15.2 or later: %w", err)
	}
	return upto, nil
}

// decode reads a message of an answer.
func (s *Store) decode(m *nats.Msg) (message, error) {
	key, ok := strings.CutPrefix(m.Header.Get(jetstream.SubjectHeader), s.subject(""))
	if !ok {
		return message{}, fmt.Errorf("a server answers with the subject %q", m.Header.Get(jetstream.SubjectHeader))
	}
	revision, err := strconv.ParseUint(m.Header.Get(jetstream.SequenceHeader), 10, 64)
	if err != nil {
		return message{}, fmt.Errorf("sequence of %s: %w", key, err)
	}
	// The servers mark a key that they remove by themselves by the second header.
	op := m.Header.Get(headerOperation)
	removed := op == "DEL" || op == "PURGE" || op == "" && m.Header.Get(jetstream.MarkerReasonHeader) != ""
	e := coord.Entry{Key: key, Value: m.Data, Revision: revision}
	switch m.Header.Get(headerSum) {
	case sum(key, m.Data):
	case "":
		e.Bare = true
	default:
		e.Value, e.Damaged = nil, true
	}
	return message{e, removed}, nil
}

// subject returns the subject of a key, or of a pattern of keys.
func (s *Store) subject(key string) string { return "$KV." + s.bucket + "." + key }
