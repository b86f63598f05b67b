package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/bench/internal/receivebench"
)

// receiveVerified is how many series receive compares with what was sent.
const receiveVerified = 1000

func newReceive() *cobra.Command {
	var o receiveOptions
	c := &cobra.Command{
		Use:   "receive",
		Short: "Send a made-up load to a receiver, and to collectd",
		Long: `Starts a receiver and a store in a process of their own, on loopback and in a
temporary folder, sends them the packets of made-up hosts at the rate asked for,
and reports what was stored, what was lost, and the processor time it took.

Every host has 100 series, of collectd those that its plugins make, some of several
values; all are sent in turn, packed as the protocol's own sender does. A reading is
an interval (10 s) after the one before, however soon it is sent: 20,000 series at
2 million values a second are what 20 million values every 10 s are to a server, on
fewer series. Of a protocol without times the receiver's clock goes as fast.

Lost is what was sent and not stored, whatever the reason. At the end all series are read
once more without haste, and of 1,000 of them the last update and the last readings are
compared with what was sent.

With --compare the same is sent to the installed collectd: its network plugin
receives, and nothing is behind it (with --compare-rrdtool its rrdtool plugin).`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := c.Flags()
	f.StringVar(&o.protocol, "protocol", "collectd", "the protocol `name`: "+strings.Join(receivebench.Protocols(), ", "))
	f.IntVar(&o.series, "series", 20_000, "number of series, rounded up to whole hosts of 100")
	f.Float64Var(&o.rate, "rate", 2e6, "values sent a second")
	f.Float64Var(&o.seconds, "seconds", 10, "how long")
	f.Uint64Var(&o.seed, "seed", 1, "what the readings follow from")
	f.StringVar(&o.dir, "dir", "", "`folder` for the store (default: the system's for temporary files)")
	f.BoolVar(&o.find, "find", false, "search the highest rate at which at most 0.1 % is lost, starting at --rate")
	f.BoolVar(&o.compare, "compare", false, "send the same to the original program of the protocol")
	f.BoolVar(&o.stores, "compare-rrdtool", false, "let the original program store it with its rrdtool plugin")
	f.BoolVar(&o.segments, "segments", false, "send many datagrams in one call and let the system split them, which costs the sender less")
	f.Float64Var(&o.mostLost, "most-lost", 100, "fail if more than so many percent are lost")
	f.BoolVar(&o.json, "json", false, "print one JSON object")
	f.StringVar(&o.cpuProfile, "cpuprofile", "", "write a CPU profile of the receiver to this `file`")
	return c
}

// newReceiver returns the hidden command that receive starts in a separate process.
func newReceiver() *cobra.Command {
	return &cobra.Command{
		Use:    "receiver ORDER",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return receivebench.Child(cmd.Context(), args[0], cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
}

type receiveOptions struct {
	protocol                    string
	series                      int
	rate, seconds, mostLost     float64
	seed                        uint64
	dir, cpuProfile             string
	find, compare, stores, json bool
	segments                    bool
}

func (o *receiveOptions) run(cmd *cobra.Command) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	config := receivebench.Config{
		Protocol: o.protocol,
		Series:   o.series,
		Rate:     o.rate,
		Length:   time.Duration(o.seconds * float64(time.Second)),
		Seed:     o.seed,
		Dir:      o.dir,
		Verify:   receiveVerified,
		Segments: o.segments,
		Profile:  o.cpuProfile,
		Exec: func(ctx context.Context, arg string) *exec.Cmd {
			return exec.CommandContext(ctx, self, "receiver", arg)
		},
	}
	if o.compare || o.stores {
		config.PeerStores = o.stores
		if config.Peer, err = receivebench.FindPeer(o.protocol); err != nil {
			_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "rondo-bench: not compared: %v\n", err)
		}
	}
	var r receivebench.Result
	if o.find {
		say := func(line string) { _, _ = fmt.Fprintln(cmd.ErrOrStderr(), line) } // the figures matter
		r, err = receivebench.Find(cmd.Context(), config, say)
	} else {
		r, err = receivebench.Run(cmd.Context(), config)
	}
	if r.Rondo.Values > 0 { // also when it was ended too early
		write := r.WriteText
		if o.json {
			write = r.WriteJSON
		}
		err = errors.Join(err, write(cmd.OutOrStdout()))
	}
	if err != nil {
		return err
	}
	if lost := r.Rondo.Loss * 100; lost > o.mostLost {
		return fmt.Errorf("%.4f %% lost, more than %v", lost, o.mostLost)
	}
	return nil
}
