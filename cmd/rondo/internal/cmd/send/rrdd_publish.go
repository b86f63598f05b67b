package send

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/receivers/rrdd"
	"github.com/rondo-db/rondo/rra"
)

const rrddPublishHelp = `Write a plugin file of XenServer's rrdd, as its plugins do: a shell script can publish a metric to a daemon, or to
` + "`rondo serve --rrdd`" + `, in one line. PLUGIN names the file, and each NAME becomes a series rrdd/PLUGIN/host/NAME. What the flags
say holds for all of them.

  rondo rrdd-publish --dir /dev/shm/metrics sensors temperature=21.5 --units degC
  rondo rrdd-publish --owner 'vm 5f6c1a9e-0000-4000-8000-0123456789ab' --type derive --value-type int64 disk written=123456

Without NAME=VALUE, lines "NAME VALUE" are read from standard input: all of them, and the file is written once; or with --interval
without end, and the file is written that often, if a line came, with the latest value of every name so far.

A file holds what was last written to it, and no more: to publish from two scripts, use two plugins.`

// rrddFolder is the folder in which the daemon looks for plugins.
const rrddFolder = "/dev/shm/metrics"

// An rrddPublish is the flags of the command.
type rrddPublish struct {
	dir, owner, lo, hi, at string
	v1, atomic             bool
	interval               time.Duration
	like                   rrdd.Source // the properties of all data sources
	now                    func() time.Time

	file rrdd.File
	of   map[string]int // index in file, by name
}

func NewRRDDPublish(c *cli.Factory) *cobra.Command {
	p := &rrddPublish{now: c.Now, of: make(map[string]int)}
	cmd := &cobra.Command{
		Use:   "rrdd-publish PLUGIN [NAME=VALUE…]",
		Short: "Write a plugin file of XenServer's rrdd, which serve --rrdd reads",
		Long:  rrddPublishHelp,
		Args:  cli.Takes(1, cli.Unlimited),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			w := rrdd.Writer{Path: filepath.Join(p.dir, args[0]), Atomic: p.atomic}
			if strings.ContainsRune(args[0], filepath.Separator) {
				return fmt.Errorf("plugin %q: want a name, and the folder with --dir", args[0])
			}
			defer func() { err = cmp.Or(err, w.Close()) }()
			return p.run(cmd.Context(), c.Stdin, &w, args[1:])
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&p.dir, "dir", rrddFolder, "the plugins' `folder`")
	f.TextVar(&p.like.Type, "type", rrdd.Gauge, "kind of the values, a `word`: gauge (a measurement), absolute (a count since the last reading), derive (a running total); as before 2016 rate, absolute_to_rate")
	f.TextVar(&p.like.ValueType, "value-type", rrdd.Float, "form of the values, a `word`: float, or int64 for whole numbers, which stay exact")
	f.StringVar(&p.owner, "owner", "host", "owner of the values: `host`, \"vm UUID\" or \"sr UUID\"")
	f.StringVar(&p.like.Units, "units", "", "units of the values, a `text`")
	f.StringVar(&p.like.Description, "description", "", "description of the values, a `text`")
	f.StringVar(&p.lo, "min", "-inf", "the smallest `value`, or the smallest rate of a value that is one")
	f.StringVar(&p.hi, "max", "inf", "the largest `value`")
	f.BoolVar(&p.like.Default, "default", false, "the daemon stores the values without being asked to")
	f.TextVar(&p.like.Transform, "transform", rrdd.Identity, "transformation of the values, a `word`: identity or inverse")
	f.BoolVar(&p.v1, "v1", false, "write version 1 of the format, not 2")
	f.BoolVar(&p.atomic, "atomic", false, "replace the file by a new one (the real daemon goes on reading the old file)")
	f.StringVar(&p.at, "at", "", "`time` of the values, as in rrdtool (default: now)")
	f.DurationVar(&p.interval, "interval", 0, "read standard input without end, and write the plugin file this often")
	return cmd
}

