package serve

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/rondo-db/rondo/internal/natsconn"
	"github.com/rondo-db/rondo/query/prom/alerts"
)

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
