package cluster

import (
	"context"
	"testing"
	"time"

	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// A hangingAPI is a node that never answers.
type hangingAPI struct{ rondov1.ClusterCalls }

func (hangingAPI) State(ctx context.Context, _ *rondov1.ClusterStateRequest) (*rondov1.ClusterState, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// A command whose --timeout is over names that flag. It said "context deadline exceeded".
func TestClusterTimeoutIsNamed(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	err := new(operating).poll(ctx, hangingAPI{}, nil)
	if want := "not done within --timeout; the nodes go on"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
