package send

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/receivers/mono"
	"github.com/rondo-db/rondo/rra"
)

const sendMonoHelp = `Be a Mono counters agent: say which counters there are, send samples of them, and answer the inspector meanwhile.

A counter is CATEGORY/NAME=VALUE, with more behind it where wanted: =VALUE+STEP adds STEP at every sample, and :TYPE:UNIT:VARIANCE
say what --type, --unit and --variance say of all counters. CATEGORY is one of "Mono JIT", "Mono GC", "Mono Metadata", "Mono Generics",
"Mono Security", "Mono Thread", "Mono ThreadPool", "Mono System", "Mono Custom". Without a type, what has a point or an exponent is a
double, everything else a long.

  rondo send mono 'Mono GC/Minor GC collections=7:int:events:monotonic'
  rondo send mono --interval 1s 'Mono Custom/jobs=0+5' --offer 'Mono System/load=0.5'

Without --interval one sample is sent. With it, samples are sent until --count of them are, or until SIGINT or good bye.`

// A monoSend is the flags of `rondo send mono`.
type monoSend struct {
	to, dialect, at, out string
	typ, unit, variance  string
	sampled, offered     []string
	rounds
}

func newSendMono(c *cli.Factory) *cobra.Command {
	var s monoSend
	cmd := &cobra.Command{
		Use:   "mono CATEGORY/NAME=VALUE…",
		Short: "Be a Mono counters agent, over TCP or into a file",
		Long:  sendMonoHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			s.sampled = args
			return s.run(cmd, c)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&s.to, "to", mono.DefaultAddress, "`address` of the inspector")
	f.StringVar(&s.typ, "type", "", "type of the counter: int, long, word or double")
	f.StringVar(&s.unit, "unit", "none", "unit of the counter: none, bytes, 100ns, events, config, percentage, or a number")
	f.StringVar(&s.variance, "variance", "variable", "how the counter varies: constant, monotonic, variable, or a number")
	f.StringArrayVar(&s.offered, "offer", nil, "a `counter` that is sampled only after the inspector has asked for it; may be repeated")
	s.addFlags(f, "samples")
	f.StringVar(&s.at, "at", "", "`time` of the first sample, as in rrdtool (default: when it is sent)")
	f.StringVar(&s.dialect, "dialect", "page", "form of the requests: page or agent")
	f.StringVar(&s.out, "out", "", "write the record of an agent to this `file` instead of sending it")
	return cmd
}

func (s *monoSend) run(cmd *cobra.Command, c *cli.Factory) error {
	sender, when, err := s.sender(c.Now())
	if err != nil {
		return cli.Misused("send mono", err)
	}
	if s.out != "" {
		return s.record(sender, when)
	}
	ctx := cmd.Context()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.to)
	if err != nil {
		return err
	}
	err = sender.Run(ctx, conn, when)
	if ctx.Err() != nil { // interrupted by the user
		return nil
	}
	return err
}

// record writes a file. If no time is given, the last sample has the present time, because there is
// no waiting between samples.
func (s *monoSend) record(sender *mono.Sender, when mono.Samples) (err error) {
	if when.Count == 0 {
		return errors.New("--out needs --count: the file would have no end")
	}
	if when.First == 0 {
		when.First = rra.Time(time.Now().Add(-time.Duration(when.Count-1) * when.Interval).UnixMicro())
	}
	f, err := os.Create(s.out)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, f.Close()) }()
	return sender.Record(f, when)
}

