//go:build !race

package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
	"github.com/rondo-db/rondo/cmd/rondo/internal/webconfig/webconfigtest"
	"github.com/rondo-db/rondo/internal/natstest"
)

// TestClusterRefusesStrangeNode starts a node with a token and TLS over a real nats-server. Nodes
// and commands that lack one of them, or have another one, end at once and name the flag. Such a
// node joined, led partitions, and could not be reached; init stood still, and export said "broken
// pipe".
func TestClusterRefusesStrangeNode(t *testing.T) {
	t.Parallel() // most of it is waiting
	nats := natstest.One(t)
	dir := t.TempDir()
	authority := webconfigtest.New(t, "nodes")
	authority.Leaf(t, "node", webconfigtest.Leaf{})
	file := func(name string) string { return filepath.Join(authority.Dir, name) }
	byTLS := []string{"--cluster-node-tls", strings.Join([]string{file("node.crt"), file("node.key"), file("ca.crt")}, ",")}
	token, other := authority.Write(t, "token", "the secret"), authority.Write(t, "other", "another secret")
	reach := []string{"--cluster", nats.URL, "--cluster-monitor", nats.Monitor, "--cluster-accept", "one-server", "--cluster-log", "64M"}
	node := func(name string, more ...string) []string {
		return append(append([]string{"--node", name, "--cluster-listen", "127.0.0.1:0", "--cluster-partitions", "2", "--cluster-replicas", "1"}, reach...), more...)
	}
	knows := append([]string{"--cluster-token-file", token}, byTLS...)
	a := rondotest.Serve(t, filepath.Join(dir, "a"), node("a", knows...)...)
	single := filepath.Join(dir, "single")
	rondotest.Run(t, single, "create", "x", "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10")
	for i, x := range []struct {
		flags []string
		want  string
	}{
		{append([]string{"--cluster-token-file", other}, byTLS...), "knows another token than this process: look at --cluster-token-file"},
		{byTLS, "knows another token than this process: look at --cluster-token-file"},
		{[]string{"--cluster-token-file", token}, "speaks TLS, and this process does not: look at --cluster-node-tls"},
	} {
		strange := filepath.Join(dir, fmt.Sprint("strange", i))
		for _, args := range [][]string{
			append([]string{"serve", "--db", strange, "--http", "127.0.0.1:0", "--collectd", "", "--gmetric", "", "--rrdcached", ""}, node("strange", x.flags...)...),
			append([]string{"cluster", "init", "--from", single, "--cluster", nats.URL}, x.flags...),
			append([]string{"cluster", "export", "--to", filepath.Join(dir, "back"), "--cluster", nats.URL}, x.flags...),
		} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			out, err := exec.CommandContext(ctx, "rondo", args...).CombinedOutput()
			cancel()
			if err == nil || !strings.Contains(string(out), "node a at 127.0.0.1:") || !strings.Contains(string(out), x.want) {
				t.Errorf("%q: %v: %s\nwant %s", args, err, out, x.want)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "back")); err == nil {
		t.Error("export has made its folder")
	}
	eventually(t, "create", a, "create", "s", "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10")
	b := rondotest.Serve(t, filepath.Join(dir, "b"), node("b", knows...)...)
	done(t, append([]string{"cluster", "export", "--to", filepath.Join(dir, "back"), "--cluster", nats.URL}, knows...)...)
	b.Stop(t)
	a.Stop(t)
}
