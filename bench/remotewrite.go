package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/bench/internal/writebench"
)

func newRemoteWrite(common *common) *cobra.Command {
	o := writeOptions{comparison: comparison{common: common}}
	c := &cobra.Command{
		Use:   "remotewrite",
		Short: "Compare remote write with Prometheus that receives it",
		Long: `Starts rondo serve and the installed Prometheus (--web.enable-remote-write-receiver), one
after the other, and sends both the same requests of Prometheus' remote write 1.0, over
several connections, each one request after the other: first a round that makes all
series, which is measured apart, then rounds until the time is over. The samples of a series
are 10 s apart. A series of rondo has one data source and five archives, and rondo
answers when samples are synced to the disk. CPU seconds are those that the servers take;
what the driver takes is printed beside them. The last column is rondo's figure divided by
Prometheus'.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := c.Flags()
	f.IntVar(&o.series, "series", 100_000, "number of series")
	f.IntVar(&o.samples, "samples", 500, "samples of a request")
	f.IntVar(&o.connections, "connections", 16, "number of connections")
	f.Float64Var(&o.seconds, "seconds", 10, "how long")
	o.addFlags(f)
	return c
}

type writeOptions struct {
	comparison
	series, samples, connections int
	seconds                      float64
}

// writePolicy gives series five archives.
const writePolicy = `policy:
  - path: prometheus/**
    step: 10s
    heartbeat: 30s
    archives: ["RRA:AVERAGE:0.5:10s:6h", "RRA:AVERAGE:0.5:1m:2d", "RRA:AVERAGE:0.5:5m:14d", "RRA:MIN:0.5:5m:14d", "RRA:MAX:0.5:5m:14d"]
`

func (o *writeOptions) run(cmd *cobra.Command) (err error) {
	if o.series < 1 || o.samples < 1 || o.connections < 1 {
		return errors.New("--series, --samples and --connections: want 1 or more")
	}
	program, err := o.findRondo()
	if err != nil {
		return err
	}
	dir, remove, err := workFolder(o.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	config := writebench.Config{
		Series: o.series, Samples: o.samples, Connections: o.connections, Length: time.Duration(o.seconds * float64(time.Second)), Dir: dir,
		Programs: []writebench.Program{{Name: "rondo", Start: startRondo(program, writePolicy)}},
		// The figures matter.
		Say: func(what string) { _, _ = fmt.Fprintln(cmd.ErrOrStderr(), what) },
	}
	config.Programs = append(config.Programs, o.prometheus(cmd)...)
	rs, err := writebench.Run(cmd.Context(), config)
	if err != nil {
		return err
	}
	if o.json {
		return writebench.WriteJSON(cmd.OutOrStdout(), rs)
	}
	return writebench.WriteText(cmd.OutOrStdout(), rs)
}

// startRondo starts a server that takes remote write, with a policy.
func startRondo(program, policy string) func(ctx context.Context, addr, dir string) (*exec.Cmd, error) {
	return func(ctx context.Context, addr, dir string) (*exec.Cmd, error) {
		file := filepath.Join(dir, "rondo.yaml")
		if err := os.WriteFile(file, []byte(policy), 0o644); err != nil {
			return nil, err
		}
		return exec.CommandContext(ctx, program, "serve", "--db", filepath.Join(dir, "db"), "--config", file, "--http", addr,
			"--sender-burst=-1", "--rrdcached=", "--collectd=", "--gmetric=", "--log-level=warn"), nil
	}
}

// prometheus returns the installed Prometheus if it is to be compared with.
func (c *comparison) prometheus(cmd *cobra.Command) []writebench.Program {
	path := c.other(cmd, func() (string, error) { return exec.LookPath("prometheus") })
	if path == "" {
		return nil
	}
	return []writebench.Program{{Name: "Prometheus", Start: startPrometheus(path)}}
}

// startPrometheus starts a Prometheus that scrapes nothing and takes remote write.
func startPrometheus(program string) func(ctx context.Context, addr, dir string) (*exec.Cmd, error) {
	return func(ctx context.Context, addr, dir string) (*exec.Cmd, error) {
		file := filepath.Join(dir, "prometheus.yml")
		if err := os.WriteFile(file, []byte("global: {}\n"), 0o644); err != nil {
			return nil, err
		}
		return exec.CommandContext(ctx, program, "--config.file", file, "--storage.tsdb.path", filepath.Join(dir, "tsdb"),
			"--web.listen-address", addr, "--web.enable-remote-write-receiver", "--log.level=error"), nil
	}
}
