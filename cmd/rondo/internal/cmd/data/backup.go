package data

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backups"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/replace"
)

func NewBackup(c *cli.Factory) *cobra.Command {
	var force, check bool
	var since string
	cmd := &cobra.Command{
		Use:   "backup FILE|-",
		Short: "Write a consistent copy of the database to a file",
		Long: `Write a consistent copy of the database, compressed with zstd, to FILE or, with "-", to standard output.
A running server goes on serving meanwhile. FILE appears only when the copy is whole and on disk; until then it is
FILE.partial. A FILE that exists is left alone, unless --force replaces it.

With --since the copy holds only what has changed since the backup BASE, which may itself be one since another. It is
restored together with all of them: rondo restore-backup FULL FILE...

With --check nothing is written: FILE is read, every checksum in it is compared, and the exit code is 1 if anything is
wrong. Backups of what changed are checked with those they were made since: rondo backup --check FULL FILE...
rondo serve --backup-to makes backups at regular times.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if check {
				return someBackups(cmd, args)
			}
			return oneArg(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if check {
				return checkBackup(cmd.Context(), c, args)
			}
			return backup(cmd.Context(), c, args[0], since, force)
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "replace FILE if it exists")
	cmd.Flags().BoolVar(&check, "check", false, "read FILE and say whether it is a whole backup")
	cmd.Flags().StringVar(&since, "since", "", "write only what has changed since the backup `BASE`")
	cmd.MarkFlagsMutuallyExclusive("check", "since")
	return cmd
}

// backup writes a backup to a file, or to standard output.
func backup(ctx context.Context, c *cli.Factory, name, since string, force bool) (err error) {
	if name == "-" && cli.IsTerminal(c.Stdout) {
		return errors.New("a backup is binary: not written to a terminal")
	}
	if _, err := os.Lstat(name); name != "-" && err == nil && !force {
		return fmt.Errorf("%s exists; --force replaces it", name)
	}
	base, err := readBase(since)
	if err != nil {
		return err
	}
	o, err := c.Target().Must(ctx, core.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, o.Close()) }()
	if name == "-" {
		return o.Backup(ctx, c.Stdout, base)
	}
	return replace.File(name, func(w io.Writer) error { return o.Backup(ctx, w, base) })
}

// readBase reads the head of the backup in a file; nil: name is empty.
func readBase(name string) (*core.BackupHead, error) {
	if name == "" {
		return nil, nil
	}
	return backups.Head(name)
}

// checkBackup reads backups and says that they are right.
func checkBackup(ctx context.Context, c *cli.Factory, names []string) (err error) {
	if names[0] == "-" {
		_, err = core.VerifyBackup(ctx, bufio.NewReaderSize(c.Stdin, 1<<20))
	} else {
		_, err = core.VerifyBackups(ctx, names...)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.Stdout, "no problem found")
	return err
}

func NewRestoreBackup(c *cli.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "restore-backup FILE...|-",
		Short: "Make a database from a backup",
		Long: `Make the database's folder, which must be empty or absent, from what rondo backup wrote; "-" is standard input.
Several FILEs are one backup of everything and those of what changed since, in the order in which they were made.`,
		Args: someBackups,
		RunE: func(_ *cobra.Command, args []string) error {
			t := c.Target()
			if err := t.OnlyHere("restore-backup"); err != nil {
				return err
			}
			for _, name := range args {
				if _, err := os.Stat(name); name != "-" && err != nil {
					return err
				}
			}
			if err := t.Makeable(); err != nil {
				return err
			}
			if args[0] == "-" {
				return core.Restore(bufio.NewReaderSize(c.Stdin, 1<<20), t.DB) // its errors name the folder
			}
			return core.RestoreFiles(t.DB, args...)
		},
	}
}

// someBackups returns an error unless there are files, or only standard input.
func someBackups(cmd *cobra.Command, args []string) error {
	if len(args) == 0 || len(args) > 1 && slices.Contains(args, "-") {
		return fmt.Errorf("usage: %s", cmd.UseLine())
	}
	return nil
}

// oneArg returns an error that names the argument unless there is exactly one.
func oneArg(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: %s", cmd.UseLine())
	}
	return nil
}
