package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
)

// Mistakes with the flags of a cluster are reported before anything is made or connected to.
func TestClusterMistakes(t *testing.T) {
	dir := t.TempDir()
	single, node := filepath.Join(dir, "single"), filepath.Join(dir, "node")
	rondotest.Run(t, single, "create", "x", "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10")
	if err := os.MkdirAll(filepath.Join(node, "replicas"), 0o750); err != nil {
		t.Fatal(err)
	}
	token := filepath.Join(dir, "token")
	if err := os.WriteFile(token, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const nats = "nats://127.0.0.1:1"
	quiet := []string{"--http", "", "--collectd", "", "--gmetric", "", "--rrdcached", ""}
	for _, x := range []struct {
		db, want string
		args     []string
	}{
		{dir, "--node is of a node of a cluster: it needs --cluster", []string{"--node", "a"}},
		{dir, "--cluster http://x: want nats://HOST:PORT", []string{"--cluster", "http://x"}},
		{dir, "--cluster-accept all: want unsynced or one-server", []string{"--cluster", nats, "--cluster-accept", "all"}},
		{dir, "--cluster-token-file " + token + ": there is no token in it", []string{"--cluster", nats, "--node", "a", "--cluster-token-file", token}},
		{dir, "--cluster-node-tls: want three files", []string{"--cluster", nats, "--node", "a", "--cluster-node-tls", token}},
		{dir, "--cluster-tls: want one file, or three", []string{"--cluster", nats, "--node", "a", "--cluster-tls", "a,b"}},
		{single, "holds a database of one machine, which would be left out of the cluster", []string{"--cluster", nats, "--node", "a"}},
		{node, "is the folder of a node: name its cluster with --cluster", nil},
		{node, "--backup-to " + dir + " is of one machine's database", []string{"--cluster", nats, "--node", "a", "--backup-to", dir}},
	} {
		out, err := exec.Command("rondo", append(append([]string{"serve", "--db", x.db}, quiet...), x.args...)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), x.want) {
			t.Errorf("%q: %v, %s; want %s", x.args, err, out, x.want)
		}
	}
	out, err := exec.Command("rondo", "list", "--db", node).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "is the folder of a node of a cluster, and its server does not run") {
		t.Errorf("list: %v, %s", err, out)
	}
}
