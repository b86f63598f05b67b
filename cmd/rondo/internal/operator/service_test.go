package operator_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/coord/coordtest"
	"github.com/rondo-db/rondo/cluster/operate"
	"github.com/rondo-db/rondo/cluster/placement"
	"github.com/rondo-db/rondo/cmd/rondo/internal/operator"
	"github.com/rondo-db/rondo/internal/access"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/wal/jetstream"
)

// view is a cluster of two partitions on two nodes. Node b says odd things of itself.
func view() *coord.View {
	v := &coord.View{
		MapRevision: 1, Members: make(map[string]*coord.Seen),
		Map:    placement.Map{Version: 3, Replicas: 2, Partitions: []placement.Partition{{Nodes: []string{"a", "b"}}, {Nodes: []string{"b", "a"}, Held: true}}},
		Leases: []coord.Lease{{Node: "a", Session: "s"}, {Node: "b", Session: "s"}},
	}
	for i, name := range []string{"a", "b"} {
		m := &coord.Seen{Live: true, Member: coord.Member{Name: name, Session: "s", Address: name + ":1", Version: "v"}}
		for p := range 2 {
			m.Partitions = append(m.Partitions, coord.Standing{Partition: p, Position: 9, Checkpoint: 4, Current: true, Leads: p == i})
		}
		v.Members[name] = m
	}
	v.Members["b"].Version, v.Members["b"].Zone = "v\xff", "\xfe"
	v.Members["b"].Partitions[0].Quarantine = "it differs \xff"
	return v
}

func service() *operator.Service {
	servers := coordtest.New(time.Now, 0)
	return &operator.Service{
		Name: "main", Node: "a", Stream: func(p int) string { return "log" + string(rune('0'+p)) },
		Operator: &operate.Operator{Store: servers.Truth(), Look: func(context.Context) (*coord.View, error) { return view(), nil }, Pause: time.Millisecond},
	}
}

// calls makes every call of the service, as the user of ctx.
func calls(ctx context.Context, s *operator.Service) map[string]error {
	all := make(map[string]error)
	_, all["State"] = s.State(ctx, &rondov1.ClusterStateRequest{})
	_, all["Move"] = s.Move(ctx, &rondov1.MoveRequest{Partition: 7, From: "a", To: "b"})
	_, all["Lead"] = s.Lead(ctx, &rondov1.LeadRequest{Partition: 7, Node: "a"})
	_, all["Release"] = s.Release(ctx, &rondov1.ReleaseRequest{Partition: 7})
	_, all["Drain"] = s.Drain(ctx, &rondov1.DrainRequest{Node: "x"})
	return all
}

// TestWhoMayOperate: who is limited to folders is refused everything, and only admins change
// something. A server that is no node refuses all.
func TestWhoMayOperate(t *testing.T) {
	for _, u := range []*access.User{{Name: "r", Role: access.Read}, {Name: "w", Role: access.Write}, {Name: "a", Role: access.Admin}, {Name: "l", Role: access.Admin, Folders: []string{"x"}}} {
		for call, err := range calls(access.With(t.Context(), u), service()) {
			want := connect.CodeNotFound
			switch {
			case u.Limited() || u.Role < access.Admin && call != "State":
				want = connect.CodePermissionDenied
			case call == "State":
				want = 0
			}
			if got := connect.CodeOf(err); err == nil && want != 0 || err != nil && got != want {
				t.Errorf("%s as %s: %v, want %v", call, u, err, want)
			}
		}
	}
	for call, err := range calls(t.Context(), &operator.Service{}) {
		if connect.CodeOf(err) != connect.CodeFailedPrecondition || !strings.Contains(err.Error(), "this server is no node of a cluster") {
			t.Errorf("%s without a cluster: %v", call, err)
		}
	}
}

