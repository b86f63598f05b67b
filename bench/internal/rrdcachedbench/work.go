package rrdcachedbench

import (
	"context"
	"math/rand/v2"
	"os/exec"
	"time"
)

// A Config says what is measured.
type Config struct {
	Series int // number of series, one to three data sources each
	Rounds int // rounds of one update for each series, 10 s apart; flushed every 30 rounds
	// Archives is 5, or 15 as collectd makes them.
	Archives int
	// Connections is how many connections send the rounds. Each keeps two BATCHes on their way.
	Connections int
	Single      int    // rounds that are flushed one by one
	Kills       int    // how often each server is killed
	Seed        uint64 // seed of the random moments of the kills
	// Dir is a new or empty folder for both servers' files.
	Dir string
	// RRDCached is the path of rrdcached; empty means that it is not measured.
	RRDCached string
	// Rondo returns the command of rondo's server with a database, a socket, and the folder that is
	// cut off the front of names.
	Rondo func(ctx context.Context, db, socket, base string) *exec.Cmd
	// Say, if not nil, is called with each step before it begins.
	Say func(string)
}

// Measured is the result of one server.
type Measured struct {
	Name         string  `json:"name"`
	Updates      int     `json:"updates"`
	Create       float64 `json:"creates_a_second"`
	CreateCPU    float64 `json:"cpu_seconds_a_million_creates"`
	Enqueue      float64 `json:"updates_a_second_acknowledged"`
	Durable      float64 `json:"updates_a_second_durable"` // flushed and synced
	CPU          float64 `json:"cpu_seconds_a_million"`    // including the end of the server
	CPUUpdates   float64 `json:"cpu_seconds_a_million_until_written"`
	DriverCPU    float64 `json:"driver_cpu_seconds_a_million"`
	Single       float64 `json:"updates_a_second_one_value_a_flush"`
	SingleCPU    float64 `json:"cpu_seconds_a_million_one_value_a_flush"`
	Pipelined    float64 `json:"updates_a_second_pipelined"` // without BATCH, each with an answer
	Fetch        float64 `json:"fetch_one_us"`               // median
	FetchMany    float64 `json:"fetch_many_ms"`              // median
	FetchPending float64 `json:"fetch_many_with_a_value_pending_ms"`
	FetchCPU     float64 `json:"fetch_many_cpu_ms"` // the server's, of one FETCH of all those series
	FetchSeries  int     `json:"fetch_many_series"`
	FetchRows    int     `json:"fetch_rows"`
	PeakMemory   int64   `json:"peak_memory_bytes"`
	Acknowledged int     `json:"acknowledged_before_kills"`
	Lost         int     `json:"lost"`
	Kills        int     `json:"kills"`
	LossyKills   int     `json:"kills_that_lost"`
}

// epoch is the start of the series, in seconds since 1970.
const epoch = 1_700_000_000

const (
	step       = 10
	flushEvery = 30 // rounds: 300 s of data
	fetchMany  = 1000
	fetchRows  = 361  // most rows of a FETCH
	batchLines = 1000 // most updates of a BATCH
	underWay   = 2    // BATCHes of a connection that wait for their answers
)

// A work sends requests to one server and collects its figures.
type work struct {
	c     *Config
	s     *side
	m     *Measured
	files []file
	r     *rand.Rand // of the readings
	round int64      // number of the last round that was sent
	sent  int64      // updates that were sent
}

func newWork(c *Config, s *side, m *Measured, files []file) *work {
	return &work{c: c, s: s, m: m, files: files, r: rand.New(rand.NewPCG(c.Seed, 2))}
}

// create makes the series.
func (w *work) create() error {
	var b []byte
	for i := range w.files {
		b = w.files[i].create(b, w.c.Archives)
	}
	before, began := w.s.processor(), time.Now()
	err := w.s.pipelined(b, len(w.files), func() error { return w.s.want("0 RRD created OK") })
	n := float64(len(w.files))
	w.m.Create = n / time.Since(began).Seconds()
	w.m.CreateCPU = (w.s.processor() - before).Seconds() / n * 1e6
	return err
}

// addRound prints an UPDATE of each of some files.
func (w *work) addRound(b []byte, round int64, files []file) []byte {
	for i := range files {
		b = files[i].update(b, round, w.r)
	}
	w.sent += int64(len(files))
	return b
}

// nextRound prints an UPDATE of each file for one more round.
func (w *work) nextRound() []byte {
	w.round++
	return w.addRound(nil, w.round, w.files)
}

// batch sends one round in a BATCH and waits for the answer.
func (w *work) batch() error {
	return w.s.pipelined(batch(w.nextRound()), 1, w.s.readBatch)
}

// batch makes a BATCH of UPDATEs.
func batch(updates []byte) []byte {
	return append(append([]byte("BATCH\n"), updates...), ".\n"...)
}
