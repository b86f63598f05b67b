package data

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backend"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/cmd/rondo/internal/table"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/wal"
)

func NewWAL(c *cli.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "wal",
		Short: "Look into the log",
	}
	cmd.AddCommand(newWALDump(c), newWALSegments(c), newWALSalvage(c))
	return cmd
}

func newWALDump(c *cli.Factory) *cobra.Command {
	var from uint64
	cmd := cli.Printing(&cobra.Command{
		Use:   "dump [FOLDER]",
		Short: "Print the records of the log",
		Long: `Print a line for each record of the log in the database, or in FOLDER: position, segment, offset of its block,
length and kind. It reads beside a running server, without lock, and tells the damage where it meets it.`,
		Args: cli.Takes(0, 1),
	}, table.Formats, func(_ context.Context, format string, args []string) error {
		return readLog(c, args, func(l *wal.Log) error { return dumpLog(c, l, wal.Pos(from), format) })
	})
	cmd.Flags().Uint64Var(&from, "from", 0, "the first `position` to print (0: the first there is)")
	return cmd
}

// logFolder returns the folder of the log that args name, or of the database's.
func logFolder(c *cli.Factory, args []string) (string, error) {
	if len(args) > 0 {
		return args[0], nil
	}
	t, err := here(c, "wal")
	if err != nil {
		return "", err
	}
	if err := core.HalfRestored(t.DB); err != nil {
		return "", fmt.Errorf("open %s: %w", t.DB, err)
	}
	return filepath.Join(t.DB, backend.LogFolder), nil
}

// readLog opens the log that args name, or the database's, for fn.
func readLog(c *cli.Factory, args []string, fn func(l *wal.Log) error) error {
	dir, err := logFolder(c, args)
	if err != nil {
		return err
	}
	l, err := wal.Open(dir, wal.Options{ReadOnly: true})
	if err != nil {
		return err // it names the folder
	}
	return cmp.Or(fn(l), l.Close())
}

func dumpLog(c *cli.Factory, l *wal.Log, from wal.Pos, format string) error {
	w := table.New(c.Stdout, format, "position", "segment", "offset", "length", "kind")
	err := l.Blocks(from, func(b wal.Block) error {
		for p, rec := range b.Records() {
			if rec.Err != nil {
				return rec.Err
			}
			if p < from {
				continue
			}
			w.Row(uint64(p), b.Segment, b.Offset, len(rec.Data), kindOf(rec.Data))
		}
		return nil
	})
	return cmp.Or(w.Close(), err)
}

func newWALSegments(c *cli.Factory) *cobra.Command {
	return cli.Printing(&cobra.Command{
		Use:   "segments [FOLDER]",
		Short: "Print the segments of the log",
		Long: `Print a line for each segment of the log in the database, or in FOLDER: id, first and last position, length, salt, and whether its
file was another segment before. The last line is the log's mark: the newest segment, and up to which position and offset all is durable. It reads beside a running server, without lock, and tells what is wrong with the log's end.`,
		Args: cli.Takes(0, 1),
	}, table.Formats, func(_ context.Context, format string, args []string) error {
		return readLog(c, args, func(l *wal.Log) error { return dumpSegments(c, l, format) })
	})
}

func dumpSegments(c *cli.Factory, l *wal.Log, format string) error {
	w := table.New(c.Stdout, format, "segment", "first", "last", "bytes", "salt", "recycled")
	all := l.Segments()
	for i, s := range all {
		last := l.Last()
		if i+1 < len(all) {
			last = all[i+1].First - 1
		}
		w.Row(s.ID, uint64(s.First), uint64(last), s.Bytes, fmt.Sprintf("%016x", s.Salt), s.Recycled)
	}
	m := l.Marked()
	w.Row("mark", "", uint64(m.Last), m.End, "", "")
	return cmp.Or(w.Close(), l.Whole())
}

// recordKinds are the names of the engine's records (docs/format.md).
var recordKinds = map[byte]string{
	record.KindSamples:  "samples",
	record.KindCreate:   "create",
	record.KindDrop:     "drop",
	record.KindRename:   "rename",
	record.KindNote:     "note",
	record.KindSettings: "settings",
	record.KindBarrier:  "barrier",
	record.KindMetadata: "metadata",
	record.KindRelabel:  "labels",
	record.KindNumbered: "numbered",
}

// kindOf returns the name of a record's kind.
func kindOf(rec []byte) string {
	if len(rec) == 0 {
		return "barrier" // the log's own
	}
	if name, ok := recordKinds[rec[0]]; ok {
		return name
	}
	return fmt.Sprintf("unknown (0x%02x)", rec[0])
}

func newWALSalvage(c *cli.Factory) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "salvage",
		Short: "Give up what cannot be read of a damaged log",
		Long: `Make a database openable again whose log is damaged, cut or missing: what the database holds, and what can be read of the log
behind it up to the damage, is kept; the rest is given up. Without --yes nothing is changed: it prints what would be kept and given up. The
damaged log is not deleted but renamed to wal.damaged-1 (-2 and so on) in the database's folder. If the missing part turns up again, put it
back before you use this. No server may run.`,
		Args: cli.Takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			t, err := here(c, "wal salvage")
			if err != nil {
				return err
			}
			got, err := core.SalvageLog(cmd.Context(), t.DB, core.Options{}, yes)
			if errors.Is(err, core.ErrWhole) {
				_, err = fmt.Fprintln(c.Stdout, "the log is whole: there is nothing to give up")
				return err
			}
			if err != nil {
				return err
			}
			lost := fmt.Sprintf("positions %d to %d, and whatever was logged behind them", got.Last+1, got.Known)
			if got.Known <= got.Last {
				lost = fmt.Sprintf("whatever was logged behind position %d", got.Last)
			}
			_, err = fmt.Fprintf(c.Stdout, "damage: %v\nkept: the database up to position %d, and the log behind it up to position %d\ngiven up: %s\n", got.Damage, got.Catalogue, got.Last, lost)
			switch {
			case err != nil:
			case !yes:
				err = errors.New("nothing was changed; --yes does it")
			case got.Aside != "":
				_, err = fmt.Fprintf(c.Stdout, "the damaged log is now %s\n", got.Aside)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do it")
	return cmd
}
