package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cmd/serve"
	"github.com/rondo-db/rondo/cmd/rondo/internal/rules"
	"github.com/rondo-db/rondo/cmd/rondo/internal/server"
	"github.com/rondo-db/rondo/cmd/rondo/internal/table"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rpc/types/typesv1"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/sink"
	"github.com/rondo-db/rondo/rra"
)

const policyTestHelp = `Print which rule of the configuration file the series NAME gets, and what a new series of that name is made of: step,
heartbeat, archives, and the silence after which it is dropped (all in seconds), each with where it is from: a rule, or what the
protocol that NAME begins with makes by itself of a typical sender.

Labels are those of --label. Without any, and if the database has a series NAME, they are that series'; what it was made of
stays as it is, because but for expire rules decide about new series.`

// A policy is a run of rondo policy.
type policy struct {
	*serve.Settings
	format string
	labels []string
}

func NewPolicy(c *cli.Factory) *cobra.Command {
	p := newPolicySettings(c)
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Try and check the rules for new series",
	}
	cmd.PersistentPreRun = p.begin
	test := &cobra.Command{
		Use:               "test NAME",
		Short:             "Print which rule a name gets, and what a series of it is made of",
		Long:              policyTestHelp,
		Args:              cli.Takes(1, 1),
		ValidArgsFunction: c.CompleteOne,
		RunE:              func(cmd *cobra.Command, args []string) error { return p.test(cmd.Context(), args[0]) },
	}
	test.Flags().StringArrayVar(&p.labels, "label", nil, "a `name=value` of the series; may be repeated")
	cli.AddOutput(test, &p.format)
	cmd.AddCommand(test, p.newCheck("Check the configuration file, and its rules"))
	return cmd
}

// newPolicySettings returns a policy with the settings that serve would use.
func newPolicySettings(c *cli.Factory) *policy {
	s, _ := serve.NewSettings(c)
	return &policy{Settings: s}
}

// begin applies the flags that every command has, because they are keys of the file, too.
func (p *policy) begin(cmd *cobra.Command, _ []string) {
	for _, name := range append([]string{"db", "daemon"}, cli.CredentialKeys...) {
		p.Flags.AddFlag(cmd.Flag(name))
	}
}

// A subject is a series that rules are asked about.
type subject struct {
	receivers.Identity
	given  bool              // the labels were given
	series *rondov1.Series   // nil: it does not exist, or was not looked up
	about  *typesv1.Metadata // nil: the path has no metadata
}

func (p *policy) test(ctx context.Context, name string) error {
	ways, _, err := p.Apply()
	if err != nil {
		return err
	}
	s, err := p.subject(ctx, name)
	if err != nil {
		return err
	}
	define, from := defaultOf(s.Path, ways.Receivers)
	d, err := ways.Policy.Define(s.Identity, define)
	if err == nil {
		err = d.Validate()
	}
	if err != nil {
		return fmt.Errorf("%s: no series can be made: %w", s.Path, err)
	}
	e := explanation{table.New(p.Stdout, p.format, "name", "value", "from"), ways.Policy.Match(s.Identity) + 1, from}
	e.subject(s)
	var rule sink.Rule
	if e.rule == 0 {
		e.Row("rule", "none", "")
	} else {
		r := &p.Rules[e.rule-1]
		rule = r.Rule
		e.Row("rule", e.rule, fmt.Sprintf("%s:%d: %s", p.File, r.Line, r.Text))
	}
	for _, near := range ways.Policy.Nearly(s.Identity) {
		r := &p.Rules[near.Rule]
		var needs []string
		for _, name := range near.Labels {
			needs = append(needs, "--label "+name+"="+r.Labels[name])
		}
		e.Row(fmt.Sprint("rule ", near.Rule+1), "fits with "+strings.Join(needs, " "), fmt.Sprintf("%s:%d", p.File, r.Line))
	}
	e.definition(d, &rule)
	e.expire(&rule, s.about)
	return e.Close()
}

