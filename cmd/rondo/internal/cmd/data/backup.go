package data

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backend"
	"github.com/rondo-db/rondo/cmd/rondo/internal/backups"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/cmd/rondo/internal/config"
	"github.com/rondo-db/rondo/cmd/rondo/internal/health"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/replace"
	"github.com/rondo-db/rondo/internal/text"
)

func NewBackup(c *cli.Factory) *cobra.Command {
	var force, check bool
	var since string
	cmd := &cobra.Command{
		Use:   "backup FILE|-",
		Short: "Write a consistent copy of the database to a file",
		Long: `Write a consistent copy of the database, compressed with zstd, to FILE or, with "-", to standard output.
A running server goes on serving meanwhile. FILE appears only when the copy is whole and on disk; until then it is
FILE.partial. A FILE that exists is left alone, unless --force replaces it. It holds the dashboards, too, and the files
of rules that the server has; without a server, those that the configuration names.

With --since the copy holds only what has changed since the backup BASE, which may itself be one since another. It is
restored together with all of them: rondo restore-backup FULL FILE...

With --check nothing is written: FILE is read, every checksum in it is compared, and the exit code is 1 if anything is
wrong. Backups of what changed are checked with those they were made since: rondo backup --check FULL FILE...
rondo serve --backup-to makes backups at regular times.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if check {
				return someBackups(cmd, args)
			}
			return cli.Takes(1, 1)(cmd, args)
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
	var base *core.BackupHead
	if since != "" {
		if base, err = backups.Head(since); err != nil {
			return err
		}
	}
	t := c.Target()
	o, err := t.Must(ctx, core.Options{ReadOnly: true, Beside: beside(c, t)})
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, o.Close()) }()
	if name == "-" {
		return o.Backup(ctx, c.Stdout, base)
	}
	if err := replace.File(name, func(w io.Writer) error { return o.Backup(ctx, w, base) }); err != nil {
		return err
	}
	info, err := os.Stat(name)
	if err == nil {
		_, err = fmt.Fprintf(c.Stdout, "%s: %s\n", text.Escape(name), health.Size(info.Size()))
	}
	return err
}

// beside returns what a backup holds besides the database that this process opens: dashboards, and
// the files of rules that variable and configuration file name for a server.
func beside(c *cli.Factory, t backend.Target) func(func(string, []byte) error) error {
	warn := func(what string, err error) { // the backup goes on
		_, _ = fmt.Fprintf(c.Stderr, "rondo: left out of the backup: %s: %v\n", what, err)
	}
	const key = "rule-file"
	rules := strings.FieldsFunc(c.Getenv(config.Variable(key)), func(r rune) bool { return r == ',' })
	if file := c.FindConfig(c.ConfigFile); file != "" && len(rules) == 0 {
		err := config.Parse(file, config.Section{Key: key, Parse: func(n *yaml.Node) error {
			if n.Kind == yaml.ScalarNode {
				n = &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{n}}
			}
			return n.Decode(&rules)
		}})
		if err != nil {
			warn(key, err)
		}
	}
	return backups.Beside(t.DB, rules, warn)
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
Several FILEs are a full backup and its increments, in the order in which they were made.
Restore puts dashboards back. Rule files go to the folder rules of the database: start the server with --rule-file.`,
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
			var err error
			if args[0] == "-" {
				err = core.Restore(bufio.NewReaderSize(c.Stdin, 1<<20), t.DB) // its errors name the folder
			} else {
				err = core.RestoreFiles(t.DB, args...)
			}
			if err != nil {
				return err
			}
			return sayRestored(c, t.DB)
		},
	}
}

// sayRestored prints what is in a database that was made, and what to do with its rules.
func sayRestored(c *cli.Factory, dir string) error {
	store, err := core.Open(dir, core.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	st := store.Stats()
	if err := store.Close(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.Stdout, "%s: %d series, %s\n", text.Escape(dir), st.Series, health.Size(st.DatabaseBytes+st.LogBytes))
	rules := filepath.Join(dir, backups.RulesFolder)
	if _, e := os.Stat(rules); err == nil && e == nil {
		_, err = fmt.Fprintf(c.Stdout, "The rules are in %s: rondo serve --rule-file '%s'\n", text.Escape(rules), text.Escape(filepath.Join(rules, "*")))
	}
	return err
}

// someBackups returns an error unless there are files, or only standard input.
func someBackups(cmd *cobra.Command, args []string) error {
	if len(args) > 1 && slices.Contains(args, "-") {
		return errors.New("- is standard input, and stands alone")
	}
	return cli.Takes(1, cli.Unlimited)(cmd, args)
}
