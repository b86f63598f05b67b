package clustermodel

import (
	"errors"
	"fmt"
)

// A Config is a cluster and its load.
type Config struct {
	Cores   float64 // of a machine
	Machine int     // machines; node i, server i and sender i are on machine i modulo their number

	Nodes, Servers, Partitions, Replicas int

	Batch   int     // samples of a batch
	Under   int     // batches on their way, of all senders
	Senders int     // goroutines that send
	Rate    float64 // samples a second; 0: as fast as they are taken

	// InNodes says that samples come to the nodes from elsewhere, in a protocol such as remote
	// write. Then what senders do is work of nodes. Else senders are a process of its own, as in
	// `rondo-bench cluster`.
	InNodes bool

	// Large says that the nodes hold millions of series each, and write checkpoints.
	Large bool

	Seconds float64 // that are measured, behind a quarter of that which is not
	Seed    uint64
}

// What is simulated at most.
const (
	maxPartitions = 4096
	maxSenders    = 4096
	maxUnder      = 1 << 20
	maxSeconds    = 600
)

// Validate refuses what cannot be simulated.
func (c *Config) Validate() error {
	switch {
	case c.Cores < 0.1 || c.Cores > 1024 || c.Machine < 1 || c.Machine > 1024:
		return errors.New("--cores: want 0.1 to 1024; --machines: 1 to 1024")
	case c.Nodes < 1 || c.Nodes > 1024 || c.Replicas < 1 || c.Replicas > c.Nodes:
		return errors.New("--nodes: want 1 to 1024; --replicas: 1 or more, and no more than nodes")
	case c.Servers < 3 || c.Servers > 1024:
		return errors.New("--servers: want 3 to 1024: each log is on three of them")
	case c.Partitions < 1 || c.Partitions > maxPartitions:
		return fmt.Errorf("--partitions: want 1 to %d", maxPartitions)
	case c.Batch < 1 || c.Under < 1 || c.Under > maxUnder || c.Senders < 1 || c.Senders > maxSenders || c.Under < c.Senders:
		return fmt.Errorf("--batch: want 1 or more; --senders: 1 to %d; --under: no less than senders, and up to %d", maxSenders, maxUnder)
	case !(c.Rate >= 0 && c.Rate <= 1e12) || !(c.Seconds > 0 && c.Seconds <= maxSeconds):
		return fmt.Errorf("--rate: want 0 or more; --seconds: more than 0, up to %d", maxSeconds)
	}
	return nil
}

// A Result is what the cluster does. CPU is processor time in seconds for a million samples.
type Result struct {
	Rate    float64 `json:"samples_per_second"` // acknowledged
	Nodes   float64 `json:"nodes_cpu_seconds_per_million"`
	Servers float64 `json:"servers_cpu_seconds_per_million"`
	Driver  float64 `json:"driver_cpu_seconds_per_million"`
	AckP50  float64 `json:"ack_p50_seconds"`
	AckP99  float64 `json:"ack_p99_seconds"`

	// How long after the log has a message a follower has applied it.
	LagP50 float64 `json:"lag_p50_seconds"`
	LagP99 float64 `json:"lag_p99_seconds"`

	Messages   float64 `json:"samples_per_message"`  // of the logs
	LogBytes   float64 `json:"log_bytes_per_second"` // of all logs, on one server each
	Busy       []Busy  `json:"busy"`
	Bottleneck string  `json:"bottleneck"`

	sent, acked, led, followed int64 // samples
}

// A Busy is how much of the time something was busy; of several of a kind it is the busiest.
type Busy struct {
	What  string  `json:"what"`
	Share float64 `json:"share"`
}
