package localcluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Machines is how many machines a cluster has.
const Machines = 3

// Options say what a cluster is made of.
type Options struct {
	Dir   string // configurations and logs; and the disks, unless Disk says where they are
	Rondo string // the program
	NATS  string // the program nats-server

	Partitions, Replicas int
	// Disk returns the folder of all that a machine stores. Default: a folder in Dir.
	Disk func(machine int) string
	// ServerDisk returns the folder of what the server of a machine stores. Default: Disk.
	ServerDisk func(machine int) string
	// Node returns more flags of the node of a machine; nil: none.
	Node func(machine int) []string
}

// A Cluster is three machines that run.
type Cluster struct {
	Servers [Machines]*Process
	Nodes   [Machines]*Process

	// The links: of a node to a server, of a server to another one, and of the others to a node.
	NodeToServer   [Machines][Machines]*Link
	ServerToServer [Machines][Machines]*Link // links from a server to itself are nil
	ToNode         [Machines]*Link

	HTTP      [Machines]string // http://HOST:PORT of a node
	RRDCached [Machines]string // HOST:PORT of rrdcached's protocol
	Collectd  [Machines]string // HOST:PORT, UDP
	Monitor   [Machines]string // http://HOST:PORT of the monitoring port of a server

	o       Options
	servers [Machines]serverPorts
}

type serverPorts struct{ client, route, monitor string }

// New returns a cluster that does not run yet.
func New(o Options) (c *Cluster, err error) {
	c = &Cluster{o: o}
	defer func() {
		if err != nil {
			c.Close()
		}
	}()
	if o.Disk == nil {
		c.o.Disk = func(i int) string { return filepath.Join(o.Dir, fmt.Sprintf("machine%d", i+1)) }
	}
	if o.ServerDisk == nil {
		c.o.ServerDisk = c.o.Disk
	}
	if err = os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, err
	}
	ports, err := freePorts(7 * Machines)
	if err != nil {
		return nil, err
	}
	next := func() (addr string) {
		addr, ports = ports[0], ports[1:]
		return addr
	}
	var peers [Machines]string
	for i := range Machines {
		c.servers[i] = serverPorts{next(), next(), next()}
		c.Monitor[i] = "http://" + c.servers[i].monitor
		c.HTTP[i], c.RRDCached[i], c.Collectd[i], peers[i] = "http://"+next(), next(), next(), next()
	}
	for i := range Machines {
		if c.ToNode[i], err = NewLink("others to "+nodeName(i), peers[i]); err != nil {
			return nil, err
		}
		for j := range Machines {
			if c.NodeToServer[i][j], err = NewLink(nodeName(i)+" to "+serverName(j), c.servers[j].client); err != nil {
				return nil, err
			}
			if i == j {
				continue
			}
			if c.ServerToServer[i][j], err = NewLink(serverName(i)+" to "+serverName(j), c.servers[j].route); err != nil {
				return nil, err
			}
		}
	}
	for i := range Machines {
		if err = errors.Join(os.MkdirAll(c.o.Disk(i), 0o755), os.MkdirAll(c.o.ServerDisk(i), 0o755)); err != nil {
			return nil, err
		}
		config, err := c.serverConfig(i)
		if err != nil {
			return nil, err
		}
		c.Servers[i] = NewProcess(serverName(i), o.Dir, o.NATS, "-c", config)
		c.Nodes[i] = NewProcess(nodeName(i), o.Dir, o.Rondo, c.nodeFlags(i, peers[i])...)
	}
	return c, nil
}

func serverName(i int) string { return fmt.Sprintf("n%d", i+1) }
func nodeName(i int) string   { return string(rune('a' + i)) }

// serverConfig writes the configuration of a server. Its peers are reached through the links: it
// announces its address neither to clients nor to other servers, for they would go around.
func (c *Cluster) serverConfig(i int) (string, error) {
	var routes []string
	for j := range Machines {
		if l := c.ServerToServer[i][j]; l != nil {
			routes = append(routes, fmt.Sprintf("%q", "nats://"+l.Addr()))
		}
	}
	text := fmt.Sprintf(`server_name: %s
listen: %q
http: %q
jetstream { store_dir: %q, sync_interval: always }
cluster { name: local, listen: %q, no_advertise: true, advertise: "127.0.0.1:9", routes: [%s] }
`, serverName(i), c.servers[i].client, c.servers[i].monitor, c.ServerDir(i), c.servers[i].route, strings.Join(routes, ", "))
	file := filepath.Join(c.o.Dir, serverName(i)+".conf")
	return file, os.WriteFile(file, []byte(text), 0o644)
}

