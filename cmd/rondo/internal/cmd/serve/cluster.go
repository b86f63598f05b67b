package serve

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/cmd/rondo/internal/clustered"
	"github.com/rondo-db/rondo/cmd/rondo/internal/clusterflags"
)

// nodeFlags are the flags with which a server is a node.
type nodeFlags struct {
	clusterflags.Flags
	clusterflags.PeerFlags
	node  clustered.Options
	spool cli.ByteSize
}

func (c *nodeFlags) addFlags(f *pflag.FlagSet) {
	c.Flags.AddFlags(f)
	f.IntVar(&c.node.Partitions, "cluster-partitions", clustered.DefaultPartitions, "`number` of partitions of a cluster that is made; it never changes")
	f.IntVar(&c.node.Replicas, "cluster-replicas", clustered.DefaultReplicas, "`number` of nodes that keep each partition of a cluster that is made")
	f.StringVar(&c.node.Listen, "cluster-listen", clustered.DefaultListen, "`address` where other nodes are listened for")
	c.PeerFlags.AddFlags(f)
	f.StringVar(&c.node.Node, "node", "", "`name` of this node in the cluster; default: the host's name")
	f.StringVar(&c.node.Advertise, "advertise", "", "`HOST:PORT` by which other nodes reach --cluster-listen; default: the host's name and that port")
	c.spool = clustered.DefaultSpool
	f.Var(&c.spool, "spool", "`bytes` of samples without an answer, such as those over UDP, that wait on this node for the leaders of their partitions; 0: none")
	f.StringVar(&c.node.Zone, "zone", "", "`name` of what may fail at once with this node, such as a rack")
}

// options returns how the server takes part in a cluster, or nil. named are the flags that the user
// has set.
func (c *nodeFlags) options(named map[string]bool) (*clustered.Options, error) {
	if c.Servers.URL == "" {
		for _, name := range []string{"cluster-name", "cluster-partitions", "cluster-replicas", "cluster-listen", "node", "advertise", "zone", "spool"} {
			if named[name] {
				return nil, fmt.Errorf("--%s is of a node of a cluster: it needs --cluster nats://HOST:PORT,…", name)
			}
		}
		return nil, nil
	}
	o := c.node
	var err error
	if o.Servers, err = c.Apply(); err != nil {
		return nil, err
	}
	o.Spool = int64(c.spool)
	o.Named, o.NamedReplicas = named["cluster-partitions"], named["cluster-replicas"]
	if o.Node == "" {
		if o.Node, err = os.Hostname(); err != nil {
			return nil, fmt.Errorf("--node: %w", err)
		}
	}
	if o.Token, err = c.ReadToken(); err != nil {
		return nil, err
	}
	if o.PeerTLS, err = clusterflags.LoadTLS(c.NodeTLS); err != nil {
		return nil, fmt.Errorf("--cluster-node-tls: %w", err)
	}
	return &o, o.Check()
}
