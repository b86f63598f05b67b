package show

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backend"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/cmd/rondo/internal/health"
	"github.com/rondo-db/rondo/cmd/rondo/internal/table"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

func NewStats(c *cli.Factory) *cobra.Command {
	return cli.Printing(&cobra.Command{
		Use:   "stats",
		Short: "Print the store's counters",
		Long: `Print what the store has counted since it was opened, and how large it is. Numbers are exact with -o json, jsonl, csv
or tsv, where the name of a counter ends in its unit.`,
		Args: cli.Takes(0, 0),
	}, table.Formats, func(ctx context.Context, format string, _ []string) error {
		return c.Target().Read(ctx, func(db *backend.Database) error {
			answer, err := db.API().Stats(ctx, &rondov1.StatsRequest{})
			if err != nil {
				return err
			}
			return printStats(c, format, answer)
		})
	})
}

func printStats(c *cli.Factory, format string, m *rondov1.StatsResponse) error {
	m.Version = cmp.Or(m.GetVersion(), cli.Version()) // without a server it is this program
	if health.MuchFree(m.GetDatabaseBytes(), m.GetDatabaseFreeBytes()) && format == table.Formats[0] {
		// If this fails, the hint cannot be delivered.
		_, _ = fmt.Fprintf(c.Stderr, "%d MiB of the database file are free pages: rondo compact gives them back to the file system\n", m.GetDatabaseFreeBytes()>>20)
	}
	w := table.New(c.Stdout, format, "name", "value")
	fields := m.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		name, value := string(fields.Get(i).Name()), m.ProtoReflect().Get(fields.Get(i)).Interface()
		if format == table.Formats[0] {
			name, value = forPeople(name, value)
		}
		w.Row(name, value)
	}
	return w.Close()
}

// forPeople returns a counter with its unit, which is the end of its name, in the value.
func forPeople(name string, value any) (string, any) {
	switch v := value.(type) {
	case float64: // seconds
		name = strings.Replace(name, "_seconds", "", 1)
		if v >= 1 {
			return name, duration(int64(v + 0.5))
		}
		return name, fmt.Sprintf("%.1f ms", v*1000)
	case int64:
		if bare, ok := strings.CutSuffix(name, "_us"); ok {
			if v == 0 { // no server runs
				return bare, "-"
			}
			return bare, ago(time.Now(), v/1e6)
		}
		if strings.HasSuffix(name, "_bytes") {
			return name, health.Size(v)
		}
	case uint64:
		if strings.HasSuffix(name, "_bytes") {
			return name, health.Size(int64(min(v, math.MaxInt64)))
		}
	}
	return name, value
}