// subject returns the series of a name.
func (p *policy) subject(ctx context.Context, name string) (_ *subject, err error) {
	s := &subject{Identity: receivers.Identity{Path: strings.TrimLeft(name, "/")}, given: len(p.labels) > 0}
	for _, l := range p.labels {
		label, value, ok := strings.Cut(l, "=")
		if !ok || label == "" {
			return nil, cli.Misused("policy test", fmt.Errorf("--label %s: want name=value", cli.Quoted(l)))
		}
		s.Labels = append(s.Labels, core.Label{Name: label, Value: value})
	}
	if s.given {
		return s, nil
	}
	o, err := p.Target().Open(ctx, core.Options{ReadOnly: true}, false)
	if err != nil {
		return nil, err
	}
	defer func() { err = cmp.Or(err, o.Close()) }()
	if o.Client == nil && o.Store == nil {
		return s, nil
	}
	answer, err := o.API().Info(ctx, &rondov1.InfoRequest{Path: name})
	if connect.CodeOf(err) == connect.CodeNotFound {
		return s, nil
	} else if err != nil {
		return nil, err
	}
	s.series, s.about = answer.GetSeries(), answer.GetMetadata()
	s.Path = s.series.GetPath()
	for _, l := range s.series.GetLabels() {
		s.Labels = append(s.Labels, core.Label{Name: l.GetName(), Value: l.GetValue()})
	}
	return s, nil
}

// defaultOf returns the function that defines a typical series of a path without rules, and the
// name of the receiver that it belongs to.
func defaultOf(path string, rs []server.Receiver) (define func(step int64) *rra.Definition, from string) {
	first, _, below := strings.Cut(path, "/")
	for _, r := range rs {
		if !below || r.Protocol.PathPrefix() != first {
			continue
		}
		from = "protocol " + r.Protocol.Name
		if r.Protocol.Default == nil {
			return receivers.StandardDefinition, from
		}
		c := configOf(r)
		return func(step int64) *rra.Definition { return r.Protocol.Default(c, step) }, from
	}
	return receivers.StandardDefinition, "default"
}

func configOf(r server.Receiver) receivers.Config {
	return receivers.Config{Address: r.Address.Addr, Options: r.Options}.WithDefaults()
}

// An explanation is the rows that `policy test` prints: a name, its value, and where that is from.
type explanation struct {
	*table.Writer
	rule int    // counted from 1; 0: no rule
	from string // origin of the fields that no rule sets
}

func (e *explanation) subject(s *subject) {
	from := "database"
	if s.given {
		from = "given"
	}
	e.Row("path", s.Path, "given")
	for _, l := range s.Labels {
		e.Row("label."+l.Name, l.Value, from)
	}
	if s.series != nil {
		e.Row("exists", fmt.Sprintf("step %d, %d archives", s.series.GetDefinition().GetStep(), len(s.series.GetDefinition().GetRra())), from)
	}
}

// origin returns the origin of a field; said reports whether a rule sets it.
func (e *explanation) origin(said bool) string {
	if said {
		return fmt.Sprint("rule ", e.rule)
	}
	return e.from
}

func (e *explanation) definition(d *rra.Definition, r *sink.Rule) {
	e.Row("step", d.Step, e.origin(r.Step > 0))
	from := e.origin(r.Heartbeat > 0)
	if h, same := heartbeat(d.Sources); same {
		e.Row("heartbeat", h, from)
	} else {
		for _, ds := range d.Sources {
			if ds.Kind != rra.Compute {
				e.Row("heartbeat."+ds.Name, ds.Heartbeat, from)
			}
		}
	}
	for _, a := range d.Archives {
		e.Row("archive", a.String()+" ("+a.Retention(d.Step)+")", e.origin(len(r.Archives) > 0))
	}
	for _, s := range r.Sources { // without them the sender decides on the data sources
		e.Row("source", s, e.origin(true))
	}
}

// heartbeat returns the heartbeat of the sources. same reports whether it is the same for all.
func heartbeat(sources []rra.DataSource) (h int64, same bool) {
	for _, s := range sources {
		switch {
		case s.Kind == rra.Compute:
		case h == 0:
			h = s.Heartbeat
		case s.Heartbeat != h:
			return 0, false
		}
	}
	return h, true
}

