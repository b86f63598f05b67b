package receivers

import (
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/rondo-db/rondo/internal/text"
	"github.com/rondo-db/rondo/rra"
)

// The archives of collectd's rrdtool plugin: AVERAGE, MIN and MAX for each of the spans, which are
// in seconds.
const (
	standardRows = 1200
	standardXFF  = 0.1
)

var standardSpans = [...]int64{3600, 86400, 604800, 2678400, 31622400}

// StandardArchives returns the archives that collectd's rrdtool plugin makes for a step in seconds:
// AVERAGE, MIN and MAX of 1200 rows or more for each of an hour, a day, a week, a month and a year.
// Series of protocols that prescribe no archives get them too.
func StandardArchives(step int64) []rra.Archive {
	as := make([]rra.Archive, 0, 3*len(standardSpans))
	for i, span := range standardSpans {
		span = max(span, standardRows*step)
		pdps := int64(1)
		if i > 0 {
			pdps = span / (standardRows * step)
		}
		rows := (span + pdps*step - 1) / (pdps * step)
		for _, cf := range [...]rra.CF{rra.Average, rra.Min, rra.Max} {
			as = append(as, rra.Archive{CF: cf, XFF: standardXFF, PDPs: pdps, Rows: rows})
		}
	}
	return as
}

// StandardDefinition returns the definition of one GAUGE named "value", with a heartbeat of two
// steps and StandardArchives. step is in seconds; 0: collectd's 10.
func StandardDefinition(step int64) *rra.Definition {
	if step <= 0 {
		step = 10
	}
	return &rra.Definition{
		Step:     step,
		Sources:  []rra.DataSource{{Name: "value", Kind: rra.Gauge, Heartbeat: 2 * step, Min: math.NaN(), Max: math.NaN()}},
		Archives: StandardArchives(step),
	}
}

// LearnedDefinition is StandardDefinition for a step that is a guess, or was learned from samples.
// Senders whose step nobody has said are seldom on time: the heartbeat is LearnedHeartbeat.
func LearnedDefinition(step int64) *rra.Definition {
	d := StandardDefinition(step)
	d.Sources[0].Heartbeat = LearnedHeartbeat(d.Step)
	return d
}

// LearnedHeartbeat returns the heartbeat for a step that was learned: four steps, and at least a
// minute. Both are in seconds.
func LearnedHeartbeat(step int64) int64 { return max(4*step, 60) }

// ByStep returns define, which it calls only if the step is another one than in the call before. So
// new series share a definition: do not change it.
func ByStep(define func(step int64) *rra.Definition) func(step int64) *rra.Definition {
	type made struct {
		step int64
		d    *rra.Definition
	}
	var last atomic.Pointer[made]
	return func(step int64) *rra.Definition {
		x := last.Load()
		if x == nil || x.step != step {
			x = &made{step, define(step)}
			last.Store(x)
		}
		return x.d
	}
}

// OnlySource returns the one data source of d that takes values. A series may have any number of
// COMPUTE data sources beside it. ok is false if not exactly one data source takes values: then a
// receiver whose samples have one value cannot use the series.
func OnlySource(d *rra.Definition) (ds rra.DataSource, ok bool) {
	n := 0
	for i := range d.Sources {
		if d.Sources[i].Kind != rra.Compute {
			ds = d.Sources[i]
			n++
		}
	}
	return ds, n == 1
}

// ParseDuration parses a duration as every setting takes it: a number of seconds (30), a duration
// of Go (500ms, 1m30s), or a number with one of the units d, w, M (31 days) and y (366 days). It
// may be negative.
func ParseDuration(text string) (time.Duration, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return times(n, time.Second, text)
	}
	for unit, length := range map[string]time.Duration{
		"d": 24 * time.Hour, "w": 7 * 24 * time.Hour, "M": 31 * 24 * time.Hour, "y": 366 * 24 * time.Hour,
	} {
		if digits, ok := strings.CutSuffix(text, unit); ok {
			if n, err := strconv.ParseInt(digits, 10, 64); err == nil {
				return times(n, length, text)
			}
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q is no duration: want 90 (seconds), 500ms, 90s, 15m, 12h, 30d", text)
	}
	return d, nil
}

// times returns n·unit, or an error if that is longer than a time.Duration can be.
func times(n int64, unit time.Duration, text string) (time.Duration, error) {
	if n > math.MaxInt64/int64(unit) || n < math.MinInt64/int64(unit) {
		return 0, fmt.Errorf("%q is longer than 292 years", text)
	}
	return time.Duration(n) * unit, nil
}

// maxStep is the longest step of a setting: a year. A longer one is a mistake.
const maxStep = 366 * 24 * time.Hour

// ParseStep parses the step of new series, and returns it in seconds.
func ParseStep(text string) (int64, error) {
	d, err := ParseDuration(text)
	if err != nil {
		return 0, err
	}
	if d < time.Second || d > maxStep || d%time.Second != 0 {
		return 0, fmt.Errorf("%q: want whole seconds, 1s to 366d", text)
	}
	return int64(d / time.Second), nil
}

// AppendComponent appends one component of a series' path to dst. The component is the parts, one
// after the other, with these changes: "/" and control characters (text.IsControl) become "_",
// invalid UTF-8 becomes U+FFFD, "." becomes "_" and ".." becomes "__". So names that differ may
// become one component: package pathname keeps them apart.
func AppendComponent[T string | []byte](dst []byte, parts ...T) []byte {
	start := len(dst)
	for _, p := range parts {
		for i := 0; i < len(p); {
			switch c := p[i]; {
			case c == '/' || c < 0x20 || c == 0x7f:
				dst = append(dst, '_')
				i++
			case c < utf8.RuneSelf:
				dst = append(dst, c)
				i++
			default:
				r, n := decodeRune(p[i:])
				if text.IsControl(r) {
					r = '_'
				}
				dst = utf8.AppendRune(dst, r)
				i += n
			}
		}
	}
	switch string(dst[start:]) {
	case ".", "..":
		for i := start; i < len(dst); i++ {
			dst[i] = '_'
		}
	}
	return dst
}

func decodeRune[T string | []byte](p T) (rune, int) {
	return utf8.DecodeRune([]byte(p[:min(len(p), utf8.UTFMax)]))
}

// LabelText makes s valid as the name of a label: control characters become "_", invalid UTF-8
// becomes U+FFFD.
func LabelText(s string) string { return valid(s, text.Check) }

// LabelValue is LabelText for the value of a label, which may have several lines.
func LabelValue(s string) string { return valid(s, text.CheckLines) }

func valid(s string, check func(string) error) string {
	if check(s) == nil {
		return s
	}
	return strings.Map(func(r rune) rune {
		if check(string(r)) != nil {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// Text returns b as a string in which invalid UTF-8 is replaced by U+FFFD.
func Text(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }

// FilePeer returns the name of the peer that a recorded file stands for: the file's name without
// folder and extension.
func FilePeer(file string) string {
	base := filepath.Base(file)
	if peer := strings.TrimSuffix(base, filepath.Ext(base)); peer != "" {
		return peer
	}
	return base
}
