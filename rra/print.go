package rra

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

var kindNames = [...]string{"GAUGE", "COUNTER", "DERIVE", "DCOUNTER", "DDERIVE", "ABSOLUTE", "COMPUTE"}

var cfNames = [...]string{
	"AVERAGE", "MIN", "MAX", "LAST",
	"HWPREDICT", "MHWPREDICT", "SEASONAL", "DEVSEASONAL", "DEVPREDICT", "FAILURES",
}

// String returns the name of the kind: GAUGE, COUNTER, …
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// ParseKind parses a kind: GAUGE, COUNTER, DERIVE, DCOUNTER, DDERIVE, ABSOLUTE or COMPUTE.
func ParseKind(s string) (Kind, error) {
	for k, name := range kindNames {
		if s == name {
			return Kind(k), nil
		}
	}
	return 0, refuse("invalid DS type specified (%s)", s)
}

// String returns the name of the consolidation function: AVERAGE, MIN, …
func (cf CF) String() string {
	if int(cf) < len(cfNames) {
		return cfNames[cf]
	}
	return fmt.Sprintf("CF(%d)", uint8(cf))
}

// ParseCF parses a consolidation function: AVERAGE, MIN, MAX, LAST, HWPREDICT, MHWPREDICT,
// SEASONAL, DEVSEASONAL, DEVPREDICT or FAILURES.
func ParseCF(s string) (CF, error) {
	for cf, name := range cfNames {
		if s == name {
			return CF(cf), nil
		}
	}
	return 0, fmt.Errorf("unknown consolidation function '%s'", s)
}

// String returns the data source as `rrdtool create` takes it. [ParseDataSource] reads it back bit
// for bit. If rrdtool cannot read a limit, because its parser cannot produce the double or the text
// would be too long, the limit is printed in hexadecimal (0x1.8p-3), which only rondo reads.
func (s DataSource) String() string {
	if s.Kind == Compute {
		return "DS:" + s.Name + ":COMPUTE:" + s.Expr
	}
	return fmt.Sprintf("DS:%s:%s:%d:%s:%s", s.Name, s.Kind, s.Heartbeat, formatLimit(s.Min), formatLimit(s.Max))
}

func formatLimit(v float64) string {
	if math.IsNaN(v) {
		return "U"
	}
	return formatExact(v, limitWidth)
}

// String returns the archive as `rrdtool create` takes it. It names its partner by number, as one
// archive of a definition. The period of HWPREDICT and MHWPREDICT, which only matters if they imply
// other archives, is printed as the number of rows. The widths of the confidence band of FAILURES
// cannot be printed; they are 2 unless they were tuned.
func (a Archive) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "RRA:%s:", a.CF)
	f := func(v float64) string { return formatExact(v, math.MaxInt) }
	switch a.CF {
	case HWPredict, MHWPredict:
		fmt.Fprintf(&b, "%d:%s:%s:%d", a.Rows, f(a.Alpha), f(a.Beta), a.Rows)
	case Seasonal, DevSeasonal:
		fmt.Fprintf(&b, "%d:%s", a.Rows, f(a.Gamma))
	case DevPredict:
		b.WriteString(strconv.FormatInt(a.Rows, 10))
	case Failures:
		fmt.Fprintf(&b, "%d:%d:%d", a.Rows, a.Threshold, a.Window)
	default:
		fmt.Fprintf(&b, "%s:%d:%d", f(a.XFF), a.PDPs, a.Rows)
		return b.String()
	}
	if a.Partner >= 0 || a.CF != HWPredict && a.CF != MHWPredict {
		fmt.Fprintf(&b, ":%d", a.Partner+1)
	}
	if (a.CF == Seasonal || a.CF == DevSeasonal) && !math.IsNaN(a.SmoothingWindow) {
		// rrdtool reads this field, and only this one, with scanf.
		b.WriteString(":smoothing-window=" + strconv.FormatFloat(a.SmoothingWindow, 'g', -1, 64))
	}
	return b.String()
}

// Args returns the definition as those arguments of `rrdtool create` that follow --step.
// [ParseDefinition] reads them back.
func (d *Definition) Args() []string {
	args := make([]string, 0, len(d.Sources)+len(d.Archives))
	for _, s := range d.Sources {
		args = append(args, s.String())
	}
	for _, a := range d.Archives {
		args = append(args, a.String())
	}
	return args
}

// SourceNames returns the names of data sources.
func SourceNames(sources []DataSource) []string {
	names := make([]string, len(sources))
	for i := range sources {
		names[i] = sources[i].Name
	}
	return names
}

// String returns the definition as the command line of `rrdtool create`.
func (d *Definition) String() string {
	return fmt.Sprintf("--step %d %s", d.Step, strings.Join(d.Args(), " "))
}
