package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/rondo-db/rondo/cmd/rondo/internal/clustered"
)

// clusterFlags are the flags that say which cluster, of serve and of the commands of cluster.
type clusterFlags struct {
	servers clustered.Servers
	size    byteSize // of a log
	accept  []string
}

// What --cluster-accept takes.
const (
	acceptUnsynced = "unsynced"
	acceptOne      = "one-server"
)

// addPlace adds the flags that say where a cluster is. usage is the text for --cluster.
func (c *clusterFlags) addPlace(f *pflag.FlagSet, usage string) {
	c.size = clustered.DefaultLogBytes
	f.StringVar(&c.servers.URL, "cluster", "", "`addresses` of the servers of NATS that keep the logs of a cluster, nats://HOST:PORT separated by commas; "+usage)
	f.StringVar(&c.servers.Name, "cluster-name", clustered.DefaultName, "`name` of the cluster: several may share servers")
	f.StringVar(&c.servers.Credentials, "cluster-credentials", "", "`file` with the credentials of a user of NATS")
	f.StringSliceVar(&c.servers.TLS, "cluster-tls", nil, "`file` of the authority of the servers' certificates, or three: certificate, key, authority")
}

func (c *clusterFlags) addFlags(f *pflag.FlagSet) {
	c.addPlace(f, "empty: this machine's database is all there is")
	c.addMonitor(f)
	f.Var(&c.size, "cluster-log", "`bytes` that the log of a partition may have: 8G")
	f.StringSliceVar(&c.accept, "cluster-accept", nil, "`risk` that is accepted: unsynced (servers that acknowledge before they sync), one-server (for trying it)")
}

// addMonitor adds the flag that says where the servers report how they are.
func (c *clusterFlags) addMonitor(f *pflag.FlagSet) {
	f.StringSliceVar(&c.servers.Monitor, "cluster-monitor", nil, "`URL` of the monitoring port of a server of NATS, one for each server; default: port 8222 of each")
}

// apply returns the servers.
func (c *clusterFlags) apply() (clustered.Servers, error) {
	s := c.servers
	s.LogBytes = int64(c.size)
	for _, a := range c.accept {
		switch a {
		case acceptUnsynced:
			s.AcceptUnsynced = true
		case acceptOne:
			s.AcceptOne = true
		default:
			return s, fmt.Errorf("--cluster-accept %s: want %s or %s", a, acceptUnsynced, acceptOne)
		}
	}
	if n := len(s.TLS); n != 0 && n != 1 && n != 3 {
		return s, errors.New("--cluster-tls: want one file, or three: certificate, key, authority")
	}
	return s, s.Check()
}

// serveCluster are the flags with which a server is a node.
type serveCluster struct {
	clusterFlags
	peerFlags
	node  clustered.Options
	spool byteSize
}

func (c *serveCluster) addFlags(f *pflag.FlagSet) {
	c.clusterFlags.addFlags(f)
	f.IntVar(&c.node.Partitions, "cluster-partitions", clustered.DefaultPartitions, "`number` of partitions of a cluster that is made; it never changes")
	f.IntVar(&c.node.Replicas, "cluster-replicas", clustered.DefaultReplicas, "`number` of nodes that keep each partition of a cluster that is made")
	f.StringVar(&c.node.Listen, "cluster-listen", clustered.DefaultListen, "`address` where other nodes are listened for")
	c.peerFlags.addFlags(f)
	f.StringVar(&c.node.Node, "node", "", "`name` of this node in the cluster; default: the host's name")
	f.StringVar(&c.node.Advertise, "advertise", "", "`HOST:PORT` by which other nodes reach --cluster-listen; default: the host's name and that port")
	c.spool = clustered.DefaultSpool
	f.Var(&c.spool, "spool", "`bytes` of samples without an answer, such as those over UDP, that wait on this node for the leaders of their partitions; 0: none")
	f.StringVar(&c.node.Zone, "zone", "", "`name` of what may fail at once with this node, such as a rack")
}

// options returns how the server takes part in a cluster, or nil. named are the flags that the user
// has set.
func (c *serveCluster) options(named map[string]bool) (*clustered.Options, error) {
	if c.servers.URL == "" {
		for _, name := range []string{"cluster-name", "cluster-partitions", "cluster-replicas", "cluster-listen", "node", "advertise", "zone", "spool"} {
			if named[name] {
				return nil, fmt.Errorf("--%s is of a node of a cluster: it needs --cluster nats://HOST:PORT,…", name)
			}
		}
		return nil, nil
	}
	o := c.node
	var err error
	if o.Servers, err = c.apply(); err != nil {
		return nil, err
	}
	o.Spool = int64(c.spool)
	o.Named, o.NamedReplicas = named["cluster-partitions"], named["cluster-replicas"]
	if o.Node == "" {
		if o.Node, err = os.Hostname(); err != nil {
			return nil, fmt.Errorf("--node: %w", err)
		}
	}
	if o.Token, err = c.readToken(); err != nil {
		return nil, err
	}
	if o.PeerTLS, err = nodeTLS(c.nodeTLS); err != nil {
		return nil, fmt.Errorf("--cluster-node-tls: %w", err)
	}
	return &o, o.Check()
}

// nodeTLS returns the configuration of both ends of connections between nodes.
func nodeTLS(files []string) (*tls.Config, error) {
	if len(files) == 0 {
		return nil, nil
	}
	if len(files) != 3 {
		return nil, errors.New("want three files: certificate, key, authority")
	}
	cert, err := tls.LoadX509KeyPair(files[0], files[1])
	if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(files[2])
	if err != nil {
		return nil, err
	}
	all := x509.NewCertPool()
	if !all.AppendCertsFromPEM(b) {
		return nil, fmt.Errorf("%s: there is no certificate in it", files[2])
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{cert},
		RootCAs: all, ClientCAs: all, ClientAuth: tls.RequireAndVerifyClientCert,
	}, nil
}