// sender returns a Sender as the flags describe it.
func (s *monoSend) sender(now time.Time) (*mono.Sender, mono.Samples, error) {
	err := s.rounds.check()
	when := mono.Samples{Interval: s.interval, Count: s.count}
	wrong := func(err error) (*mono.Sender, mono.Samples, error) { return nil, when, err }
	if err == nil && s.at != "" {
		when.First, err = instant(s.at, now)
	}
	if err != nil {
		return wrong(err)
	}
	dialect, err := mono.ParseDialect(s.dialect)
	if err != nil {
		return wrong(fmt.Errorf("--dialect: %w", err))
	}
	var offers []mono.Offer
	for i, text := range append(s.sampled[:len(s.sampled):len(s.sampled)], s.offered...) {
		o, err := s.offer(text)
		if err != nil {
			return wrong(fmt.Errorf("counter %q: %w", text, err))
		}
		o.Asleep = i >= len(s.sampled)
		offers = append(offers, o)
	}
	sender, err := mono.NewSender(dialect, offers)
	return sender, when, err
}

// offer reads CATEGORY/NAME=VALUE[+STEP][:TYPE[:UNIT[:VARIANCE]]].
func (s *monoSend) offer(text string) (o mono.Offer, err error) {
	at := strings.LastIndexByte(text, '=')
	category, name, ok := strings.Cut(text[:max(at, 0)], "/")
	if !ok || name == "" {
		return o, errors.New("want CATEGORY/NAME=VALUE")
	}
	o.Name = name
	if o.Category, ok = mono.ParseCategory(category); !ok {
		return o, fmt.Errorf("category %q is not known", category)
	}
	words := strings.Split(text[at+1:], ":")
	if len(words) > 4 {
		return o, errors.New("want no more than VALUE:TYPE:UNIT:VARIANCE")
	}
	given := [4]string{"", s.typ, s.unit, s.variance}
	for i, w := range words {
		if w != "" {
			given[i] = w
		}
	}
	value, step := cutStep(given[0])
	if given[1] == "" {
		given[1] = "long"
		if strings.ContainsAny(value+step, ".eEnN") { // nan, inf
			given[1] = "double"
		}
	}
	var typ, unit, variance int32
	for _, p := range []struct {
		dst   *int32
		what  string
		text  string
		names []fmt.Stringer
	}{
		{&typ, "type", given[1], []fmt.Stringer{mono.Int, mono.Long, mono.Word, mono.Double}},
		{&unit, "unit", given[2], []fmt.Stringer{mono.NoUnit, mono.Bytes, mono.Time, mono.Events, mono.Config, mono.Percentage}},
		{&variance, "variance", given[3], []fmt.Stringer{nil, mono.Constant, mono.Monotonic, mono.Variable}},
	} {
		if *p.dst, err = parseNamed(p.what, p.text, p.names); err != nil {
			return o, err
		}
	}
	o.Type, o.Unit, o.Variance = mono.Type(typ), mono.Unit(unit), mono.Variance(variance)
	if o.Bits, err = parseBits(o.Type, value); err == nil && step != "" {
		o.Step, err = parseBits(o.Type, step)
	}
	return o, err
}

// cutStep splits VALUE+STEP. A plus at the beginning, or in an exponent, belongs to the value.
func cutStep(s string) (value, step string) {
	for i := 1; i < len(s); i++ {
		if s[i] == '+' && s[i-1] != 'e' && s[i-1] != 'E' {
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}

// parseNamed reads a number, or one of names, which stands for its index.
func parseNamed(what, text string, names []fmt.Stringer) (int32, error) {
	var known []string
	for i, n := range names {
		if n == nil {
			continue
		}
		if n.String() == text {
			return int32(i), nil
		}
		known = append(known, n.String())
	}
	if n, err := strconv.ParseInt(text, 0, 32); err == nil && what != "type" {
		return int32(n), nil
	}
	return 0, fmt.Errorf("%s %q is none of %s", what, text, strings.Join(known, ", "))
}

// parseBits reads a value as it stands in a sample.
func parseBits(t mono.Type, s string) (uint64, error) {
	if t == mono.Double {
		v, err := strconv.ParseFloat(s, 64)
		return math.Float64bits(v), err
	}
	bits := 64
	if t == mono.Int {
		bits = 32
	}
	v, err := strconv.ParseInt(s, 0, bits)
	return uint64(v), err
}
