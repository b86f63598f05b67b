package clustered

import (
	"context"
	"errors"
	"fmt"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/natskv"
	"github.com/rondo-db/rondo/cluster/operate"
	"github.com/rondo-db/rondo/cmd/rondo/internal/operator"
	"github.com/rondo-db/rondo/internal/natsconn"
)

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
