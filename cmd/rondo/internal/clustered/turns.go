package clustered

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/natskv"
	"github.com/rondo-db/rondo/cluster/operate"
	"github.com/rondo-db/rondo/cmd/rondo/internal/operator"
	"github.com/rondo-db/rondo/internal/natsconn"
)

const (
	keyTurns = "rules." // of the bucket; a hash of the group's name follows
	// maxTurnState bounds the state of a group, in bytes before it is packed.
	maxTurnState = 16 << 20
	// turnTime bounds how long the bucket is asked.
	turnTime = 5 * time.Second
)

// A turn says in the bucket which node evaluates a group of rules. Like the lease of a partition it
// holds as long as the node announces itself with this session.
type turn struct {
	Node    string `json:"node"` // empty: nobody
	Session string `json:"session"`
	Group   string `json:"group"`           // for people who look into the bucket
	State   []byte `json:"state,omitempty"` // gzip
}

// Turns decide which node evaluates a group of rules. The first node that has the group, and finds
// that nobody evaluates it, does so until it is gone or has the group no more. Turns are an
// alerts.Turns. Their methods may be called concurrently.
type Turns struct {
	store         coord.Store
	node, session string
	view          func() *coord.View

	mu   sync.Mutex        // guards what follows; not held while the bucket is asked
	has  map[string]bool   // the groups of this node
	held map[string]uint64 // revisions of the turns that are this node's
}

// Turns returns the turns of this node.
func (m *Member) Turns() *Turns { return newTurns(m.bucket, m.o.Node, m.node.Session(), m.node.View) }

func newTurns(s coord.Store, node, session string, view func() *coord.View) *Turns {
	return &Turns{store: s, node: node, session: session, view: view, has: make(map[string]bool), held: make(map[string]uint64)}
}

func turnKey(group string) string {
	sum := sha256.Sum256([]byte(group))
	return keyTurns + hex.EncodeToString(sum[:16])
}

// Have is as alerts.Turns has it. Release gives up what the node has no more.
func (t *Turns) Have(groups []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.has)
	for _, g := range groups {
		t.has[g] = true
	}
}

// Take is as alerts.Turns has it.
func (t *Turns) Take(ctx context.Context, group string) (mine bool, state []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, turnTime)
	defer cancel()
	e, err := t.store.Get(ctx, turnKey(group))
	if err != nil {
		return false, nil, err
	}
	var now turn
	if json.Unmarshal(e.Value, &now) != nil {
		now = turn{}
	}
	if state, err = unpack(now.State); err != nil {
		now.State = nil // it is of no use to anybody
	}
	if now.Node == t.node && now.Session == t.session {
		t.hold(group, e.Revision)
		return true, state, nil
	}
	if v := t.view(); v == nil {
		return false, state, nil
	} else if m := v.Members[now.Node]; m != nil && m.Live && !m.Stopping && m.Session == now.Session {
		return false, state, nil
	}
	err = t.write(ctx, group, now.State, e.Revision)
	if errors.Is(err, coord.ErrConflict) {
		return false, state, nil
	}
	if err != nil {
		return false, nil, err
	}
	return true, state, nil
}

// hold notes that a turn is this node's.
func (t *Turns) hold(group string, revision uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.held[group] = revision
}

// write writes, and notes, that this node evaluates a group.
func (t *Turns) write(ctx context.Context, group string, packed []byte, revision uint64) error {
	value, err := json.Marshal(turn{Node: t.node, Session: t.session, Group: group, State: packed})
	if err != nil {
		return err
	}
	if revision, err = t.store.CompareAndSet(ctx, turnKey(group), value, revision); err == nil {
		t.hold(group, revision)
	}
	return err
}

// Keep is as alerts.Turns has it. The error wraps coord.ErrConflict if another node evaluates the
// group meanwhile. A state that is too long is not kept, and neither is the one before.
func (t *Turns) Keep(ctx context.Context, group string, state []byte) error {
	ctx, cancel := context.WithTimeout(ctx, turnTime)
	defer cancel()
	t.mu.Lock()
	revision := t.held[group]
	t.mu.Unlock()
	packed, err := pack(state)
	if err == nil {
		if err = t.write(ctx, group, packed, revision); !errors.Is(err, coord.ErrTooLong) {
			return err
		}
	}
	return errors.Join(err, t.write(ctx, group, nil, revision))
}

// Release is as alerts.Turns has it.
func (t *Turns) Release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, turnTime)
	defer cancel()
	t.mu.Lock()
	var gone []string
	for g := range t.held {
		if !t.has[g] {
			gone = append(gone, g)
		}
	}
	t.mu.Unlock()
	for _, g := range gone {
		e, err := t.store.Get(ctx, turnKey(g))
		if err != nil {
			return err
		}
		var now turn
		if json.Unmarshal(e.Value, &now) == nil && now.Node == t.node && now.Session == t.session {
			now.Node, now.Session = "", ""
			value, err := json.Marshal(now)
			if err != nil {
				return err
			}
			if _, err := t.store.CompareAndSet(ctx, turnKey(g), value, e.Revision); err != nil && !errors.Is(err, coord.ErrConflict) {
				return err
			}
		}
		t.mu.Lock()
		delete(t.held, g)
		t.mu.Unlock()
	}
	return nil
}

func pack(state []byte) ([]byte, error) {
	if len(state) > maxTurnState {
		return nil, fmt.Errorf("the alerts take %d bytes, and %d are possible: other nodes begin them anew", len(state), maxTurnState)
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write(state)
	err = errors.Join(err, z.Close())
	return b.Bytes(), err
}

// unpack reads what pack has made; nil: nothing was kept.
func unpack(packed []byte) ([]byte, error) {
	if len(packed) == 0 {
		return nil, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	state, err := io.ReadAll(io.LimitReader(z, maxTurnState+1))
	if err == nil && len(state) > maxTurnState {
		err = errors.New("it is too long")
	}
	if err != nil {
		return nil, err
	}
	return state, nil
}

// Operators returns the service for operators of the cluster.
func (m *Member) Operators() *operator.Service {
	look := func(context.Context) (*coord.View, error) { return m.node.View(), nil }
	return &operator.Service{
		Operator: &operate.Operator{Store: m.bucket, Look: look},
		Name:     m.o.Name, Node: m.o.Node, Stream: m.o.stream, Blind: m.node.Blind, Replicas: m.node,
		Settles: m.node.Settles, Unheard: m.node.Unheard,
		LogServers: m.surveyor.known,
	}
}

// Outside returns the service for operators of a cluster that this process is no part of, and a
// function that ends it. It makes no cluster.
func Outside(ctx context.Context, s Servers) (*operator.Service, func() error, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*connectTime)
	defer cancel()
	bucket, err := s.existing(ctx)
	switch {
	case errors.Is(err, natskv.ErrNoBucket):
		return nil, nil, fmt.Errorf("--cluster %s: the servers have no cluster %s: --cluster-name names another one; if they have lost it, rondo cluster mend --map FOLDER writes its map again", natsconn.Redacted(s.URL), s.Name)
	case err != nil:
		return nil, nil, fmt.Errorf("--cluster: %w", err)
	}
	y, err := startSurveyor(&s, bucket, nil)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("--cluster: %w", err), bucket.Close())
	}
	end := func() error {
		y.close()
		return bucket.Close()
	}
	return &operator.Service{
		Operator: &operate.Operator{Store: bucket, Look: operate.NewObserver(bucket, coord.Times{}, nil).Look},
		Name:     s.Name, Stream: s.stream, LogServers: y.first,
	}, end, nil
}
