package about

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backend"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/internal/enginebench"
)

// benchVerified is how many series bench compares with --verify.
const benchVerified = 200

// NewBench returns the command rondo bench with its subcommands. They collect garbage as a server.
func NewBench(*cli.Factory) *cobra.Command {
	c := &cobra.Command{
		Use:              "bench",
		Short:            "Measure the store on this machine",
		Args:             cli.Takes(0, 0),
		PersistentPreRun: func(*cobra.Command, []string) { cli.CollectGarbage(cli.SteadilyCollects) },
	}
	ingest := benchOptions{hours: 1, config: enginebench.Config{Series: 100_000}}
	million := benchOptions{minutes: 5, config: enginebench.Config{Series: 1_000_000}}
	million.config.Options.NoBackground = true // one checkpoint of everything, after the appends
	c.AddCommand(
		ingest.command("ingest", "Append a made-up load, read it back, recover it", ingestHelp),
		million.command("million", "The same with a million series, five minutes and one checkpoint", millionHelp),
		newBenchChildCommand(),
	)
	return c
}

const ingestHelp = `Appends the readings of made-up hosts to a new store, every batch acknowledged
before it counts, and measures that, reading back, and recovery after kill -9.

Every host has 100 data sources: a quarter busy counters, a quarter constant or idle,
a fifth integer gauges, a fifth gauges of two decimals, a tenth floats of full
precision, each read every 10 s. Each is a series of its own, if --sources does not say
otherwise, kept in 5 archives (10 s for an hour, 1 min for a day as average and maximum,
10 min for a week, 1 h for a year), or as --archives says. A sample is one value. The readings
follow from --seed; the clock of the load is made up too. The series are created
before, and what that took is printed apart.

Written bytes are write_bytes of /proc/self/io: whole pages, log and database, each
time they are written. A folder on tmpfs counts none.`

const millionHelp = `Does what bench ingest does with a million series and five minutes of readings.
Nothing is checkpointed until the five minutes are in, so that the longest
checkpoint is the one of all of them.`

// newBenchChildCommand returns the hidden command that bench starts in separate processes.
func newBenchChildCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "child ORDER",
		Hidden: true,
		Args:   cli.Takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return enginebench.Child(cmd.Context(), args[0], cmd.OutOrStdout())
		},
	}
}

type benchOptions struct {
	config                 enginebench.Config
	hours, minutes         int
	sync                   string
	verify, json           bool
	cpuProfile, memProfile string
}

// command returns the command of one load.
func (o *benchOptions) command(name, short, long string) *cobra.Command {
	c := &cobra.Command{
		Use:   name,
		Short: short,
		Long:  long,
		Args:  cli.Takes(0, 0),
		RunE:  func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := c.Flags()
	f.IntVar(&o.config.Series, "series", o.config.Series, "number of series, rounded up to whole hosts")
	f.IntVar(&o.config.Layout.Archives, "archives", 5, "archives of a series: 5, or 15 as collectd makes them")
	f.IntVar(&o.config.Layout.Sources, "sources", 1, "data sources of a series: 1, 2, 4 or 5")
	f.IntVar(&o.hours, "hours", o.hours, "hours of readings")
	f.IntVar(&o.minutes, "minutes", o.minutes, "minutes of readings, added to the hours")
	f.IntVar(&o.config.Appenders, "appenders", 32, "goroutines that append")
	f.IntVar(&o.config.Depth, "depth", 16, "batches that an appender keeps in flight")
	f.Uint64Var(&o.config.Seed, "seed", 1, "what the readings follow from")
	f.StringVar(&o.config.Dir, "dir", "", "folder of the store, new or empty (default: a temporary one, removed afterwards)")
	cli.AddChoice(c, &o.sync, backend.SyncModes[0], "sync", "", backend.SyncModes, "when a batch is acknowledged: always (synced), interval, none")
	f.BoolVar(&o.verify, "verify", false, fmt.Sprintf("compare all rows of %d series, bit for bit, with what was sent", benchVerified))
	f.BoolVar(&o.json, "json", false, "print one JSON object")
	f.StringVar(&o.cpuProfile, "cpuprofile", "", "write a CPU profile of the appends to this file")
	f.StringVar(&o.config.RecoveryProfile, "recovery-cpuprofile", "", "write a CPU profile of the recovery to this file")
	f.StringVar(&o.memProfile, "memprofile", "", "write a heap profile after the appends to this file")
	return c
}

func (o *benchOptions) run(cmd *cobra.Command) (err error) {
	mode, err := backend.ParseSync(o.sync)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	config := o.config
	var remove func() error
	if config.Dir, remove, err = benchDir(config.Dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	config.Readings = (o.hours*60 + o.minutes) * 6
	config.Exec = func(ctx context.Context, arg string) *exec.Cmd {
		return exec.CommandContext(ctx, self, "bench", "child", arg)
	}
	config.Options.Sync = mode
	if o.verify {
		config.Verify = benchVerified
	}
	for _, profile := range []struct {
		name string
		to   *io.Writer
	}{{o.cpuProfile, &config.CPUProfile}, {o.memProfile, &config.MemProfile}} {
		if profile.name == "" {
			continue
		}
		f, failed := os.Create(profile.name)
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		*profile.to = f
	}
	r, err := enginebench.Ingest(cmd.Context(), config)
	if err != nil {
		return err
	}
	if o.json {
		return r.WriteJSON(cmd.OutOrStdout())
	}
	return r.WriteText(cmd.OutOrStdout())
}

// benchDir returns the folder of the store, and a function that removes it if it is temporary.
func benchDir(dir string) (string, func() error, error) {
	if dir != "" {
		entries, err := os.ReadDir(dir)
		if err == nil && len(entries) > 0 {
			err = fmt.Errorf("--dir %s: the folder is not empty", dir)
		}
		if errors.Is(err, os.ErrNotExist) {
			err = nil
		}
		return dir, func() error { return nil }, err
	}
	dir, err := os.MkdirTemp("", "rondo-bench-")
	return dir, func() error { return os.RemoveAll(dir) }, err
}
