// Package serve has the command rondo serve: its flags and settings, what a reload changes, and the
// list of protocols.
package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backend"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/cmd/rondo/internal/config"
	"github.com/rondo-db/rondo/cmd/rondo/internal/rules"
	"github.com/rondo-db/rondo/cmd/rondo/internal/server"
	"github.com/rondo-db/rondo/cmd/rondo/internal/server/middleware"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/natsconn"
	"github.com/rondo-db/rondo/query/prom/alerts"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/collectd"
	"github.com/rondo-db/rondo/receivers/gmetric"
	"github.com/rondo-db/rondo/receivers/graphite"
	"github.com/rondo-db/rondo/receivers/influx"
	"github.com/rondo-db/rondo/receivers/mono"
	"github.com/rondo-db/rondo/receivers/otlp"
	"github.com/rondo-db/rondo/receivers/remotewrite"
	"github.com/rondo-db/rondo/receivers/rrdd"
	"github.com/rondo-db/rondo/receivers/sink"
	"github.com/rondo-db/rondo/receivers/smon"
	"github.com/rondo-db/rondo/receivers/statsd"
	"github.com/rondo-db/rondo/rra"
)

const serveHelp = `Receive samples and answer queries, until SIGTERM or SIGINT; then store what was received and exit.

Every flag may also be given as a variable (--collectd-auth-file as RONDO_COLLECTD_AUTH_FILE) or as a key of the YAML
file that --config names; a flag goes before a variable, and a variable before the file. An empty address turns a
listener off. Everything listens on loopback until told otherwise. SIGHUP reads the file again: receivers and the policy
follow it at once, and the log names settings that need a restart. Durations are seconds (30), or have a unit (500ms, 30s, 10m,
12h, 7d); sizes are bytes, or have a unit (512M, 4G).

--sync says when a sample counts as stored, and so what a loss of power may take:

  always     after it is synced to the disk: nothing (the default)
  interval   after it is written; synced once every --sync-interval: that much
  none       after it is written: what the system had not yet written by itself

A killed process loses nothing in any of them.

The key "policy" of the file is a list of rules for new series; the first that matches decides:

  policy:
    - path: collectd/*/cpu-*/**
      labels: {host: "web*"}
      step: 10s
      heartbeat: 30s
      archives: ["RRA:AVERAGE:0.5:10s:1d", "RRA:AVERAGE:0.5:5m:1y"]
      expire: 30d

The key "metrics" names series that no protocol names, for queries in PromQL: docs/prometheus.md.

rondo policy test NAME shows what a name gets, rondo config check whether the file is right. docs/serve.md has the details.`

// A Settings is the settings of the server. Flags fill its Config, but for texts that have to be
// read first.
type Settings struct {
	*cli.Factory
	Config server.Config
	Flags  *pflag.FlagSet
	HTTP   []string
	rrd    rrdcachedFlags
	mode   string // --socket-mode
	public string // --external-url
	sync   string // --sync
	level  string // --log-level
	json   bool   // --log-json
	node   nodeFlags
	ways   []way
	File   string       // the configuration file that was applied last; empty: none
	Rules  []rules.Rule // of that file
}

// NewCommand returns the command rondo serve.
func NewCommand(c *cli.Factory) *cobra.Command {
	_, cmd := NewSettings(c)
	return cmd
}

