package operator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/cluster/operate"
	"github.com/rondo-db/rondo/internal/access"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// A Service answers operators of one cluster. The zero value belongs to a server that is no node:
// it refuses everything.
type Service struct {
	// Operator looks at the cluster and changes it; nil: there is no cluster.
	Operator *operate.Operator
	// Name is the name of the cluster, and Node the name of the node that answers; empty: none.
	Name, Node string
	// Stream returns the name of the stream of a partition.
	Stream func(partition int) string
	// Replicas are asked for digests; nil: they cannot be asked.
	Replicas operate.Replicas
	// LogServers returns what is known of the servers that keep the logs, or nil; nil: they are not
	// asked.
	LogServers func(ctx context.Context) *operate.LogServers
	// Blind returns for how long the cluster could not be looked at, and why; nil: it can.
	Blind func() (time.Duration, error)
	// Settles returns how long it takes until the node that answers knows which others are silent,
	// 0 if it does; nil: it does.
	Settles func() time.Duration
	// Unheard returns why the node that answers cannot announce itself; nil: it can.
	Unheard func() error
}

var _ rondov1.ClusterHandler = (*Service)(nil)

// Most and default of how long the replicas of one partition may take for a check.
const (
	checkTime     = 10 * time.Minute
	mostCheckTime = 24 * time.Hour
)

var (
	errNoNode = errors.New("this server is no node of a cluster: rondo serve --cluster makes it one")
	errNobody = errors.New("replicas are compared by a node: --daemon http://HOST:PORT names one")
)

// admit refuses users who may not do what they ask for, and whatever is asked of a server without
// a cluster.
func (s *Service) admit(ctx context.Context, role access.Role) error {
	u := access.From(ctx)
	err := u.NeedAll()
	if err == nil {
		err = u.Need(role)
	}
	switch {
	case err != nil:
		return connect.NewError(connect.CodePermissionDenied, err)
	case s.Operator == nil:
		return connect.NewError(connect.CodeFailedPrecondition, errNoNode)
	}
	return nil
}

// State returns the state of the cluster.
func (s *Service) State(ctx context.Context, _ *rondov1.ClusterStateRequest) (*rondov1.ClusterState, error) {
	if err := s.admit(ctx, access.Read); err != nil {
		return nil, err
	}
	st, err := s.Look(ctx)
	if err != nil {
		return nil, coded(err)
	}
	return s.message(st), nil
}

// Look returns the state of the cluster.
func (s *Service) Look(ctx context.Context) (*operate.State, error) {
	v, err := s.Operator.Look(ctx)
	if err != nil {
		return nil, err
	}
	if v == nil {
		return nil, errors.New("the node has not looked at the cluster yet: try again")
	}
	st := operate.StateOf(v)
	if s.LogServers != nil {
		st.AddLogServers(s.LogServers(ctx))
	}
	if s.Unheard != nil {
		if err := s.Unheard(); err != nil {
			st.Unheard(s.Node, err)
		}
	}
	if s.Settles != nil {
		if d := s.Settles(); d > 0 {
			st.Add(operate.Warning, "node %s has just started: it takes another %v until it knows which nodes are silent", s.Node, d.Round(100*time.Millisecond))
		}
	}
	if s.Blind != nil {
		if d, err := s.Blind(); d > blindTime {
			st.Add(operate.Error, "node %s could not look at the cluster for %v, so this is old: %v", s.Node, d.Round(time.Second), err)
		}
	}
	return st, nil
}

// Status returns the state of the cluster as far as it is known; nil without a cluster.
func (s *Service) Status(ctx context.Context) *rondov1.ClusterState {
	if s.Operator == nil {
		return nil
	}
	st, err := s.Look(ctx)
	if err != nil {
		st = &operate.State{}
		st.Add(operate.Error, "%v", err)
	}
	return s.message(st)
}

// blindTime is for how long a node may be unable to look at the cluster before that is a problem.
const blindTime = 6 * time.Second

// Move begins to move a replica.
func (s *Service) Move(ctx context.Context, m *rondov1.MoveRequest) (*rondov1.MoveResponse, error) {
	out := new(rondov1.MoveResponse)
	return changed(ctx, s, out, func() (err error) {
		out.Note, err = s.Operator.Move(ctx, int(m.GetPartition()), m.GetFrom(), m.GetTo())
		return err
	})
}

// changed returns an answer if a user may change the cluster, and do does it.
func changed[T any](ctx context.Context, s *Service, answer *T, do func() error) (*T, error) {
	if err := s.admit(ctx, access.Admin); err != nil {
		return nil, err
	}
	if err := do(); err != nil {
		return nil, coded(err)
	}
	return answer, nil
}

// Lead makes a replica the preferred leader.
func (s *Service) Lead(ctx context.Context, req *rondov1.LeadRequest) (*rondov1.LeadResponse, error) {
	return changed(ctx, s, new(rondov1.LeadResponse), func() error {
		return s.Operator.Lead(ctx, int(req.GetPartition()), req.GetNode())
	})
}

// Release ends that a partition is held.
func (s *Service) Release(ctx context.Context, req *rondov1.ReleaseRequest) (*rondov1.ReleaseResponse, error) {
	return changed(ctx, s, new(rondov1.ReleaseResponse), func() error { return s.Operator.Release(ctx, int(req.GetPartition())) })
}

