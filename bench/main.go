// Rondo-bench compares rondo with the programs that it stands in for. It sends the same load to
// both in one run, and prints what each of them did with it. See `rondo-bench help`.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/internal/text"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := newRoot().ExecuteContext(ctx)
	stop()
	if err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "ERROR: %s\n", text.EscapeLines(err.Error())) // the last word
		os.Exit(1)
	}
}

func newRoot() *cobra.Command {
	c := &common{}
	root := &cobra.Command{
		Use:   "rondo-bench",
		Short: "Compare rondo with the programs that it stands in for",
		Long: `Compares rondo with collectd, go-carbon, Prometheus, rrdcached and rrdtool: sends the
same load to both in one run, and prints what each of them did with it. A program that is
not installed is left out. "rondo bench ingest" measures the store by itself.`,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.PersistentFlags().StringVar(&c.rondo, "rondo", "", "the rondo `program` to measure (default: the one beside this program, else the one in the PATH)")
	root.AddCommand(newIngest(c), newReceive(), newReceiver(), newRRDCached(c), newPipe(c), newOneShot(c), newGraph(c), newGraphite(c), newViewers(c), newRemoteWrite(c), newPromQL(c), newCluster(c), newStore(), newModel(), newSizes(), newChild())
	return root
}