// NewSettings returns the settings, and the command whose flags fill them.
func NewSettings(c *cli.Factory) (*Settings, *cobra.Command) {
	s := &Settings{Factory: c}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Receive samples and answer queries; the main job",
		Long:  serveHelp,
		Args:  cli.Takes(0, 0),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringSliceVar(&s.HTTP, "http", []string{"127.0.0.1:9180"}, "`address` on which RPC, metrics, health checks and the page / are served; repeatable; empty: none")
	f.StringSliceVar(&s.Config.HTTPHosts, "http-host", nil, "`name` by which clients reach --http, besides addresses, localhost and the host's own name; * allows any name")
	f.StringVar(&s.Config.WebConfig, "web-config", "", "`file` of TLS, users, passwords and tokens of --http, in the format of Prometheus' exporters; read again when it changes")
	for _, p := range Protocols {
		s.ways = append(s.ways, addProtocol(f, p))
	}
	share(s.ways)
	s.rrd.addFlags(f, &s.Config.RRDCached)
	f.StringVar(&s.mode, "socket-mode", "", "octal `mode` of rondo.sock, the socket through which commands reach the server (default: 0600, or 0660 with --socket-group)")
	f.StringVar(&s.Config.Socket.Group, "socket-group", "", "`group` of rondo.sock; its members may do everything that the owner may do")
	cli.AddChoice(cmd, &s.sync, backend.SyncModes[0], "sync", "", backend.SyncModes, "when samples are acknowledged, a `mode`: always, interval or none (see above)")
	s.Config.Engine.SyncInterval = time.Second
	f.Var((*cli.Duration)(&s.Config.Engine.SyncInterval), "sync-interval", "longest `time` between two syncs with --sync interval")
	s.Config.Gather = receivers.DefaultGather
	f.Var((*cli.Duration)(&s.Config.Gather), "gather", "`time` for which samples whose senders get no answer, such as those over UDP, may wait to be stored together; 0: none")
	f.Var((*cli.Duration)(&s.Config.Engine.Reorder), "reorder", "`time` for which samples are held back, so that late ones are put in order; 0: late samples are refused")
	f.IntVar(&s.Config.Engine.MaxSeries, "max-series", 10_000_000, "largest `number` of series")
	f.Int64Var(&s.Config.Engine.MaxRows, "max-rows", core.DefaultMaxRows, "largest `number` of rows in an archive of a new series")
	f.IntVar(&s.Config.Limits.SenderBurst, "sender-burst", sink.DefaultSenderBurst, "`number` of new series that one sender may make at once; -1: no limit")
	f.IntVar(&s.Config.Limits.SenderRate, "sender-rate", sink.DefaultSenderRate, "`number` of new series that one sender may make in each further minute")
	s.Config.MaxFuture = receivers.DefaultMaxFuture
	f.Var((*cli.Duration)(&s.Config.MaxFuture), "max-future", "`time` by which a sample may be ahead of the clock; negative: no limit")
	s.Config.Memory = 4 << 30
	f.Var((*cli.ByteSize)(&s.Config.Memory), "memory", "`bytes` of memory for the state of series, rows that are not stored yet and queues: 512M, 4G")
	f.StringSliceVar(&s.Config.Rules.Files, "rule-file", nil, "`file` of alerting and recording rules in Prometheus' format, or a pattern; read again on SIGHUP; repeatable")
	s.Config.Rules.Every = time.Minute
	f.Var((*cli.Duration)(&s.Config.Rules.Every), "rule-every", "`time` between two evaluations of a group of rules that names none")
	f.StringSliceVar(&s.Config.Rules.Alertmanagers, "alertmanager", nil, "`URL` of an Alertmanager that gets the alerts; repeatable")
	f.StringSliceVar(&s.Config.Rules.Webhooks, "alert-webhook", nil, "`URL` that gets the alerts in the form of Alertmanager's webhooks; repeatable")
	f.StringVar(&s.public, "external-url", "", "`URL` by which people reach --http; alerts name it")
	f.StringVar(&s.Config.Backups.Dir, "backup-to", "", "`folder` into which backups are made, each checked after it was written; empty: none are made")
	s.Config.Backups.Every = 24 * time.Hour
	f.Var((*cli.Duration)(&s.Config.Backups.Every), "backup-every", "`time` from one backup to the next")
	f.Var((*cli.Duration)(&s.Config.Backups.Whole), "backup-whole-every", "`time` from one whole backup to the next; those between hold what has changed since the one before; 0: all are whole")
	f.IntVar(&s.Config.Backups.Keep, "backup-keep", 7, "`number` of whole backups that are kept, with those that build on them; older ones are removed")
	cli.AddChoice(cmd, &s.level, "info", "log-level", "", []string{"debug", "info", "warn", "error"}, "least important `level` that is logged: debug, info, warn or error")
	f.BoolVar(&s.json, "log-json", false, "write log lines as JSON objects")
	s.node.addFlags(f)
	s.Flags = f
	cmd.SetUsageFunc(serveUsage)
	for _, p := range Protocols {
		if p.Network == receivers.HTTP {
			cli.CompleteFlag(cmd, p.Name, []string{receivers.On, off})
		}
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return s.run(cmd.Context()) }
	return s, cmd
}

