package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/replace"
)

func newBackup(c *common) *cobra.Command {
	var force, check bool
	cmd := &cobra.Command{
		Use:   "backup FILE|-",
		Short: "Write a consistent copy of the database to a file",
		Long: `Write a consistent copy of the database, compressed with zstd, to FILE or, with "-", to standard output.
A running server goes on serving meanwhile. FILE appears only when the copy is whole and on disk; until then it is
FILE.partial. A FILE that exists is left alone, unless --force replaces it.

With --check nothing is written: FILE is read, every checksum in it is compared, and the exit code is 1 if anything is
wrong. rondo serve --backup-to makes backups at regular times.`,
		Args: oneArg,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if check {
				return c.checkBackup(cmd.Context(), args[0])
			}
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
			return replace.File(args[0], func(w io.Writer) error { return o.Backup(cmd.Context(), w) })
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "replace FILE if it exists")
	cmd.Flags().BoolVar(&check, "check", false, "read FILE and say whether it is a whole backup")
	return cmd
}

// checkBackup reads a backup and prints what it holds.
func (c *common) checkBackup(ctx context.Context, name string) error {
	in := c.stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }() // read only
		in = f
	}
	if _, err := core.VerifyBackup(ctx, bufio.NewReaderSize(in, 1<<20)); err != nil {
		return err
	}
	_, err := fmt.Fprintln(c.stdout, "no problem found")
	return err
}

func newRestoreBackup(c *common) *cobra.Command {
	return &cobra.Command{
		Use:   "restore-backup FILE|-",
		Short: "Make a database from a backup",
		Long:  `Make the database's folder, which must be empty or absent, from what rondo backup wrote; "-" is standard input.`,
		Args:  oneArg,
		RunE: func(_ *cobra.Command, args []string) error {
			t := c.target()
			if err := t.OnlyHere("restore-backup"); err != nil {
				return err
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
