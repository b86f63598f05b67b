package send

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/receivers/collectd"
	"github.com/rondo-db/rondo/rra"
)

const sendCollectdHelp = `Send readings, or a notification, as collectd's network plugin does.

  rondo send collectd web1/load/load=0.5:0.4:0.3 web1/interface-eth0/if_octets=1000:2000
  rondo send collectd --type gauge web1/shop/orders-open=17
  rondo send collectd --security-level encrypt --auth-file users --username alice web1/users/users=3
  rondo send collectd --notify 'warning:the disk is filling up' web1/df-root/percent_bytes-used

What the values of a type are (counters, gauges) is known of the types that come with collectd; of others they are
gauges, unless --type says. With --notify an argument says what the notification is about: HOST or HOST/PLUGIN/TYPE.`

// A collectdSend is the flags of `rondo send collectd`.
type collectdSend struct {
	to, kind, at, typesDB, notify        string
	level, username, password, usersFile string
	interval                             time.Duration
	stderr                               io.Writer
}

func newSendCollectd(c *cli.Factory) *cobra.Command {
	s := collectdSend{stderr: c.Stderr}
	cmd := &cobra.Command{
		Use:   "collectd HOST/PLUGIN[-INSTANCE]/TYPE[-INSTANCE]=VALUE[:VALUE…]…",
		Short: "Send readings as collectd does, over UDP",
		Long:  sendCollectdHelp,
		RunE:  func(cmd *cobra.Command, args []string) error { return s.run(cmd.Context(), c, args) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&s.to, "to", collectd.Protocol.Address, "`address` of the receiver")
	f.StringVar(&s.kind, "type", "", "kind of the values: gauge, derive, counter or absolute (default: as types.db says)")
	f.StringVar(&s.typesDB, "typesdb", "", "`file` with more types than those of collectd 5.12, in its types.db format")
	f.DurationVar(&s.interval, "interval", 10*time.Second, "time between two readings; it is sent with them")
	f.StringVar(&s.at, "at", "", "`time` of the readings, as in rrdtool (default: now)")
	f.StringVar(&s.at, "time", "", "the same as --at")
	f.StringVar(&s.notify, "notify", "", "send a notification, `SEVERITY:MESSAGE`; the severity is failure, warning or okay")
	f.StringVar(&s.level, "security-level", "none", "protection of the packets: none, sign or encrypt")
	f.StringVar(&s.username, "username", "", "`name` to sign or encrypt with")
	f.StringVar(&s.password, "password", "", "`password` of --username; other users of this machine can see it here, but not in --auth-file")
	f.StringVar(&s.usersFile, "auth-file", "", "`file` with passwords, one \"name: password\" in each line")
	cmd.MarkFlagsMutuallyExclusive("at", "time")
	cmd.MarkFlagsMutuallyExclusive("password", "auth-file")
	return cmd
}

func (s *collectdSend) run(ctx context.Context, c *cli.Factory, args []string) error {
	at, err := s.time(c.Now())
	if err != nil {
		return cli.Misused("send collectd", err)
	}
	p, err := s.protection()
	if err != nil {
		return cli.Misused("send collectd", err)
	}
	var lists []collectd.ValueList
	var notes []collectd.Notification
	if s.notify != "" {
		notes, err = s.notification(at, args)
	} else {
		lists, err = s.lists(at, args)
	}
	if err != nil {
		return cli.Misused("send collectd", err)
	}
	packets, err := p.AppendPackets(nil, lists, notes)
	if err != nil {
		return err
	}
	return sendDatagrams(ctx, s.to, packets)
}

func (s *collectdSend) time(now time.Time) (collectd.Stamp, error) {
	at, err := instant(s.at, now)
	if err != nil {
		return 0, err
	}
	if at <= 0 || at > rra.Seconds(math.MaxUint32) {
		return 0, fmt.Errorf("--at: second %d is out of range", at.Unix())
	}
	return collectd.StampOf(at), nil
}

// lists reads HOST/PLUGIN/TYPE=VALUES.
func (s *collectdSend) lists(at collectd.Stamp, args []string) ([]collectd.ValueList, error) {
	if len(args) == 0 {
		return nil, errors.New("nothing to send: want HOST/PLUGIN/TYPE=VALUE, or --notify")
	}
	if s.interval < time.Second/100 || s.interval > 1<<20*time.Hour {
		return nil, fmt.Errorf("--interval %v is out of range", s.interval)
	}
	types := collectd.StandardTypes()
	if s.typesDB != "" {
		var bad error
		if err := types.Add(s.typesDB, func(err error) { bad = errors.Join(bad, err) }); err != nil {
			return nil, fmt.Errorf("--typesdb: %w", err)
		}
		if bad != nil {
			return nil, fmt.Errorf("--typesdb: %w", bad)
		}
	}
	lists := make([]collectd.ValueList, len(args))
	for i, arg := range args {
		v := &lists[i]
		v.Time, v.Interval = at, collectd.StampOf(rra.Time(s.interval.Microseconds()))
		n := strings.LastIndexByte(arg, '=')
		if n < 0 {
			return nil, fmt.Errorf("%q: want HOST/PLUGIN/TYPE=VALUE", arg)
		}
		if err := v.ParseIdentifier(arg[:n]); err != nil {
			return nil, fmt.Errorf("%q: %w", arg, err)
		}
		if _, known := types[string(v.Type)]; !known && s.kind == "" {
			_, _ = fmt.Fprintf(s.stderr, "%s: %s is no type that collectd knows: its values are sent as gauges (--type, --typesdb)\n", cli.OneLine(arg), cli.OneLine(string(v.Type)))
		}
		if err := v.ParseValues(types, s.kind, arg[n+1:]); err != nil {
			return nil, fmt.Errorf("%q: %w", arg, err)
		}
	}
	return lists, nil
}

// notification returns the notification of --notify about the named host and plugin.
func (s *collectdSend) notification(at collectd.Stamp, args []string) ([]collectd.Notification, error) {
	n := collectd.Notification{Time: at}
	if err := n.ParseNotification(s.notify); err != nil {
		return nil, fmt.Errorf("--notify: %w", err)
	}
	switch {
	case len(args) > 1:
		return nil, errors.New("a notification is about one thing")
	case len(args) == 0:
		host, err := os.Hostname()
		if err != nil {
			return nil, err
		}
		n.Host = []byte(host)
	case !strings.Contains(args[0], "/"):
		n.Host = []byte(args[0])
	default:
		if err := n.ParseIdentifier(args[0]); err != nil {
			return nil, fmt.Errorf("%q: %w", args[0], err)
		}
	}
	return []collectd.Notification{n}, nil
}

// protection reads the flags for signing and encrypting.
func (s *collectdSend) protection() (p collectd.Protection, err error) {
	if p.Level, err = collectd.ParseLevel(s.level); err != nil {
		return p, fmt.Errorf("--security-level: %w", err)
	}
	if p.Level == collectd.None {
		if s.username+s.password+s.usersFile != "" {
			return p, errors.New("--username, --password and --auth-file need --security-level sign or encrypt")
		}
		return p, nil
	}
	if p.User, p.Password = s.username, s.password; s.usersFile != "" {
		b, err := os.ReadFile(s.usersFile)
		if err != nil {
			return p, fmt.Errorf("--auth-file: %w", err)
		}
		var ok bool
		if p.Password, ok = collectd.ParseUsers(string(b)).Password(p.User); !ok {
			return p, fmt.Errorf("--auth-file: %s has no password of %q", s.usersFile, p.User)
		}
	}
	if p.User == "" || p.Password == "" {
		return p, fmt.Errorf("--security-level %v needs --username, and --password or --auth-file", p.Level)
	}
	return p, nil
}
