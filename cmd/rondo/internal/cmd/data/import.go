package data

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backend"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/text"
	"github.com/rondo-db/rondo/query/rrd/transfer"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/graphite"
)

// An importing is a run of rondo import.
type importing struct {
	*cli.Factory
	prefix    string
	overwrite bool
	labels    []string
	jobs      int
}

func NewImport(c *cli.Factory) *cobra.Command {
	i := &importing{Factory: c}
	cmd := &cobra.Command{
		Use:   "import FOLDER|FILE…",
		Short: "Make series of rrdtool's and Whisper's files",
		Long: `Make series of rrdtool's files, native ones (.rrd) and XML (.xml), with their state and all rows, and of Whisper's (.wsp).
Of a folder all such files are taken, below it too, and a series is called as its file is from there; a file alone has no
folder. What lies below RONDO_BASE is called as it is from there, as by rrdtool's verbs, unless --prefix is given. The series
of a/b.wsp is graphite/a/b, with labels: the one that the receiver of Graphite makes for a.b.

A series that is there, and as old as its file, is skipped, so that an import that was stopped goes on when it is run again.
A file that cannot be imported is told on stderr, the others are imported all the same, and the exit code is 1.`,
		Args: cli.Takes(1, cli.Unlimited),
		RunE: func(cmd *cobra.Command, args []string) error {
			cli.CollectGarbage(cli.SteadilyCollects)
			return i.run(cmd.Context(), args, cmd.Flags().Changed("prefix"))
		},
	}
	f := cmd.Flags()
	f.StringVar(&i.prefix, "prefix", "", "`folder` of the database in which the series are made")
	f.BoolVar(&i.overwrite, "overwrite", false, "replace existing series")
	f.StringArrayVar(&i.labels, "labels", nil, "a label of every series, `name=value`; may be repeated")
	f.IntVarP(&i.jobs, "jobs", "j", runtime.GOMAXPROCS(0), "how many `files` are decoded at the same time")
	return cmd
}

func (i *importing) run(ctx context.Context, args []string, prefixed bool) (err error) {
	o, err := i.options()
	if err != nil {
		return err
	}
	t := i.Target() // reads the configuration, which may name the base
	var files finder
	if !prefixed {
		if files.place, err = i.Place(); err != nil {
			return err
		}
	}
	if err := files.find(args, i.prefix); err != nil {
		return err
	}
	items := files.items
	if len(items)+len(files.failed) == 0 {
		return fmt.Errorf("no .rrd, .xml or .wsp below %s", strings.Join(args, ", "))
	}
	t.Stays = true
	if err := t.RefuseDaemon(ctx); err != nil {
		return err
	}
	s, err := t.Open(ctx, core.Options{}, true)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, s.Close()) }()
	var count tally
	total := len(items) + len(files.failed)
	show := cli.NewProgress(i.Stderr, total, "files")
	done := func(r transfer.Result) {
		count.add(r)
		if r.Err != nil {
			show.Print(fmt.Sprintf("%s: %v", r.Name, r.Err))
		}
		show.Step(1)
	}
	for _, r := range files.failed {
		done(r)
	}
	if s.Client != nil {
		err = backend.Upload(ctx, s.Client, o, items, done)
	} else {
		err = importInto(ctx, s.Store, o, items, done)
	}
	show.End()
	_, e := fmt.Fprintf(i.Stdout, "%d of %d files imported, %d skipped, %d failed\n", count.imported, total, count.skipped, count.failed)
	if ctx.Err() != nil {
		_, _ = fmt.Fprintln(i.Stderr, "stopped; run again, it goes on where it was") // the last word
		return cli.ExitError(cli.ExitStopped)
	}
	if err := cmp.Or(err, e); err != nil {
		return err
	}
	if count.failed > 0 {
		return cli.ExitError(1)
	}
	return nil
}

// options returns the options of the import that the flags give.
func (i *importing) options() (transfer.Options, error) {
	o := transfer.Options{Overwrite: i.overwrite, Jobs: i.jobs}
	for _, l := range i.labels {
		name, value, ok := strings.Cut(l, "=")
		if !ok || name == "" {
			return o, fmt.Errorf("--labels %s: not name=value", l)
		}
		if err := text.Check(l); err != nil {
			return o, fmt.Errorf("--labels %s: it %w", l, err)
		}
		o.Labels = append(o.Labels, core.Label{Name: name, Value: value})
	}
	return o, nil
}

// A tally counts files by outcome.
type tally struct {
	imported, skipped, failed int
}

func (t *tally) add(r transfer.Result) {
	switch r.Outcome {
	case transfer.Imported:
		t.imported++
	case transfer.Skipped:
		t.skipped++
	default:
		t.failed++
	}
}