// Drain moves all replicas of a node to others.
func (s *Service) Drain(ctx context.Context, m *rondov1.DrainRequest) (*rondov1.DrainResponse, error) {
	return changed(ctx, s, new(rondov1.DrainResponse), func() error {
		switch {
		case m.GetUndo() && m.GetForget():
			return connect.NewError(connect.CodeInvalidArgument, errors.New("undo and forget contradict each other"))
		case m.GetUndo():
			return s.Operator.Undrain(ctx, m.GetNode())
		case m.GetForget():
			return s.Operator.Forget(ctx, m.GetNode())
		}
		return s.Operator.Drain(ctx, m.GetNode())
	})
}

// CheckReplicas compares replicas.
func (s *Service) CheckReplicas(ctx context.Context, req *rondov1.CheckReplicasRequest, stream *connect.ServerStream[rondov1.CheckReplicasResponse]) error {
	if err := s.admit(ctx, access.Admin); err != nil {
		return err
	}
	if s.Replicas == nil {
		return connect.NewError(connect.CodeFailedPrecondition, errNobody)
	}
	bound := time.Duration(req.GetTimeoutSeconds() * float64(time.Second))
	switch {
	case !(req.GetTimeoutSeconds() >= 0 && req.GetTimeoutSeconds() <= mostCheckTime.Seconds()):
		return connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("timeout_seconds: want 0 to %.0f", mostCheckTime.Seconds()))
	case bound == 0:
		bound = checkTime
	}
	partitions := req.GetPartitions()
	st, err := s.Look(ctx)
	if err != nil {
		return coded(err)
	}
	switch {
	case len(st.Partitions) == 0:
		return connect.NewError(connect.CodeFailedPrecondition, errors.New("there is no cluster yet: nobody has made the map of partitions"))
	case len(partitions) > len(st.Partitions):
		return connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("partitions: %d are named, and the cluster has %d", len(partitions), len(st.Partitions)))
	case len(partitions) == 0:
		for p := range st.Partitions {
			partitions = append(partitions, int32(p))
		}
	}
	for _, p := range partitions {
		if err := access.Again(ctx); err != nil {
			return connect.NewError(connect.CodePermissionDenied, err)
		}
		one, cancel := context.WithTimeout(ctx, bound)
		c, err := s.Operator.Compare(one, s.Replicas, int(p))
		cancel()
		if err != nil {
			return coded(err)
		}
		if err := stream.Send(comparison(c)); err != nil {
			return err
		}
	}
	return nil
}

func coded(err error) error {
	code := connect.CodeUnavailable
	switch e := (*connect.Error)(nil); {
	case errors.As(err, &e):
		return err
	case errors.Is(err, operate.ErrUnknown):
		code = connect.CodeNotFound
	case errors.Is(err, operate.ErrRefused):
		code = connect.CodeFailedPrecondition
	case errors.Is(err, context.Canceled):
		code = connect.CodeCanceled
	case errors.Is(err, context.DeadlineExceeded):
		code = connect.CodeDeadlineExceeded
	}
	return connect.NewError(code, err)
}

// message returns a state as the RPC has it. What other nodes say of themselves may be anything.
func (s *Service) message(st *operate.State) *rondov1.ClusterState {
	out := &rondov1.ClusterState{
		Name: s.Name, Node: s.Node, Whole: st.Whole(), Replicas: int32(st.Replicas), MapVersion: st.MapVersion,
	}
	for _, p := range st.Problems {
		out.Problems = append(out.Problems, &rondov1.ClusterProblem{Severity: p.Severity.String(), Text: valid(p.Text)})
	}
	for i := range st.Nodes {
		n := &st.Nodes[i]
		x := &rondov1.ClusterNode{
			Name: valid(n.Name), Address: valid(n.Address), Version: valid(n.Version), Zone: valid(n.Zone), State: string(n.State),
			SilentSeconds: n.Silent.Seconds(), Leads: int32(n.Leads), Replicas: int32(n.Replicas), Current: int32(n.Current), Lag: n.Lag,
		}
		if !n.Started.IsZero() {
			x.StartedUs = n.Started.UnixMicro()
		}
		out.Nodes = append(out.Nodes, x)
	}
	for i := range st.Partitions {
		out.Partitions = append(out.Partitions, s.partition(i, &st.Partitions[i]))
	}
	return out
}

func (s *Service) partition(i int, p *operate.Partition) *rondov1.ClusterPartition {
	x := &rondov1.ClusterPartition{Number: int32(i), Leader: p.Leader, Held: p.Held, Problem: valid(p.Problem)}
	if s.Stream != nil {
		x.Stream = s.Stream(i)
	}
	if p.Move != nil {
		x.MoveTo, x.MoveFrom = p.Move.To, p.Move.From
	}
	for _, r := range p.Replicas {
		x.Replicas = append(x.Replicas, &rondov1.ClusterReplica{
			Node: r.Node, State: string(r.State), Position: uint64(r.Position), Checkpoint: uint64(r.Checkpoint), Lag: r.Lag, Reason: valid(r.Reason),
		})
	}
	return x
}

// comparison returns the outcome of a comparison as the RPC has it.
func comparison(c *operate.Comparison) *rondov1.CheckReplicasResponse {
	out := &rondov1.CheckReplicasResponse{
		Partition: int32(c.Partition), Position: uint64(c.Position), Problem: valid(c.Problem), Differs: c.Differs,
	}
	for _, d := range c.Digests {
		x := &rondov1.ReplicaDigest{Node: d.Node, Leads: d.Leads}
		if d.Err != nil {
			x.Reason = valid(d.Err.Error())
		} else {
			x.Digest = fmt.Sprintf("%016x", d.Sum)
		}
		out.Replicas = append(out.Replicas, x)
	}
	return out
}

// valid returns text as messages may have it.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
