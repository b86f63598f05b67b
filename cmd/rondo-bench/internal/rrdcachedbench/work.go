package rrdcachedbench

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// A Config says what is measured.
type Config struct {
	Series int    // number of series, each with one data source and five archives
	Rounds int    // rounds of one value for each series, 10 s apart; flushed every 30 rounds
	Single int    // rounds that are flushed one by one
	Kills  int    // how often each server is killed
	Seed   uint64 // seed of the random moments of the kills
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
	Enqueue      float64 `json:"updates_a_second_acknowledged"`
	Durable      float64 `json:"updates_a_second_durable"` // flushed and synced
	CPU          float64 `json:"cpu_seconds_a_million"`    // including the end of the server
	CPUUpdates   float64 `json:"cpu_seconds_a_million_until_written"`
	Single       float64 `json:"updates_a_second_one_value_a_flush"`
	SingleCPU    float64 `json:"cpu_seconds_a_million_one_value_a_flush"`
	Pipelined    float64 `json:"updates_a_second_pipelined"` // without BATCH, each with an answer
	Fetch        float64 `json:"fetch_one_us"`               // median
	FetchMany    float64 `json:"fetch_many_ms"`              // median
	FetchPending float64 `json:"fetch_many_with_a_value_pending_ms"`
	FetchSeries  int     `json:"fetch_many_series"`
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
	fetchRows  = 60
)

// A work sends requests to one server and collects its figures.
type work struct {
	c     *Config
	s     *side
	m     *Measured
	names []string
	round int64 // number of the last round that was sent
	sent  int64 // updates that were sent
	buf   strings.Builder
}

// create makes the series.
func (w *work) create() error {
	for _, name := range w.names {
		fmt.Fprintf(&w.buf, "CREATE %s -s %d -b %d DS:value:GAUGE:600:U:U RRA:AVERAGE:0.5:1:1440 RRA:AVERAGE:0.5:6:1440 "+
			"RRA:AVERAGE:0.5:60:1008 RRA:MAX:0.5:6:1440 RRA:MAX:0.5:60:1008\n", name, step, epoch)
	}
	began := time.Now()
	err := w.s.pipelined(w.requests(), len(w.names), func() error { return w.want("0 RRD created OK") })
	w.m.Create = float64(len(w.names)) / time.Since(began).Seconds()
	return err
}

func (w *work) requests() string {
	text := w.buf.String()
	w.buf.Reset()
	return text
}

func (w *work) want(want string) error {
	got, err := w.s.line()
	if err == nil && got != want {
		err = fmt.Errorf("got %q, want %q", got, want)
	}
	return err
}

// addRound writes an UPDATE of each series. A quarter of the values are integers, the others have
// two decimals.
func (w *work) addRound() {
	w.round++
	for i, name := range w.names {
		at := epoch + step*w.round
		if i%4 == 0 {
			fmt.Fprintf(&w.buf, "UPDATE %s %d:%d\n", name, at, w.round*int64(i%997+1))
			continue
		}
		cents := (int64(i)*7919 + w.round*w.round*31) % 90000
		fmt.Fprintf(&w.buf, "UPDATE %s %d:%d.%02d\n", name, at, cents/100, cents%100)
	}
	w.sent += int64(len(w.names))
}

// batch sends one round in a BATCH and waits for the answer.
func (w *work) batch() (time.Duration, error) {
	w.buf.WriteString("BATCH\n")
	w.addRound()
	w.buf.WriteString(".\n")
	began := time.Now()
	n := 0
	err := w.s.pipelined(w.requests(), 2, func() error {
		if n++; n == 1 {
			_, err := w.s.line()
			return err
		}
		return w.want("0 errors")
	})
	return time.Since(began), err
}
