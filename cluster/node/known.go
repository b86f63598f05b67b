package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/placement"
	"github.com/rondo-db/rondo/internal/replace"
)

// clusterFile names the cluster that a folder belongs to, and has the newest map that the node has
// seen.
const clusterFile = "cluster.json"

// maxClusterFile bounds what is read of clusterFile: a map of placement.MaxPartitions partitions
// with as many replicas as a map allows has less.
const maxClusterFile = 16 << 20

// A clusterNote is the content of clusterFile. Notes of older programs have no map.
type clusterNote struct {
	Cluster string          `json:"cluster"`
	Map     json.RawMessage `json:"map,omitempty"`
	Sum     uint32          `json:"sum,omitempty"` // CRC-32C of Map
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Known is as Disk has it.
func (f *Folder) Known() (cluster string, m placement.Map, err error) {
	name := filepath.Join(f.dir, clusterFile)
	file, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return "", m, nil
	}
	var note clusterNote
	if err == nil {
		err = json.NewDecoder(io.LimitReader(file, maxClusterFile)).Decode(&note)
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		return "", m, fmt.Errorf("%s: %w", name, err)
	}
	if crc32.Checksum(note.Map, castagnoli) != note.Sum || json.Unmarshal(note.Map, &m) != nil || m.Validate() != nil || m.Cluster != note.Cluster {
		m = placement.Map{}
	}
	return note.Cluster, m, nil
}

// Keep is as Disk has it.
func (f *Folder) Keep(m placement.Map) error {
	is, _, err := f.Known()
	if err != nil {
		return err
	}
	if is != "" && is != m.Cluster {
		return fmt.Errorf("%w: %s has replicas of cluster %q, not of %q", ErrOtherCluster, f.dir, is, m.Cluster)
	}
	note := clusterNote{Cluster: m.Cluster}
	if note.Map, err = json.Marshal(m); err != nil {
		return err
	}
	note.Sum = crc32.Checksum(note.Map, castagnoli)
	b, err := json.Marshal(note)
	if err != nil {
		return err
	}
	// Durably: an empty file would keep the node from starting.
	return replace.File(filepath.Join(f.dir, clusterFile), func(w io.Writer) error {
		_, err := w.Write(append(b, '\n'))
		return err
	})
}

// keep keeps the map of a view on the disk. It returns an error if the map is of another cluster,
// or if the first map that this node sees cannot be kept.
func (n *Node) keep(v *coord.View) error {
	m := v.Map
	if !v.HasMap() || n.known.Partitions != nil && m.Cluster == n.known.Cluster && (m.Version <= n.known.Version || n.o.now().Before(n.keepAgain)) {
		return nil
	}
	if n.cluster != "" && m.Cluster != n.cluster {
		return fmt.Errorf("%w: it is %q, and the replicas of this node are of %q", ErrOtherCluster, m.Cluster, n.cluster)
	}
	if err := n.o.Disk.Keep(m); err != nil {
		if n.cluster == "" || errors.Is(err, ErrOtherCluster) {
			return fmt.Errorf("keep the map of partitions: %w", err)
		}
		n.o.Logger.Warn("the map of partitions could not be kept on the disk, which is tried again in a minute", "version", m.Version, "err", err)
		n.keepAgain = n.o.now().Add(time.Minute)
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cluster, n.known = m.Cluster, m
	return nil
}
