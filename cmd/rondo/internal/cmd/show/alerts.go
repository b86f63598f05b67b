package show

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/cmd/rondo/internal/table"
	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rpc/types/typesv1"
)

const alertsHelp = `List the alerts of a server's rules: those that fire, those that are pending, and those that were resolved in the last day.

  rondo alerts
  rondo alerts --firing || mail …
  rondo alerts -o json

With --firing the exit code is 1 if an alert fires or the server cannot be asked, and 0 if none fires. SINCE is when an alert came into its
state, VALUE the expression's when it was true last. All formats but the table have the annotations, the group and the expression, too.`

// mostAlerts are as many as a server lists.
const mostAlerts = 10_000

func NewAlerts(c *cli.Factory) *cobra.Command {
	var firing bool
	cmd := cli.Printing(&cobra.Command{
		Use:   "alerts",
		Short: "List the alerts of a server's rules",
		Long:  alertsHelp,
		Args:  cli.Takes(0, 0),
	}, table.Formats, func(ctx context.Context, format string, _ []string) error {
		return c.Target().Ask(ctx, func(server *rpc.Client) error {
			answer, err := server.Alerts(ctx, &rondov1.AlertsRequest{Limit: mostAlerts})
			if err != nil {
				return cli.WithoutPrefix(err)
			}
			if err := printAlerts(c, format, answer, firing); err != nil {
				return err
			}
			if firing && answer.GetFiring() > 0 {
				return cli.ExitError(1)
			}
			return nil
		})
	})
	cmd.Flags().BoolVar(&firing, "firing", false, "only alerts that fire; the exit code is 1 if there is one")
	return cmd
}

func printAlerts(c *cli.Factory, format string, m *rondov1.AlertsResponse, firing bool) error {
	people := format == table.Formats[0]
	columns := []string{"state", "alert", "since", "value", "labels"}
	if people {
		columns = append(columns, "summary")
	} else {
		columns = append(columns, "annotations", "group", "expr")
	}
	w := table.New(c.Stdout, format, columns...)
	for _, a := range m.GetAlerts() {
		if firing && a.GetState() != "firing" {
			continue
		}
		since := time.UnixMicro(a.GetSinceUs()).UTC().Format(time.RFC3339)
		notes := pairsOf(a.GetAnnotations())
		row := []any{a.GetState(), a.GetName(), since, numberCell(a.GetValue()), pairsOf(a.GetLabels())}
		if people {
			row = append(row, cmp.Or(notes["summary"], notes["description"], "-"))
		} else {
			row = append(row, notes, a.GetGroup(), a.GetExpr())
		}
		w.Row(row...)
	}
	if n := m.GetFiring() + m.GetPending() + m.GetResolved() - int64(len(m.GetAlerts())); n > 0 {
		// If this fails, the hint cannot be delivered.
		_, _ = fmt.Fprintf(c.Stderr, "%d more alerts are not listed\n", n)
	}
	return w.Close()
}

// pairs are labels, an object in JSON.
type pairs map[string]string

func pairsOf(ls []*typesv1.Label) pairs {
	out := make(pairs, len(ls))
	for _, l := range ls {
		out[l.GetName()] = l.GetValue()
	}
	return out
}

func (p pairs) String() string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(p)) {
		words = append(words, name+"="+p[name])
	}
	return cmp.Or(strings.Join(words, " "), "-")
}
