package clustermodel

import (
	"fmt"
	"math"
)

// What a series takes in each replica: bytes of memory, and of disk with five archives that are
// full; and how often it gets a sample. bench/README.md has the runs that say so.
const (
	seriesMemory = 920
	seriesDisk   = 8500
	seriesStep   = 10
)

// mostBusy is how much of the time the cores of a machine may be busy, so that one machine can be
// lost.
const mostBusy = 0.5

// A Size is a cluster that is large enough for a number of series.
type Size struct {
	Name       string  `json:"name"`
	Cells      int     `json:"cells"` // clusters; figures are of all
	Series     float64 `json:"series"`
	Rate       float64 `json:"samples_per_second"`
	Partitions int     `json:"partitions"`
	Servers    int     `json:"servers"`
	Machines   int     `json:"machines"`
	Cores      float64 `json:"cores_of_a_machine"`

	NodeCores   float64 `json:"cores_busy_nodes"`
	ServerCores float64 `json:"cores_busy_servers"`
	LogBytes    float64 `json:"log_bytes_per_second"` // to each server
	Memory      float64 `json:"memory_bytes"`         // of all nodes
	Disk        float64 `json:"disk_bytes"`           // of all nodes, without logs
	AckP50      float64 `json:"ack_p50_seconds"`
	AckP99      float64 `json:"ack_p99_seconds"`
	Bottleneck  string  `json:"bottleneck"`
}

// Sizes returns clusters of several sizes. Each machine has a node, and most have a server.
func Sizes(t Times) (all []Size, err error) {
	for _, s := range []Size{
		{Name: "small", Series: 10e6, Partitions: 16, Servers: 3, Machines: 3, Cores: 4},
		{Name: "large", Series: 100e6, Partitions: 16, Servers: 3, Machines: 3, Cores: 8},
		{Name: "large, more partitions", Series: 100e6, Partitions: 64, Servers: 5, Machines: 5, Cores: 8},
		{Name: "a full cell, more partitions", Series: 200e6, Partitions: 128, Servers: 6, Machines: 6, Cores: 16},
		{Name: "a full cell", Series: 200e6, Partitions: 32, Servers: 5, Machines: 5, Cores: 16},
	} {
		if s, err = s.grow(t); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
		all = append(all, s)
	}
	cells := all[len(all)-1]
	cells.Name, cells.Cells = "50 cells", 50
	cells.Series, cells.Rate, cells.Memory, cells.Disk = cells.Series*50, cells.Rate*50, cells.Memory*50, cells.Disk*50
	cells.NodeCores, cells.ServerCores = cells.NodeCores*50, cells.ServerCores*50
	cells.Partitions, cells.Servers, cells.Machines = cells.Partitions*50, cells.Servers*50, cells.Machines*50
	return append(all, cells), nil
}

// sizeBatch is how many samples come together.
const sizeBatch = 5000

// grow adds machines until none is too busy.
func (s Size) grow(t Times) (Size, error) {
	const replicas = 2
	s.Cells = 1
	s.Rate = s.Series / seriesStep
	for {
		cfg := Config{
			Cores: s.Cores, Machine: s.Machines, Nodes: s.Machines, Servers: s.Servers, Partitions: s.Partitions, Replicas: replicas,
			Batch: sizeBatch, Senders: 8 * s.Machines, Rate: s.Rate, InNodes: true, Large: true, Seconds: 2, Seed: 1,
		}
		cfg.Under = 64 * cfg.Senders
		r, err := Run(cfg, t)
		if err != nil {
			return s, err
		}
		if busy := r.Busy[0].Share; busy > mostBusy && s.Machines < 1024 {
			s.Machines = max(s.Machines+1, int(math.Ceil(float64(s.Machines)*busy/mostBusy*0.9)))
			continue
		}
		s.NodeCores, s.ServerCores = r.Nodes*s.Rate/1e6, r.Servers*s.Rate/1e6
		// Each log is on three servers.
		s.LogBytes = r.LogBytes * copies / float64(s.Servers)
		s.Memory, s.Disk = seriesMemory*replicas*s.Series, seriesDisk*replicas*s.Series
		s.AckP50, s.AckP99, s.Bottleneck = r.AckP50, r.AckP99, r.Busy[0].What
		for _, b := range r.Busy[1:] {
			if b.Share > r.Busy[0].Share {
				s.Bottleneck = b.What
			}
		}
		return s, nil
	}
}
