package clusterbench

import (
	"errors"

	"github.com/rondo-db/rondo/internal/enginebench"
)

// A Config says what is measured.
type Config struct {
	Rondo, NATS string // programs
	Dir         string // all files are below it

	Nodes, Partitions, Replicas int

	Series   int // rounded up to whole hosts of 100
	Readings int // of each series, 10 s apart, at full speed; and while a node is away
	Half     int // seconds at half of that rate
	Fetches  int // series that are fetched, one at a time
	Seed     uint64
	Layout   enginebench.Layout

	Batch   int // samples of a batch, rounded up to whole hosts
	Under   int // batches on their way
	Senders int // goroutines that send

	Say func(format string, args ...any)
}

// Validate refuses what cannot be measured.
func (c *Config) Validate() error {
	switch {
	case c.Series < 1 || c.Readings < 2 || c.Half < 0 || c.Fetches < 0:
		return errors.New("--series: want 1 or more; --minutes: 1 or more; --half-seconds and --fetches: 0 or more")
	case c.Batch < 1 || c.Under < 1 || c.Senders < 1:
		return errors.New("--batch, --under and --senders: want 1 or more")
	case c.Nodes < 2 || c.Nodes > 9 || c.Replicas < 2 || c.Replicas > c.Nodes:
		return errors.New("--nodes: want 2 to 9; --replicas: 2 or more, and no more than nodes")
	}
	return nil
}

// A Result is what was measured. CPU is processor time in seconds for a million samples.
type Result struct {
	Series     int `json:"series"`
	Partitions int `json:"partitions"`
	Nodes      int `json:"nodes"`
	Replicas   int `json:"replicas"`
	Batch      int `json:"batch"`   // samples
	Under      int `json:"under"`   // batches
	Senders    int `json:"senders"` // goroutines
	Cores      int `json:"cores"`   // of this machine

	Alone Alone `json:"one_machine"`
	Node  Alone `json:"one_node"`
	Idle  Idle  `json:"idle"`
	Full  Load  `json:"full"`
	Half  Load  `json:"half"`
	Catch Catch `json:"catch_up"`

	List  []Read `json:"list"`
	Fetch []Read `json:"fetch"`
}

// An Alone is the same load on one store: of the driver's own process, whose CPU includes what the
// driver takes; or of a process that receives it as a node does.
type Alone struct {
	Rate   float64 `json:"samples_per_second"`
	CPU    float64 `json:"cpu_seconds_per_million"`
	Driver float64 `json:"driver_cpu_seconds_per_million,omitzero"` // 0: it is in CPU
	AckP50 float64 `json:"ack_p50_seconds"`
	AckP99 float64 `json:"ack_p99_seconds"`
}

// An Idle is a time in which nobody sends. Each figure is how many cores are busy.
type Idle struct {
	Nodes   float64 `json:"nodes"`
	Servers float64 `json:"servers"`
	Driver  float64 `json:"driver"`
}

// A Load is a time of sending.
type Load struct {
	Samples int64   `json:"samples"`
	Seconds float64 `json:"seconds"`
	Rate    float64 `json:"samples_per_second"` // acknowledged
	Nodes   float64 `json:"nodes_cpu_seconds_per_million"`
	Servers float64 `json:"servers_cpu_seconds_per_million"`
	Driver  float64 `json:"driver_cpu_seconds_per_million"`
	AckP50  float64 `json:"ack_p50_seconds"` // of a batch, which has samples of all partitions
	AckP99  float64 `json:"ack_p99_seconds"`
	Batches int64   `json:"batches"`

	Messages int64 `json:"messages"`  // of the logs of all partitions
	LogBytes int64 `json:"log_bytes"` // that they take on one server
}

// A Catch is a node that was away while samples came, and applies them.
type Catch struct {
	Samples int64   `json:"samples"` // that it has missed
	Start   float64 `json:"start_seconds"`
	Seconds float64 `json:"seconds"` // behind the start, until all is applied
	Rate    float64 `json:"samples_per_second"`
	CPU     float64 `json:"cpu_seconds_per_million"`
}

// A Read is what reading took through one process.
type Read struct {
	Through string  `json:"through"`
	Seconds float64 `json:"seconds"` // of the list, or the median of a fetch
	CPU     float64 `json:"cpu_seconds"`
	P99     float64 `json:"p99_seconds"` // of a fetch
}
