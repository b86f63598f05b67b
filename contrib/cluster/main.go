// Command cluster shows a cluster of rondo on this machine: three servers of NATS and three nodes.
// It feeds them, kills a node, and prints what happens. Then it leaves all running until Ctrl-C.
//
//	go run ./contrib/cluster
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/rondo-db/rondo/internal/localcluster"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case errors.Is(err, context.Canceled): // Ctrl-C
	case err != nil:
		fmt.Fprintln(os.Stderr, "ERROR:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (err error) {
	flags := flag.NewFlagSet("cluster", flag.ContinueOnError)
	lasts := flags.Duration("for", -1, "end after this `time` behind the show; negative: at Ctrl-C")
	pause := flags.Duration("pause", 200*time.Millisecond, "the `time` between updates")
	rondo := flags.String("rondo", "", "the `program` rondo; empty: it is built of this module")
	if err := flags.Parse(args); err != nil {
		return err
	}
	nats, err := localcluster.FindNATS()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "rondo-cluster")
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, os.RemoveAll(dir))
		fmt.Println("All processes have ended, and", dir, "is removed.")
	}()
	if *rondo == "" {
		fmt.Println("Building rondo.")
		if *rondo, err = localcluster.BuildRondo(dir); err != nil {
			return err
		}
	}
	c, err := localcluster.New(localcluster.Options{Dir: dir, Rondo: *rondo, NATS: nats, Partitions: 4, Replicas: 2})
	if err != nil {
		return err
	}
	defer c.Close()
	s := &show{c: c, rondo: *rondo, pause: *pause, began: time.Now()}
	if err := s.play(ctx); err != nil {
		return fmt.Errorf("%w\nlogs:\n%s", err, s.logs())
	}
	s.tellAddresses(dir)
	if *lasts >= 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, *lasts)
		defer cancel()
	} else {
		fmt.Println("\nCtrl-C ends all of it and removes what it has stored.")
	}
	s.feed(ctx, func(update) {})
	return nil
}