func (s *Settings) run(ctx context.Context) error {
	ways, named, err := s.Apply()
	if err != nil {
		return err
	}
	t := s.Target()
	if t.Err != nil {
		return t.Err
	}
	if err := t.Makeable(); err != nil {
		return err
	}
	c := s.Config // from here on only the watcher changes the settings
	if c.RRDCached, err = s.RRDCached(t.DB, named[RRDCachedFlag]); err != nil {
		return err
	}
	if c.Cluster, err = s.node.options(named); err != nil {
		return err
	}
	collects := cli.SteadilyCollects
	if c.Cluster != nil {
		collects = nodeCollects
	}
	cli.CollectGarbage(collects)
	c.DB, c.Version, c.Ways, c.HTTP = t.DB, cli.Version(), ways, s.addresses(named["http"])
	c.Logger = s.logger()
	c.Limits.Logger = c.Logger
	c.Engine.Memory, c.Engine.Owner, c.Engine.Logger = c.Memory, "rondo serve", c.Logger
	reload, done := s.watchHUP(c.Logger)
	defer done()
	c.Reload = reload
	c.Ready = func(a server.Addresses) {
		if a.Page != "" && cli.IsTerminal(s.Stderr) {
			_, _ = fmt.Fprintf(s.Stderr, "open %s\n", a.Page) // the log has the address, too
		}
	}
	return server.Run(ctx, c)
}

// addresses returns the addresses of --http. named says that the user has named them.
func (s *Settings) addresses(named bool) (all []server.Address) {
	for _, a := range s.HTTP {
		if a != "" {
			all = append(all, server.Address{Addr: a, Named: named})
		}
	}
	return all
}

// Apply combines flags, environment and configuration file. It returns the addresses and receivers,
// and the flags that the user has set.
func (s *Settings) Apply() (server.Ways, map[string]bool, error) {
	// A value that an earlier apply took from the file is reset, because its key may be gone.
	s.Flags.VisitAll(func(f *pflag.Flag) {
		if v, ok := f.Value.(pflag.SliceValue); ok && !f.Changed {
			_ = v.Replace(sliceDefault(f)) // strings are never refused
		} else if !f.Changed && f.Name != "config" {
			_ = f.Value.Set(f.DefValue) // the default was the flag's own
		}
	})
	list := new(rules.List)
	policy := config.Section{Key: rules.Key, Parse: func(n *yaml.Node) (err error) {
		list, err = rules.Parse(n)
		return err
	}}
	var metrics rules.Metrics
	names := config.Section{Key: rules.MetricsKey, Parse: func(n *yaml.Node) (err error) {
		metrics, err = rules.ParseMetrics(n)
		return err
	}}
	base := config.Section{Key: cli.BaseKey, Parse: func(n *yaml.Node) error { // target reads it
		if n.Kind != yaml.ScalarNode {
			return errors.New("want one folder")
		}
		return nil
	}}
	s.File = s.FindConfig(s.ConfigFile)
	flags := *s.Factory
	named, err := config.Apply(s.Flags, s.LookupEnv, s.File, policy, names, base)
	s.DB, s.Daemon = flags.DB, flags.Daemon // target finds them, as for every command
	if err != nil {
		return server.Ways{}, nil, err
	}
	if err := s.check(); err != nil {
		return server.Ways{}, nil, err
	}
	if err := list.CheckRows(s.Config.Engine.MaxRows); err != nil {
		var at interface{ Line() int }
		if errors.As(err, &at) {
			err = fmt.Errorf("%s:%d: %s: %w", s.File, at.Line(), rules.Key, err)
		}
		return server.Ways{}, nil, err
	}
	s.Rules = list.Rules
	ways, err := s.receivers(named)
	return server.Ways{Policy: list.Policy, Metrics: metrics, Receivers: ways}, named, err
}