func (p *rrddPublish) run(ctx context.Context, stdin io.Reader, w *rrdd.Writer, pairs []string) error {
	if err := p.parse(len(pairs)); err != nil {
		return err
	}
	if len(pairs) > 0 {
		for _, pair := range pairs {
			i := strings.LastIndexByte(pair, '=')
			if i < 0 {
				return fmt.Errorf("%q: want NAME=VALUE", pair)
			}
			if err := p.set(pair[:i], pair[i+1:]); err != nil {
				return err
			}
		}
		return p.write(w)
	}
	return p.follow(ctx, stdin, w)
}

// parse reads the flags that have a syntax of their own.
func (p *rrddPublish) parse(pairs int) (err error) {
	if p.file.Version = 2; p.v1 {
		p.file.Version = 1
	}
	switch {
	case p.interval < 0:
		return fmt.Errorf("--interval %v is negative", p.interval)
	case p.interval > 0 && pairs > 0:
		return errors.New("--interval repeats standard input: leave NAME=VALUE out")
	case p.interval > 0 && p.at != "":
		return errors.New("--interval and --at exclude each other")
	}
	if p.like.Owner, p.like.UUID, err = rrdd.ParseOwner(p.owner); err != nil {
		return fmt.Errorf("--owner: %w", err)
	}
	for _, limit := range []struct {
		flag, text string
		into       *float64
	}{{"min", p.lo, &p.like.Min}, {"max", p.hi, &p.like.Max}} {
		v, err := rrdd.ParseValue(limit.text, rrdd.Float)
		if err != nil {
			return fmt.Errorf("--%s: %w", limit.flag, err)
		}
		*limit.into = math.Float64frombits(v.Bits)
	}
	if p.like.Min >= p.like.Max {
		return fmt.Errorf("--min %s is not below --max %s", p.lo, p.hi)
	}
	return nil
}

// line reads a line "NAME VALUE". The name may contain blanks.
func (p *rrddPublish) line(n int, line string) error {
	line = strings.TrimSpace(line)
	if line == "" {
		return nil
	}
	i := strings.LastIndexAny(line, " \t")
	if i < 0 {
		return fmt.Errorf("line %d: %q: want NAME VALUE", n, line)
	}
	if err := p.set(strings.TrimSpace(line[:i]), line[i+1:]); err != nil {
		return fmt.Errorf("line %d: %w", n, err)
	}
	return nil
}

func (p *rrddPublish) set(name, text string) error {
	v, err := rrdd.ParseValue(text, p.like.ValueType)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	i, ok := p.of[name]
	if !ok {
		if len(p.of) >= rrdd.MaxSources {
			return fmt.Errorf("%s: a file has at most %d data sources", name, rrdd.MaxSources)
		}
		i = len(p.of)
		p.of[name] = i
		s := p.like
		s.Name = name
		p.file.Sources, p.file.Values = append(p.file.Sources, s), append(p.file.Values, rra.Value{})
	}
	p.file.Values[i] = v
	return nil
}

func (p *rrddPublish) write(w *rrdd.Writer) error {
	if len(p.file.Sources) == 0 {
		return errors.New("nothing to publish")
	}
	at, err := instant(p.at, p.now())
	if err != nil {
		return err
	}
	p.file.Timestamp = float64(at) / 1e6
	return w.Write(&p.file)
}

// follow writes the file at the end of the input, and at every interval in which a line came.
func (p *rrddPublish) follow(ctx context.Context, stdin io.Reader, w *rrdd.Writer) error {
	lines, ended := make(chan string), make(chan error, 1)
	go func() { // a read of standard input cannot be ended; the process ends first
		s := bufio.NewScanner(stdin)
		for s.Scan() {
			select {
			case lines <- s.Text():
			case <-ctx.Done():
				return
			}
		}
		ended <- s.Err()
	}()
	var tick <-chan time.Time
	if p.interval > 0 {
		tick = time.Tick(p.interval)
	}
	fresh := p.interval == 0
	for n := 1; ; {
		select {
		case line := <-lines:
			if err := p.line(n, line); err != nil {
				return err
			}
			n, fresh = n+1, true
			continue
		case <-tick:
		case err := <-ended:
			if err != nil {
				return fmt.Errorf("standard input: %w", err)
			}
			if fresh {
				err = p.write(w)
			}
			return err
		case <-ctx.Done():
			return nil
		}
		if fresh {
			if err := p.write(w); err != nil {
				return err
			}
			fresh = false
		}
	}
}
