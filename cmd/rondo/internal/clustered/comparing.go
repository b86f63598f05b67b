package clustered

import (
	"context"

	"github.com/rondo-db/rondo/engine/cluster/node"
	"github.com/rondo-db/rondo/engine/cluster/operate"
)

// comparing lets a node compare replicas. It is an operate.Replicas.
type comparing struct{ n *node.Node }

// Compare is as operate.Replicas has it.
func (c comparing) Compare(ctx context.Context, partition int) ([]operate.Digest, error) {
	all, err := c.n.Compare(ctx, partition)
	if err != nil {
		return nil, err
	}
	out := make([]operate.Digest, len(all))
	for i, d := range all {
		out[i] = operate.Digest{Node: d.Node, Leads: d.Leads, At: d.At, Sum: d.Sum, Err: d.Err}
	}
	return out, nil
}
