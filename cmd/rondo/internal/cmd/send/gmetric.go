package send

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/receivers/gmetric"
	"github.com/rondo-db/rondo/rra"
)

const sendGmetricHelp = `Send one value as Ganglia's gmetric command does, with the same options.

  rondo send gmetric --name requests --value 17 --type uint32 --slope positive --units requests
  rondo send gmetric --name state --value "all well" --type string --spoof 10.0.0.7:web7 --tmax 60 --dmax 600
  rondo send gmetric --heartbeat --spoof 10.0.0.7:web7

--format 3.1 sends what gmetric 3.1 and later do: the metadata, then the value, in the name of this host. --format 3.0 sends the
one message of Ganglia 2.5 to 3.0, which names no host and has no room for group, title, description, cluster and spoof.`

// A gmetricSend is the flags of `rondo send gmetric`.
type gmetricSend struct {
	to, format                         string
	name, value, typ, units, slope     string
	tmax, dmax                         uint32
	group, title, desc, cluster, spoof string
	heartbeat                          bool
}

func newSendGmetric(*cli.Factory) *cobra.Command {
	var s gmetricSend
	cmd := &cobra.Command{
		Use:   "gmetric --name NAME --value VALUE --type TYPE",
		Short: "Send a value as Ganglia's gmetric does",
		Long:  sendGmetricHelp,
		Args:  cli.Takes(0, 0),
		RunE:  func(cmd *cobra.Command, _ []string) error { return s.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&s.to, "to", gmetric.Protocol.Address, "`address` to send to")
	f.StringVarP(&s.name, "name", "n", "", "name of the metric")
	f.StringVarP(&s.value, "value", "v", "", "value of the metric")
	f.StringVarP(&s.typ, "type", "t", "", "type of the value: string, int8, uint8, int16, uint16, int32, uint32, float or double")
	f.StringVarP(&s.units, "units", "u", "", "units of the value")
	f.StringVarP(&s.slope, "slope", "s", gmetric.Both.String(), "slope of the metric: zero, positive (a counter), negative, both or derivative")
	f.Uint32VarP(&s.tmax, "tmax", "x", 60, "the most `seconds` between two values")
	f.Uint32VarP(&s.dmax, "dmax", "d", 0, "`seconds` of silence after which the metric is gone (0: never)")
	f.StringVarP(&s.group, "group", "g", "", "groups of the metric, with commas between them")
	f.StringVarP(&s.cluster, "cluster", "C", "", "cluster of the metric")
	f.StringVarP(&s.desc, "desc", "D", "", "description of the metric")
	f.StringVarP(&s.title, "title", "T", "", "title of the metric")
	f.StringVarP(&s.spoof, "spoof", "S", "", "`IP:HOST` of the host that the metric belongs to, instead of this host")
	f.BoolVarP(&s.heartbeat, "heartbeat", "H", false, "send a heartbeat of the host, and nothing else")
	f.StringVar(&s.format, "format", "3.1", "version of the format: 3.0, or 3.1 for Ganglia 3.1 and later")
	return cmd
}

func (s *gmetricSend) run(ctx context.Context) error {
	ms, err := s.messages()
	if err != nil {
		return cli.Misused("send gmetric", err)
	}
	packets := make([][]byte, len(ms))
	for i, m := range ms {
		if packets[i], err = m.AppendBinary(nil); err != nil {
			return err
		}
	}
	return sendDatagrams(ctx, s.to, packets)
}

// messages returns the messages to send, in order.
func (s *gmetricSend) messages() ([]gmetric.Message, error) {
	if s.heartbeat {
		if s.name != "" || s.value != "" || s.spoof == "" {
			return nil, errors.New("--heartbeat goes with --spoof, and without --name and --value")
		}
		s.name, s.value, s.typ = "heartbeat", "0", gmetric.Uint32.String()
	}
	m := gmetric.Message{
		Name: []byte(s.name), Name2: []byte(s.name), Type: []byte(s.typ), Units: []byte(s.units), TMax: s.tmax, DMax: s.dmax,
	}
	var ok bool
	if m.Slope, ok = gmetric.ParseSlope(s.slope); !ok {
		return nil, fmt.Errorf("--slope %q: want zero, positive, negative, both or derivative", s.slope)
	}
	if err := s.check(m.Slope); err != nil {
		return nil, err
	}
	for _, p := range []struct{ key, value string }{{"SPOOF_HOST", s.spoof}, {"TITLE", s.title}, {"DESC", s.desc}, {"CLUSTER", s.cluster}} {
		if p.value != "" {
			m.Extra = append(m.Extra, gmetric.Pair{Key: []byte(p.key), Value: []byte(p.value)})
		}
	}
	for g := range strings.SplitSeq(s.group, ",") {
		if g = strings.TrimSpace(g); g != "" {
			m.Extra = append(m.Extra, gmetric.Pair{Key: []byte("GROUP"), Value: []byte(g)})
		}
	}
	switch s.format {
	case "3.0":
		if len(m.Extra) > 0 {
			return nil, fmt.Errorf("--format 3.0 has no room for %s", bytes.ToLower(m.Extra[0].Key))
		}
		m.Word, m.Text = gmetric.WordGmetric, []byte(s.value)
		return []gmetric.Message{m}, nil
	case "3.1":
	default:
		return nil, fmt.Errorf("--format %q: want 3.0 or 3.1", s.format)
	}
	host := s.spoof
	if host == "" {
		var err error
		if host, err = os.Hostname(); err != nil {
			return nil, err
		}
	} else if _, name, ok := strings.Cut(host, ":"); !ok || name == "" {
		return nil, fmt.Errorf("--spoof %q: want IP:HOST", host)
	}
	m.Word, m.Host, m.Spoof = gmetric.WordMetadata, []byte(host), s.spoof != ""
	v := gmetric.Message{
		Word: gmetric.WordString, Host: m.Host, Spoof: m.Spoof, Name: m.Name, Format: []byte("%s"), Text: []byte(s.value),
	}
	if s.heartbeat {
		return []gmetric.Message{v}, nil
	}
	return []gmetric.Message{m, v}, nil
}

// check refuses a metric that a receiver could not store.
func (s *gmetricSend) check(slope gmetric.Slope) error {
	typ := gmetric.ParseType(s.typ)
	switch {
	case s.name == "":
		return errors.New("--name is missing")
	case s.typ == "":
		return errors.New("--type is missing")
	case typ == gmetric.Unknown:
		return fmt.Errorf("--type %q: want string, int8, uint8, int16, uint16, int32, uint32, float or double", s.typ)
	case typ == gmetric.String:
		return nil
	}
	kind := rra.Gauge
	if typ.Integer() && (slope == gmetric.Positive || slope == gmetric.Derivative) {
		kind = rra.Counter
	}
	if _, err := gmetric.ParseValue(kind, []byte(s.value)); err != nil {
		return fmt.Errorf("--value %q of type %s: %w", s.value, s.typ, err)
	}
	return nil
}