// TestStateMessage: what nodes say of themselves goes through the RPC, whatever it is.
func TestStateMessage(t *testing.T) {
	s := service()
	s.Blind = func() (time.Duration, error) { return 7 * time.Second, coord.ErrMapLost }
	s.LogServers = func(context.Context) *operate.LogServers {
		return &operate.LogServers{Servers: []jetstream.ServerHealth{{Name: "n\xff", Problem: "is silent"}}}
	}
	m, err := s.State(t.Context(), &rondov1.ClusterStateRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if m.GetName() != "main" || m.GetNode() != "a" || m.GetWhole() || m.GetReplicas() != 2 || m.GetMapVersion() != 3 {
		t.Errorf("%v", m)
	}
	if b := m.GetNodes()[1]; b.GetVersion() != "v\uFFFD" || b.GetZone() != "\uFFFD" || b.GetState() != "live" || b.GetLeads() != 1 {
		t.Errorf("node b: %v", b)
	}
	p := m.GetPartitions()
	if len(p) != 2 || p[1].GetStream() != "log1" || !p[1].GetHeld() || p[0].GetLeader() != "a" {
		t.Errorf("partitions: %v", p)
	}
	if r := p[0].GetReplicas()[1]; r.GetState() != "quarantined" || r.GetReason() != "it differs \uFFFD" || r.GetPosition() != 9 || r.GetCheckpoint() != 4 {
		t.Errorf("replica: %v", r)
	}
	if first := m.GetProblems()[0]; first.GetSeverity() != "error" {
		t.Errorf("problems: %v", m.GetProblems())
	}
	var all strings.Builder
	for _, x := range m.GetProblems() {
		all.WriteString(x.GetText() + "\n")
	}
	if !strings.Contains(all.String(), "node a could not look at the cluster for 7s, so this is old") || !strings.Contains(all.String(), "nats-server n\uFFFD is silent\n") {
		t.Errorf("problems: %s", all.String())
	}
	if (&operator.Service{}).Status(t.Context()) != nil {
		t.Error("a server that is no node has a cluster")
	}
}

// compared answers with digests.
type compared struct{}

func (compared) Compare(_ context.Context, partition int) ([]coord.Digest, error) {
	return []coord.Digest{{Node: "a", Leads: true, At: 5, Sum: 1}, {Node: "b", At: 5, Sum: uint64(partition)}, {Node: "c", Err: errors.New("gone")}}, nil
}

func TestCheckReplicas(t *testing.T) {
	s := service()
	_, h := rondov1.NewClusterHandler(s)
	server := httptest.NewServer(h)
	defer server.Close()
	client := rondov1.NewClusterClient(server.Client(), server.URL)
	check := func(req *rondov1.CheckReplicasRequest) (all []*rondov1.CheckReplicasResponse, err error) {
		stream, err := client.CheckReplicas(t.Context(), req)
		if err != nil {
			return nil, err
		}
		defer func() { _ = stream.Close() }()
		for stream.Receive() {
			all = append(all, stream.Msg())
		}
		return all, stream.Err()
	}
	if _, err := check(&rondov1.CheckReplicasRequest{}); connect.CodeOf(err) != connect.CodeFailedPrecondition || !strings.Contains(err.Error(), "replicas are compared by a node") {
		t.Errorf("without replicas: %v", err)
	}
	s.Replicas = compared{}
	all, err := check(&rondov1.CheckReplicasRequest{})
	if err != nil || len(all) != 2 || !all[0].GetDiffers() || all[1].GetDiffers() || all[1].GetPartition() != 1 || all[1].GetPosition() != 5 {
		t.Fatalf("%v, %v", all, err)
	}
	if r := all[1].GetReplicas(); r[0].GetDigest() != "0000000000000001" || r[2].GetDigest() != "" || r[2].GetReason() != "gone" || all[1].GetProblem() != "the replica of node c was not compared" {
		t.Errorf("%v", all[1])
	}
	for _, x := range []struct {
		req  *rondov1.CheckReplicasRequest
		code connect.Code
	}{
		{&rondov1.CheckReplicasRequest{Partitions: []int32{2}}, connect.CodeNotFound},
		{&rondov1.CheckReplicasRequest{Partitions: []int32{-1}}, connect.CodeNotFound},
		{&rondov1.CheckReplicasRequest{Partitions: make([]int32, 1000)}, connect.CodeInvalidArgument},
		{&rondov1.CheckReplicasRequest{TimeoutSeconds: -1}, connect.CodeInvalidArgument},
		{&rondov1.CheckReplicasRequest{TimeoutSeconds: 1e9}, connect.CodeInvalidArgument},
	} {
		if all, err := check(x.req); connect.CodeOf(err) != x.code || len(all) > 0 {
			t.Errorf("%v: %v, %v", x.req, all, err)
		}
	}
}
