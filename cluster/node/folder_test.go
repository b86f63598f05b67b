package node_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/rondo-db/rondo/cluster/node"
	"github.com/rondo-db/rondo/cluster/placement"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/record"
)

// A process that was killed while it noted its cluster has left a piece of the file. That the file
// is whole after a loss of power, internal/chaos looks: it was empty, and the node did not start.
func TestFolderBelongsToOneCluster(t *testing.T) {
	dir := t.TempDir()
	piece := filepath.Join(dir, "cluster.json.partial")
	if err := os.WriteFile(piece, []byte(`{"clus`), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := node.NewFolder(dir, node.FolderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := f.Keep(placement.Map{Cluster: "one"}); err != nil {
			t.Errorf("its own cluster: %v", err)
		}
	}
	if _, err := os.Stat(piece); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the piece is left: %v", err)
	}
	if err := f.Keep(placement.Map{Cluster: "two"}); !errors.Is(err, node.ErrOtherCluster) {
		t.Errorf("another cluster: %v", err)
	}
}

// TestFolderKeepsMap: what Keep has noted, Known returns. A map whose bits have flipped is not
// believed, and the file of an older program has none; both name the cluster.
func TestFolderKeepsMap(t *testing.T) {
	dir := t.TempDir()
	f, err := node.NewFolder(dir, node.FolderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if cluster, m, err := f.Known(); err != nil || cluster != "" || m.Partitions != nil {
		t.Errorf("a new folder: %q, %+v, %v", cluster, m, err)
	}
	m, err := placement.New(3, 2, []placement.Member{{Name: "a"}, {Name: "b"}})
	if err != nil {
		t.Fatal(err)
	}
	m.Cluster, m.Version = "one", 7
	if err := f.Keep(m); err != nil {
		t.Fatal(err)
	}
	if cluster, got, err := f.Known(); err != nil || cluster != "one" || !reflect.DeepEqual(got, m) {
		t.Errorf("%q, %+v, %v, want %+v", cluster, got, err, m)
	}
	name := filepath.Join(dir, "cluster.json")
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	flipped := strings.Replace(string(whole), `"version":7`, `"version":3`, 1)
	for text, fails := range map[string]bool{flipped: false, `{"cluster":"one"}`: false, `{"cluster":`: true, "": true} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cluster, got, err := f.Known()
		if fails != (err != nil) || !fails && (cluster != "one" || got.Partitions != nil) {
			t.Errorf("%s: %q, %+v, %v", text, cluster, got, err)
		}
	}
}

// TestFolderOfAnotherFormat: a replica whose version is missing is broken, so that it is copied
// from another node: it was left for a newer program to read. One of an older format is left as it
// is, and the error says what to do. So is one of a newer format.
func TestFolderOfAnotherFormat(t *testing.T) {
	for name, x := range map[string]struct {
		change func(meta *bolt.Bucket) error
		broken bool
		says   string
	}{
		"no version": {func(meta *bolt.Bucket) error { return meta.Delete([]byte("version")) }, true, `meta "version": it is missing`},
		"an older format": {
			func(meta *bolt.Bucket) error { return meta.Put([]byte("version"), []byte{0, 0, 0, 2}) }, false,
			"it has format 2, this program reads format 10: written by an older version of rondo: run that version on this node, or ",
		},
		"a newer format": {
			func(meta *bolt.Bucket) error {
				v := record.AppendSum([]byte{0, 0, 0, 99}, []byte("meta"), []byte("version"))
				return meta.Put([]byte("version"), v)
			}, false, "it has format 99, this program reads format 10: written by a newer version of rondo",
		},
	} {
		dir := t.TempDir()
		s, err := core.Open(filepath.Join(dir, "p0"), core.Options{NoBackground: true})
		if err == nil {
			err = s.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		db, err := bolt.Open(filepath.Join(dir, "p0", "rondo.bolt"), 0o600, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(db.Update(func(tx *bolt.Tx) error { return x.change(tx.Bucket([]byte("meta"))) }), db.Close()); err != nil {
			t.Fatal(err)
		}
		f, err := node.NewFolder(dir, node.FolderOptions{Store: func() core.Options { return core.Options{NoBackground: true} }})
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.Open(t.Context(), 0)
		if errors.Is(err, node.ErrBroken) != x.broken || err == nil || !strings.Contains(err.Error(), x.says) {
			t.Errorf("%s: %v, want broken: %v, %s", name, err, x.broken, x.says)
		}
	}
}