// ServerDir returns where the server of a machine keeps its streams.
func (c *Cluster) ServerDir(i int) string { return filepath.Join(c.o.ServerDisk(i), "nats") }

// NodeDir returns the folder of the node of a machine.
func (c *Cluster) NodeDir(i int) string { return filepath.Join(c.o.Disk(i), "rondo") }

// URLs names the servers as the node of a machine reaches them.
func (c *Cluster) URLs(i int) string {
	var all []string
	for _, l := range c.NodeToServer[i] {
		all = append(all, "nats://"+l.Addr())
	}
	return strings.Join(all, ",")
}

// ClusterFlags are the flags with which a command on a machine reaches the cluster.
func (c *Cluster) ClusterFlags(i int) []string {
	return []string{"--cluster", c.URLs(i), "--cluster-monitor", strings.Join(c.Monitor[:], ",")}
}

func (c *Cluster) nodeFlags(i int, peer string) []string {
	flags := append([]string{"serve", "--db", c.NodeDir(i)}, c.ClusterFlags(i)...)
	flags = append(flags,
		"--node", nodeName(i), "--cluster-listen", peer, "--advertise", c.ToNode[i].Addr(),
		"--cluster-partitions", fmt.Sprint(c.o.Partitions), "--cluster-replicas", fmt.Sprint(c.o.Replicas), "--cluster-log", "256M",
		"--http", strings.TrimPrefix(c.HTTP[i], "http://"), "--rrdcached", c.RRDCached[i], "--collectd", c.Collectd[i], "--gmetric", "")
	if c.o.Node != nil {
		flags = append(flags, c.o.Node(i)...)
	}
	return flags
}

// Start starts all servers, then all nodes. It does not wait until they are ready.
func (c *Cluster) Start() error {
	for _, p := range append(c.Servers[:], c.Nodes[:]...) {
		if err := p.Start(); err != nil {
			return err
		}
	}
	return nil
}

// WaitReady waits until a node answers that it is ready.
func (c *Cluster) WaitReady(ctx context.Context, i int) error {
	for {
		r, err := http.Get(c.HTTP[i] + "/-/ready")
		if err == nil {
			_ = r.Body.Close() // the code says all
			if r.StatusCode == http.StatusOK {
				return nil
			}
			err = errors.New(r.Status)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("node %s does not become ready (its log is %s): %w", nodeName(i), c.Nodes[i].Log, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Close ends everything. Nodes and servers are killed.
func (c *Cluster) Close() {
	for i := range Machines {
		for _, p := range []*Process{c.Nodes[i], c.Servers[i]} {
			if p != nil {
				p.Close()
			}
		}
	}
	for _, l := range c.Links() {
		l.Close()
	}
}

// Links returns all links.
func (c *Cluster) Links() (all []*Link) {
	add := func(l *Link) {
		if l != nil {
			all = append(all, l)
		}
	}
	for i := range Machines {
		add(c.ToNode[i])
		for j := range Machines {
			add(c.NodeToServer[i][j])
			add(c.ServerToServer[i][j])
		}
	}
	return all
}

// Ports are looked for below those that systems give to outgoing connections: a program that is
// started again finds its port free.
const (
	lowestPort  = 10_000
	highestPort = 30_000
)

// freePorts returns addresses on loopback that nobody listens on.
func freePorts(n int) (all []string, err error) {
	var listeners []net.Listener
	defer func() {
		for _, l := range listeners {
			_ = l.Close() // it was only looked for
		}
	}()
	for port := lowestPort + os.Getpid()*37%(highestPort-lowestPort-1000); len(all) < n && port < highestPort; port++ {
		addr := fmt.Sprintf("127.0.0.1:%d", port)
		l, err := net.Listen("tcp", addr)
		if err != nil {
			continue // taken
		}
		listeners, all = append(listeners, l), append(all, addr)
	}
	if len(all) < n {
		return nil, errors.New("too few ports of loopback are free")
	}
	return all, nil
}