// receivers returns the protocols with their settings. named are the flags that the user has set.
func (s *Settings) receivers(named map[string]bool) (out []server.Receiver, err error) {
	for _, w := range s.ways {
		addr, err := w.listens()
		if err != nil {
			return nil, err
		}
		r := server.Receiver{
			Protocol: w.protocol,
			Address:  server.Address{Addr: addr, Named: named[w.protocol.Name]},
			Options:  make(map[string][]string),
		}
		for name, values := range w.options {
			r.Options[name] = values()
		}
		out = append(out, r)
	}
	return out, nil
}

// minMemory is the least --memory, in bytes: the queues of a server with few series need so much.
const minMemory = 16 << 20

// maxGather is the longest time for --gather: whoever reads series wants them fresh.
const maxGather = 10 * time.Second

// check refuses settings that no server can work with.
func (s *Settings) check() error {
	mode, err := strconv.ParseUint(s.mode, 8, 32)
	if s.mode != "" && (err != nil || mode&^0o777 != 0 || mode == 0) {
		return fmt.Errorf("--socket-mode %s: want an octal mode such as 0660", s.mode)
	}
	s.Config.Socket.Mode = fs.FileMode(mode)
	if s.Config.Rules.ExternalURL, err = url.Parse(s.public); err != nil || s.public != "" && s.Config.Rules.ExternalURL.Host == "" {
		return fmt.Errorf("--external-url %s: want an address such as http://rondo.example:9180", s.public)
	}
	if s.public == "" {
		s.Config.Rules.ExternalURL = nil
	}
	if s.Config.Engine.Sync, err = backend.ParseSync(s.sync); err != nil {
		return err
	}
	switch {
	case s.Config.Engine.SyncInterval <= 0:
		return fmt.Errorf("--sync-interval %v: want a time above 0", s.Config.Engine.SyncInterval)
	case s.Config.Gather < 0 || s.Config.Gather > maxGather:
		return fmt.Errorf("--gather %v: want 0 to %v", s.Config.Gather, maxGather)
	case s.Config.Engine.Reorder < 0 || s.Config.Engine.Reorder%time.Second != 0:
		return fmt.Errorf("--reorder %v: want whole seconds, 0 or more", s.Config.Engine.Reorder)
	case s.Config.Engine.MaxSeries < 1:
		return fmt.Errorf("--max-series %d: want 1 or more", s.Config.Engine.MaxSeries)
	case s.Config.Engine.MaxRows < 1 || s.Config.Engine.MaxRows > rra.MaxRows:
		return fmt.Errorf("--max-rows %d: want 1 to %d", s.Config.Engine.MaxRows, rra.MaxRows)
	case s.Config.Limits.SenderBurst == 0:
		return errors.New("--sender-burst 0: want 1 or more, or -1 for no limit")
	case s.Config.Limits.SenderRate < 1:
		return fmt.Errorf("--sender-rate %d: want 1 or more", s.Config.Limits.SenderRate)
	case s.Config.Rules.Every < time.Second:
		return fmt.Errorf("--rule-every %v: want a second or more", s.Config.Rules.Every)
	case s.Config.Backups.Every < time.Second:
		return fmt.Errorf("--backup-every %v: want a second or more", s.Config.Backups.Every)
	case s.Config.Backups.Whole != 0 && s.Config.Backups.Whole < s.Config.Backups.Every:
		return fmt.Errorf("--backup-whole-every %v: want 0, or --backup-every (%v) or more", s.Config.Backups.Whole, s.Config.Backups.Every)
	case s.Config.Backups.Keep < 1:
		return fmt.Errorf("--backup-keep %d: want 1 or more", s.Config.Backups.Keep)
	case s.Config.Memory < minMemory:
		have, least := cli.ByteSize(s.Config.Memory), cli.ByteSize(minMemory)
		return fmt.Errorf("--memory %v: want %v or more", &have, &least)
	}
	for _, name := range s.Config.HTTPHosts {
		if err := middleware.CheckHTTPHost(name); err != nil {
			return err
		}
	}
	return nil
}

