// Promtsdb puts the load of `rondo bench ingest` on Prometheus' TSDB, as a program that embeds it
// would, and prints what that cost, as one JSON object with the same keys. `rondo-bench ingest`
// runs both. It is a program of its own, so that rondo-bench does not link the TSDB.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// A Result is what was measured. Samples are acknowledged when they are in the page cache: the TSDB
// does not sync its log.
type Result struct {
	SamplesPerSecond     float64 `json:"samples_per_second"`
	CPUSecondsPerMillion float64 `json:"cpu_seconds_per_million"` // the generator included
	PeakRSSBytes         int64   `json:"peak_rss_bytes"`
	AckP50Seconds        float64 `json:"ack_p50_seconds"` // Commit of a host's 100 samples
	AckP99Seconds        float64 `json:"ack_p99_seconds"`
	RecoverySeconds      float64 `json:"recovery_seconds"` // Open and the first query, after kill -9
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "ERROR: %v\n", err) // the last word
		os.Exit(1)
	}
}

// options say what load is put on which folder.
type options struct {
	dir              string
	series, readings int
	appenders        int
	seed             uint64
	role             string
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var o options
	f := flag.NewFlagSet("promtsdb", flag.ContinueOnError)
	f.StringVar(&o.dir, "dir", "", "`folder` of the database, new or empty")
	f.IntVar(&o.series, "series", 100_000, "number of series, rounded up to whole hosts of 100")
	f.IntVar(&o.readings, "readings", 360, "readings of each series, 10 s apart")
	f.IntVar(&o.appenders, "appenders", 32, "goroutines that append")
	f.Uint64Var(&o.seed, "seed", 1, "what the readings follow from")
	f.StringVar(&o.role, "role", "", "of a child: fill or open")
	if err := f.Parse(args); err != nil {
		return err
	}
	if o.dir == "" || o.series < 1 || o.readings < 1 || o.appenders < 1 {
		return errors.New("--dir must be named; --series, --readings and --appenders must be at least 1")
	}
	switch o.role {
	case "fill":
		return fill(ctx, &o, out)
	case "open":
		return open(ctx, &o, out)
	}
	var r, opened Result
	if err := child(ctx, append(args, "--role", "fill"), &r); err != nil {
		return err
	}
	if err := child(ctx, append(args, "--role", "open"), &opened); err != nil {
		return err
	}
	r.RecoverySeconds = opened.RecoverySeconds
	return json.NewEncoder(out).Encode(r)
}

// child runs this program in another role, reads its answer and kills it.
func child(ctx context.Context, args []string, answer *Result) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := json.NewDecoder(out).Decode(answer); err != nil {
		return errors.Join(fmt.Errorf("promtsdb %v: %w", args, err), cmd.Process.Kill(), cmd.Wait())
	}
	if err := cmd.Process.Kill(); err != nil {
		return err
	}
	_ = cmd.Wait() // says that it was killed, which is what was wanted
	return nil
}
