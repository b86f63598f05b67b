package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/replace"
)

func newBackup(c *common) *cobra.Command {
	force := false
	cmd := &cobra.Command{
		Use:   "backup FILE|-",
		Short: "Write a consistent copy of the database to a file",
		Long: `Write a consistent copy of the database, compressed with zstd, to FILE or, with "-", to standard output.
A running server goes on serving meanwhile. FILE appears only when the copy is whole and on disk; until then it is
FILE.partial. A FILE that exists is left alone, unless --force replaces it.`,
		Args: oneArg,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if args[0] == "-" && isTerminal(c.stdout) {
				return errors.New("a backup is binary: not written to a terminal")
			}
			if _, err := os.Lstat(args[0]); args[0] != "-" && err == nil && !force {
				return fmt.Errorf("%s exists; --force replaces it", args[0])
			}
			o, err := c.target().Must(cmd.Context(), core.Options{ReadOnly: true})
			if err != nil {
				return err
			}
			defer func() { err = cmp.Or(err, o.Close()) }()
			if args[0] == "-" {
				return o.Backup(cmd.Context(), c.stdout)
			}
			return replaceFile(args[0], func(w io.Writer) error { return o.Backup(cmd.Context(), w) })
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "replace FILE if it exists")
	return cmd
}

// replaceFile replaces the file name by the content that write writes. If write fails, the file
// stays unchanged. The content goes to name.partial first. A process that is killed leaves that
// file behind, and the next process reuses it.
func replaceFile(name string, write func(io.Writer) error) (err error) {
	if err := replace.Check(name); err != nil {
		return err
	}
	f, err := createPartial(name + ".partial")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close() // the first error is the one to report
			_ = os.Remove(f.Name())
		}
	}()
	if err := write(f); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	// The file is still open: its lock keeps other processes from taking it over.
	if err := os.Rename(f.Name(), name); err != nil {
		return err
	}
	return cmp.Or(f.Close(), syncFolder(filepath.Dir(name)))
}

// syncFolder makes a new name in dir durable.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return cmp.Or(d.Sync(), d.Close())
}

func newRestoreBackup(c *common) *cobra.Command {
	return &cobra.Command{
		Use:   "restore-backup FILE|-",
		Short: "Make a database from a backup",
		Long:  `Make the database's folder, which must be empty or absent, from what rondo backup wrote; "-" is standard input.`,
		Args:  oneArg,
		RunE: func(_ *cobra.Command, args []string) error {
			t := c.target()
			if t.Err != nil {
				return t.Err
			}
			in := c.stdin
			if args[0] != "-" {
				f, err := os.Open(args[0])
				if err != nil {
					return err
				}
				defer func() { _ = f.Close() }() // read only
				in = f
			}
			if err := t.Makeable(); err != nil {
				return err
			}
			return core.Restore(bufio.NewReaderSize(in, 1<<20), t.DB) // its errors name the folder
		},
	}
}

// oneArg returns an error that names the argument unless there is exactly one.
func oneArg(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: %s", cmd.UseLine())
	}
	return nil
}
