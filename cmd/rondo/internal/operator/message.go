package operator

import (
	"fmt"
	"strings"

	"github.com/rondo-db/rondo/cluster/operate"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

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
