// Rondo-bench compares rondo with the programs that it stands in for. It sends the same load to both
// in one run, and prints what each of them did with it. See `rondo-bench help`.
package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/internal/text"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := newRoot().ExecuteContext(ctx)
	stop()
	if err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "ERROR: %s\n", text.EscapeLines(err.Error())) // nobody is left to tell
		os.Exit(1)
	}
}

func newRoot() *cobra.Command {
	c := &common{}
	root := &cobra.Command{
		Use:   "rondo-bench",
		Short: "Compare rondo with the programs that it stands in for",
		Long: `Compares rondo with collectd, rrdcached and rrdtool: sends the same load to both in one
run, and prints what each of them did with it. A program that is not installed is left
out. "rondo bench ingest" measures the store by itself.`,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.PersistentFlags().StringVar(&c.rondo, "rondo", "", "the rondo `program` to measure (default: the one beside this program, else the one in the PATH)")
	root.AddCommand(newReceive(), newReceiver(), newRRDCached(c), newPipe(c), newOneShot(c))
	return root
}

// common are the flags that several commands have.
type common struct {
	rondo string
}

// findRondo returns the path of the rondo program to measure.
func (c *common) findRondo() (string, error) {
	if c.rondo != "" {
		return filepath.Abs(c.rondo)
	}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), "rondo")
		if _, err := os.Stat(beside); err == nil {
			return beside, nil
		}
	}
	found, err := exec.LookPath("rondo")
	if err != nil {
		return "", fmt.Errorf("no program to measure: %w (--rondo says where it is)", err)
	}
	return filepath.Abs(found)
}

// workFolder returns the absolute path of the folder to work in, and a function that removes the
// folder if it is a temporary one. A folder that the user names must be new or empty.
func workFolder(dir string) (string, func() error, error) {
	if dir != "" {
		entries, err := os.ReadDir(dir)
		if err == nil && len(entries) > 0 {
			err = fmt.Errorf("--dir %s: the folder is not empty", dir)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", nil, err
		}
		dir, err = filepath.Abs(dir)
		return dir, func() error { return nil }, err
	}
	dir, err := os.MkdirTemp("", "rondo-bench-")
	return dir, func() error { return os.RemoveAll(dir) }, err
}