func (e *explanation) expire(r *sink.Rule, about *typesv1.Metadata) {
	switch {
	case r.Expire < 0:
		e.Row("expire", "never", e.origin(true))
	case r.Expire > 0:
		e.Row("expire", r.Expire, e.origin(true))
	case about.GetExpire() > 0 && slices.ContainsFunc(about.GetAttributes(), func(a *typesv1.Label) bool {
		return a.GetName() == receivers.AttributeOnExpiry && a.GetValue() == receivers.ExpireDelete
	}):
		e.Row("expire", about.GetExpire(), "metadata")
	default:
		e.Row("expire", "never", e.from)
	}
}

func (p *policy) newCheck(short string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check [FILE]",
		Short: short,
		Long:  configCheckHelp,
		Args:  cli.Takes(0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				p.ConfigFile = args[0]
			}
			return p.check()
		},
	}
	cli.AddOutput(cmd, &p.format)
	return cmd
}

func (p *policy) check() error {
	if p.FindConfig(p.ConfigFile) == "" {
		return errors.New("there is no file to check: --config, or RONDO_CONFIG, says where it is")
	}
	ways, _, err := p.Apply()
	if err != nil {
		return err
	}
	problems, err := p.problems(ways)
	if err != nil {
		return err
	}
	if elsewhere, err := p.elsewhere(ways); err != nil {
		return err
	} else {
		problems = append(elsewhere, problems...)
	}
	if len(problems) == 0 {
		if p.format == table.Formats[0] {
			_, err = fmt.Fprintf(p.Stdout, "no problem found: %s, %d rules\n", p.File, len(p.Rules))
		}
		return err
	}
	w := table.New(p.Stdout, p.format, "where", "rule", "what")
	for _, x := range problems {
		where, rule := p.File, any("")
		if x.rule >= 0 {
			where, rule = fmt.Sprint(p.File, ":", p.Rules[x.rule].Line), x.rule+1
		}
		w.Row(where, rule, x.what)
	}
	return cmp.Or(w.Close(), cli.ExitCode(1))
}

// A problem is a mistake in a setting that can be read.
type problem struct {
	rule int // index of the rule; -1: the problem is in another setting
	what string
}

// problems returns the mistakes in the rules. err is a mistake in the settings of a receiver.
func (p *policy) problems(ways server.Ways) (found []problem, err error) {
	var on []server.Receiver
	for _, r := range ways.Receivers {
		c := configOf(r)
		if err := r.Check(c); err != nil {
			return nil, err
		}
		if c.Address != "" || r.ReadsFiles(c) {
			on = append(on, r)
		}
	}
	for i := range p.Rules {
		if what := misspelt(p.Rules[i].Path, ways.Receivers); what != "" {
			found = append(found, problem{i, what})
		}
		if j := p.hiddenBy(i); j >= 0 {
			found = append(found, problem{i, fmt.Sprintf("it never decides: all that it matches gets rule %d, at line %d", j+1, p.Rules[j].Line)})
			continue
		}
		for _, r := range on {
			if what := misfit(&p.Rules[i], r); what != "" {
				found = append(found, problem{i, what})
			}
		}
	}
	return found, nil
}

// hiddenBy returns the index of an earlier rule that obviously matches everything that rule i
// matches, or -1.
func (p *policy) hiddenBy(i int) int {
	for j := range i {
		if p.Rules[j].Covers(&p.Rules[i].Rule) {
			return j
		}
	}
	return -1
}

// misfit returns why the archives of a rule do not fit the series of a protocol, or "" if they fit
// or the rule matches no such series.
func misfit(r *rules.Rule, in server.Receiver) string {
	if len(r.Archives) == 0 || r.Step > 0 || !r.Below(in.Protocol.PathPrefix()) {
		return ""
	}
	define, _ := defaultOf(in.Protocol.PathPrefix()+"/", []server.Receiver{in})
	step := define(0).Step
	if _, err := sink.ParseArchives(step, r.Archives); err != nil {
		return fmt.Sprintf("its archives do not fit the step of %s, which is %d: %v", in.Protocol.Name, step, err)
	}
	return ""
}