// A finder finds the files that are to be imported.
type finder struct {
	items  []transfer.Item
	failed []transfer.Result // files that cannot be imported, with the errors
	place  backend.Place     // turns names below the base into paths; the zero value has no base
	named  map[string]string // the file of each series, by its path without .rrd
}

// find finds the files that args mean, in order, and the paths of their series.
func (f *finder) find(args []string, prefix string) error {
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil {
			return err
		}
		if !info.IsDir() {
			f.file(arg, prefix, filepath.Base(arg))
			continue
		}
		// The separator makes WalkDir follow a symbolic link to a folder.
		err = filepath.WalkDir(arg+string(filepath.Separator), func(name string, e fs.DirEntry, err error) error {
			if err != nil { // a folder that cannot be read; go on with the others
				f.fail(name, cli.PathError(err))
				return nil
			}
			if e.IsDir() || !slices.Contains([]string{".rrd", ".xml", whisperExt}, filepath.Ext(name)) {
				return nil
			}
			if info, err := e.Info(); err == nil && transfer.IsNote(name, info) {
				return nil
			}
			inside, err := filepath.Rel(arg, name)
			if err != nil {
				return err
			}
			f.file(name, prefix, filepath.ToSlash(inside))
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// file adds a file, which is called inside in its folder.
func (f *finder) file(name, prefix, inside string) {
	if filepath.Ext(name) == whisperExt {
		id, err := identify(prefix, inside)
		if err != nil {
			f.fail(name, err)
			return
		}
		f.add(name, id.Path, id.Labels)
		return
	}
	f.add(name, f.place.Below(name, path.Join(prefix, inside)), nil)
}

// add adds a file, unless it was added before.
func (f *finder) add(name, series string, labels []core.Label) {
	if s, ok := strings.CutSuffix(series, ".xml"); ok {
		series = strings.TrimSuffix(s, ".rrd") + ".rrd"
	}
	if err := text.Check(series); err != nil {
		f.fail(name, fmt.Errorf("its name %w: give it another", err))
		return
	}
	key := strings.TrimSuffix(series, ".rrd")
	switch other, twice := f.named[key]; {
	case !twice:
		if f.named == nil {
			f.named = make(map[string]string)
		}
		f.named[key] = name
		f.items = append(f.items, transfer.Item{Index: len(f.items), Path: series, Name: name, Labels: labels})
	case filepath.Clean(other) != filepath.Clean(name):
		f.fail(name, fmt.Errorf("is the series of %s, too", other))
	}
}

func (f *finder) fail(name string, err error) {
	f.failed = append(f.failed, transfer.Result{Item: transfer.Item{Name: name}, Outcome: transfer.Failed, Err: err})
}

// importInto imports files into a store of this process.
func importInto(ctx context.Context, s *core.Store, o transfer.Options, items []transfer.Item, done func(transfer.Result)) error {
	queue := make(chan transfer.Item, len(items))
	for _, item := range items {
		queue <- item
	}
	close(queue)
	return transfer.Import(ctx, s, o, queue, done)
}

// whisperExt is how the names of Whisper's files end.
const whisperExt = ".wsp"

var errHashedName = errors.New("its name is a hash of tags, which the file does not hold: carbon has TAG_HASH_FILENAMES")

// identify returns the path and the labels of the series that the receiver of Graphite makes for
// the name that carbon keeps in a file. inside is the file's path from the folder that is imported.
// The series is below prefix; empty: below the receiver's own. Of a prefix graphite/a, a is part of
// the name.
func identify(prefix, inside string) (receivers.Identity, error) {
	top := graphite.Protocol.Name
	if prefix == "" {
		prefix = top
	}
	if rest, ok := strings.CutPrefix(path.Clean(prefix)+"/", top+"/"); ok {
		prefix, inside = top, rest+inside
	}
	name, err := carbonName(strings.TrimSuffix(inside, whisperExt))
	if err != nil {
		return receivers.Identity{}, err
	}
	n, err := graphite.ParseName([]byte(name))
	if err != nil {
		return receivers.Identity{}, err
	}
	return n.Identity(path.Clean(prefix)), nil
}

// carbonName returns the name that carbon keeps in a file, whose path is given without its ending:
// a.b in a/b, a.b;t=1 in _tagged/XXX/XXX/a_DOT_b;t=1. The X are the first digits of a hash.
func carbonName(file string) (string, error) {
	folder, base := path.Split(file)
	switch {
	case strings.Contains(base, ";"):
		return strings.ReplaceAll(base, "_DOT_", "."), nil
	case len(base) == 64 && strings.HasSuffix("/"+folder, "/"+base[:3]+"/"+base[3:6]+"/"):
		return "", errHashedName
	}
	return strings.ReplaceAll(file, "/", "."), nil
}
