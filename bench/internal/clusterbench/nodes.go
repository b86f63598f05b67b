package clusterbench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rondo-db/rondo/query/rpc/client"
)

// clusterName is the name of the cluster, on servers of its own.
const clusterName = "bench"

// A node is a server of rondo, in the cluster or alone.
type node struct {
	*process
	http string // its address
	rpc  *client.Client
	args []string
}

// startNode starts a server with more arguments than all have.
func startNode(ctx context.Context, program, dir, name, db string, args ...string) (*node, error) {
	http, err := freeAddress()
	if err != nil {
		return nil, err
	}
	n := &node{http: http}
	n.args = append([]string{
		"serve", "--db", db, "--http", http, "--rrdcached=", "--collectd=", "--gmetric=", "--log-level=warn",
	}, args...)
	if n.rpc, err = client.New(http, client.Options{}); err != nil {
		return nil, err
	}
	if n.process, err = start(dir, name, program, n.args...); err != nil {
		n.rpc.Close()
		return nil, err
	}
	if err := n.ready(ctx); err != nil {
		return nil, errors.Join(err, n.end())
	}
	return n, nil
}

// again starts the node anew, once it has ended.
func (n *node) again(ctx context.Context) error {
	ended := n.cpu()
	p, err := start(filepath.Dir(n.log), n.name, n.cmd.Path, n.args...)
	if err != nil {
		return err
	}
	p.ended, n.process = ended, p
	return n.ready(ctx)
}

// ready waits until the server answers.
func (n *node) ready(ctx context.Context) error {
	return wait(ctx, n.name, func() (bool, error) {
		if err := n.died(); err != nil {
			return false, err
		}
		try, cancel := context.WithTimeout(ctx, askTime)
		defer cancel()
		for _, err := range n.rpc.List(try, "no such series", nil...) {
			return err == nil, nil
		}
		return true, nil
	})
}

// end kills the server.
func (n *node) end() error {
	n.kill()
	n.rpc.Close()
	return nil
}

// nodes are the nodes of the cluster.
type nodes []*node

// startNodes starts the nodes, all at the same time, for each waits for the others.
func startNodes(ctx context.Context, c *Config, s *servers, token string) (all nodes, err error) {
	file := filepath.Join(c.Dir, "token")
	if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
		return nil, err
	}
	type started struct {
		n   *node
		err error
	}
	out := make(chan started)
	for i := range c.Nodes {
		name := "rondo-" + strconv.Itoa(i+1)
		go func() {
			n, err := startNode(ctx, c.Rondo, c.Dir, name, filepath.Join(c.Dir, name), "--node", name, "--cluster", strings.Join(s.urls, ","),
				"--cluster-monitor", strings.Join(s.monitors, ","), "--cluster-name", clusterName, "--cluster-listen", "127.0.0.1:0",
				"--cluster-token-file", file, "--cluster-partitions", strconv.Itoa(c.Partitions), "--cluster-replicas", strconv.Itoa(c.Replicas),
				"--max-series", strconv.Itoa(max(10_000_000, 2*c.Series)))
			out <- started{n, err}
		}()
	}
	for range c.Nodes {
		x := <-out
		if x.n != nil && x.err == nil {
			all = append(all, x.n)
		}
		err = errors.Join(err, x.err)
	}
	if err != nil {
		return nil, errors.Join(err, all.stop())
	}
	return all, nil
}

// cpu returns the processor time that the nodes have used.
func (all nodes) cpu() (sum time.Duration) {
	for _, n := range all {
		sum += n.cpu()
	}
	return sum
}

// stop kills the nodes.
func (all nodes) stop() (err error) {
	for _, n := range all {
		err = errors.Join(err, n.end())
	}
	return err
}

// pids names the processes, for a profiler.
func (all nodes) pids() string {
	var out []string
	for _, n := range all {
		out = append(out, fmt.Sprint(n.cmd.Process.Pid))
	}
	return strings.Join(out, ",")
}