func sliceDefault(f *pflag.Flag) []string {
	if len(f.DefValue) <= 2 { // "[]"
		return nil
	}
	return []string{f.DefValue[1 : len(f.DefValue)-1]}
}

// watchHUP reads the configuration again at each SIGHUP, until the returned function is called.
func (s *Settings) watchHUP(log *slog.Logger) (<-chan server.Ways, func()) {
	hup := make(chan os.Signal, 1) // a second one while the first waits adds nothing
	signal.Notify(hup, syscall.SIGHUP)
	reload := make(chan server.Ways)
	running := s.values()
	quit, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-quit:
				return
			case <-hup:
			}
			ways, _, err := s.Apply()
			if err != nil { // settings that were not read cannot be compared
				ways = server.Ways{Err: err}
			} else {
				ways.Changed, ways.Restart = s.changes(log, running)
			}
			select {
			case reload <- ways:
			case <-quit:
				return
			}
		}
	}()
	return reload, func() {
		signal.Stop(hup)
		close(quit)
		select {
		case <-stopped:
		case <-time.After(time.Second): // it reads a file of a file system that hangs
		}
	}
}

// nodeCollects is the percentage of a node of a cluster. Its batches come from other nodes and its
// records from the servers of NATS, which is garbage that a store alone does not make: with 50 it
// took a seventh more processor time, and an eighth less memory.
const nodeCollects = 150

// logger returns the log of the server.
func (s *Settings) logger() *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(s.level)) // the flag has no others
	o := &slog.HandlerOptions{Level: level, ReplaceAttr: shorten}
	if s.json {
		return slog.New(slog.NewJSONHandler(s.Stderr, o))
	}
	return slog.New(slog.NewTextHandler(s.Stderr, o))
}

// maxLogged bounds one value in a log line, in bytes, because any sender can choose names and
// texts.
const maxLogged = 1024

// shorten cuts a long value of a log line.
func shorten(_ []string, a slog.Attr) slog.Attr {
	text := ""
	switch v := a.Value; v.Kind() {
	case slog.KindString:
		text = v.String()
	case slog.KindAny:
		if err, ok := v.Any().(error); ok {
			text = err.Error()
		}
	}
	if len(text) > maxLogged {
		a.Value = slog.StringValue(strings.ToValidUTF8(text[:maxLogged], "") + "…")
	}
	return a
}

// Protocols are all protocols that rondo serve can receive.
var Protocols = []receivers.Protocol{
	collectd.Protocol,
	gmetric.Protocol,
	graphite.Protocol,
	graphite.Pickle,
	influx.Protocol,
	influx.HTTP,
	mono.Protocol,
	remotewrite.Protocol,
	otlp.Protocol,
	rrdd.Protocol,
	smon.Protocol,
	statsd.Protocol,
}

// valueOf returns the value of a flag as the command line takes it.
func valueOf(f *pflag.Flag) string {
	if v, ok := f.Value.(pflag.SliceValue); ok {
		return strings.Join(v.GetSlice(), " ")
	}
	return f.Value.String()
}

// ShownValue returns the value of a flag for output and log, without secrets that it may have.
func ShownValue(f *pflag.Flag) string {
	switch f.Name {
	case "cluster":
		return natsconn.Redacted(valueOf(f))
	case "alertmanager", "alert-webhook":
		all := slices.Clone(f.Value.(pflag.SliceValue).GetSlice())
		for i, a := range all {
			all[i] = alerts.Redacted(a)
		}
		return strings.Join(all, " ")
	}
	return valueOf(f)
}
