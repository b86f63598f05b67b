package localcluster

import (
	"errors"
	"fmt"
	"go/build"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
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
	// Link returns the address at which a process reaches another one, which listens at addr; from
	// is empty for all that reach a node. nil: at addr.
	Link func(from, to, addr string) (string, error)
}

// A Cluster is three machines that run.
type Cluster struct {
	Servers [Machines]*Process
	Nodes   [Machines]*Process

	HTTP      [Machines]string // http://HOST:PORT of a node
	RRDCached [Machines]string // HOST:PORT of rrdcached's protocol
	Collectd  [Machines]string // HOST:PORT, UDP
	Monitor   [Machines]string // http://HOST:PORT of the monitoring port of a server

	o       Options
	servers [Machines]serverPorts
	// The addresses at which others reach a node, at which a node reaches a server, and at which a
	// server reaches another one.
	toNode         [Machines]string
	nodeToServer   [Machines][Machines]string
	serverToServer [Machines][Machines]string // not to itself
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
	if err := c.link(peers); err != nil {
		return nil, err
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

// link finds the addresses at which the processes reach each other. The nodes listen at peers.
func (c *Cluster) link(peers [Machines]string) (err error) {
	link := c.o.Link
	if link == nil {
		link = func(_, _, addr string) (string, error) { return addr, nil }
	}
	for i := range Machines {
		if c.toNode[i], err = link("", nodeName(i), peers[i]); err != nil {
			return err
		}
		for j := range Machines {
			if c.nodeToServer[i][j], err = link(nodeName(i), serverName(j), c.servers[j].client); err != nil {
				return err
			}
			if i == j {
				continue
			}
			if c.serverToServer[i][j], err = link(serverName(i), serverName(j), c.servers[j].route); err != nil {
				return err
			}
		}
	}
	return nil
}

func serverName(i int) string { return fmt.Sprintf("n%d", i+1) }
func nodeName(i int) string   { return string(rune('a' + i)) }

// serverConfig writes the configuration of a server. It announces its
// address neither to clients nor to other servers, for they would go around Options.Link.
func (c *Cluster) serverConfig(i int) (string, error) {
	var routes []string
	for j, addr := range c.serverToServer[i] {
		if j != i {
			routes = append(routes, fmt.Sprintf("%q", "nats://"+addr))
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

func (c *Cluster) nodeFlags(i int, peer string) []string {
	flags := []string{
		"serve", "--db", c.NodeDir(i), "--cluster", "nats://" + strings.Join(c.nodeToServer[i][:], ",nats://"), "--cluster-monitor", strings.Join(c.Monitor[:], ","),
		"--node", nodeName(i), "--cluster-listen", peer, "--advertise", c.toNode[i],
		"--cluster-partitions", fmt.Sprint(c.o.Partitions), "--cluster-replicas", fmt.Sprint(c.o.Replicas), "--cluster-log", "256M",
		"--http", strings.TrimPrefix(c.HTTP[i], "http://"), "--rrdcached", c.RRDCached[i], "--collectd", c.Collectd[i], "--gmetric", "",
	}
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

// Close ends everything. Nodes and servers are killed.
func (c *Cluster) Close() {
	for i := range Machines {
		for _, p := range []*Process{c.Nodes[i], c.Servers[i]} {
			if p != nil {
				p.Close()
			}
		}
	}
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

var metric = regexp.MustCompile(`(?m)^(rondo_cluster_\w+) (\S+)$`)

// Metrics returns what a node says of the cluster, by the names of its metrics; nothing if it does
// not answer within 30 s.
func (c *Cluster) Metrics(node int) map[string]float64 {
	all := make(map[string]float64)
	client := http.Client{Timeout: 30 * time.Second}
	r, err := client.Get(c.HTTP[node] + "/metrics")
	if err != nil {
		return all
	}
	defer func() { _ = r.Body.Close() }() // it was read
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return all
	}
	for _, m := range metric.FindAllStringSubmatch(string(b), -1) {
		if v, err := strconv.ParseFloat(m[2], 64); err == nil {
			all[m[1]] = v
		}
	}
	return all
}

// FindNATS finds nats-server where go install puts it, or in the PATH.
func FindNATS() (string, error) {
	bin := os.Getenv("GOBIN")
	if bin == "" {
		bin = filepath.Join(build.Default.GOPATH, "bin")
	}
	path := filepath.Join(bin, "nats-server")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	path, err := exec.LookPath("nats-server")
	if err != nil {
		return "", errors.New("nats-server is not installed; install it with: go install github.com/nats-io/nats-server/v2@v2.15.2")
	}
	return path, nil
}

// BuildRondo builds the program rondo that the module of the working folder uses, into the folder
// dir. Go keeps what it links for go run, and links what it builds each time: of all packages whose
// tests want a program only the first one links it.
func BuildRondo(dir string) (string, error) {
	path := filepath.Join(dir, "rondo")
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/rondo-db/rondo").Output()
	if err != nil {
		return "", fmt.Errorf("find the sources of rondo: %w", err)
	}
	build := exec.Command("go", "run", "-exec", "cp", "./cmd/rondo", path)
	build.Dir = strings.TrimSpace(string(root))
	out, err := build.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build rondo: %w\n%s", err, out)
	}
	return path, nil
}
