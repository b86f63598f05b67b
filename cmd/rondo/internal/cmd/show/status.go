package show

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/cmd/rondo/internal/table"
	"github.com/rondo-db/rondo/internal/quantity"
	"github.com/rondo-db/rondo/internal/text"
	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

const statusHelp = `Say how a server does: what is wrong, since when and what to do, then what it stores and what each receiver gets.

  rondo status
  rondo status --daemon http://HOST:9180 -o json

Rates are of the last minute. JSON is the answer of the RPC's method Status, with the senders, too.`

func NewStatus(c *cli.Factory) *cobra.Command {
	return cli.Printing(&cobra.Command{
		Use:   "status",
		Short: "Say how a server does, and what is wrong",
		Long:  statusHelp,
		Args:  cli.Takes(0, 0),
	}, table.Formats[:2], func(ctx context.Context, format string, _ []string) error {
		return c.Target().Ask(ctx, func(server *rpc.Client) error {
			answer, err := server.Status(ctx, &rondov1.StatusRequest{})
			if err != nil {
				return cli.WithoutPrefix(err)
			}
			if format == table.Formats[0] {
				return printStatus(c, answer)
			}
			b, err := protojson.MarshalOptions{Multiline: true}.Marshal(answer)
			if err == nil {
				_, err = fmt.Fprintf(c.Stdout, "%s\n", b)
			}
			return err
		})
	})
}

func printStatus(c *cli.Factory, m *rondov1.StatusResponse) error {
	var b strings.Builder
	number := func(v float64, unit string) string { return quantity.Plain(quantity.Text(v, unit)) }
	bytes := func(n int64) string { return number(float64(n), "B") }
	fmt.Fprintf(&b, "rondo %s, up %s, %s: %s\n", m.GetVersion(), duration((m.GetNowUs()-m.GetStartedUs())/1e6), text.Escape(m.GetDatabase()), verdict(m.GetProblems()))
	for _, p := range m.GetProblems() {
		fmt.Fprintf(&b, "\n%-8s %s\n         since %s; %s\n", p.GetSeverity(), text.Escape(p.GetText()),
			time.UnixMicro(p.GetSinceUs()).UTC().Format(time.RFC3339), text.Escape(p.GetAdvice()))
	}
	e := m.GetEngine()
	fmt.Fprintf(&b, "\n%d series of %d at most, %d samples stored, %s a second, %d late, %d refused\n",
		e.GetSeries(), e.GetSeriesLimit(), e.GetSamples(), number(e.GetSampleRate(), ""), e.GetSamplesLate(), e.GetSamplesRefused())
	fmt.Fprintf(&b, "%s of memory of %s, %s of log, a database file of %s, %s free on its disk\n\n",
		bytes(e.GetMemoryBytes()), bytes(e.GetMemoryBudgetBytes()), bytes(e.GetLogBytes()), bytes(e.GetDatabaseBytes()), bytes(e.GetDiskFreeBytes()))
	if _, err := fmt.Fprint(c.Stdout, b.String()); err != nil {
		return err
	}
	w := table.New(c.Stdout, table.Formats[0], "receiver", "address", "samples", "a second", "series", "senders", "not stored")
	for _, r := range m.GetReceivers() {
		var lost []string
		for _, d := range r.GetDropped() {
			lost = append(lost, fmt.Sprintf("%d %s", d.GetCount(), d.GetReason()))
		}
		if lost == nil {
			lost = []string{"-"}
		}
		w.Row(r.GetName(), r.GetAddr(), r.GetSamples(), number(r.GetSampleRate(), ""), r.GetSeries(), r.GetSenders(), strings.Join(lost, ", "))
	}
	return w.Close()
}

// verdict says how many problems there are, as the page does.
func verdict(problems []*rondov1.Problem) string {
	var words []string
	for _, severity := range []string{"error", "warning"} {
		n := 0
		for _, p := range problems {
			if p.GetSeverity() == severity {
				n++
			}
		}
		switch n {
		case 0:
		case 1:
			words = append(words, "1 "+severity)
		default:
			words = append(words, fmt.Sprintf("%d %ss", n, severity))
		}
	}
	if words == nil {
		return "all is well"
	}
	return strings.Join(words, ", ")
}
