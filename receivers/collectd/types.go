package collectd

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rondo-db/rondo/internal/conffile"
	"github.com/rondo-db/rondo/rra"
)

// standardTypes are the types of collectd 5.12. A line that is not indented describes data sources,
// "name kind minimum maximum" with commas between them. The indented lines below it name the types
// that have these data sources.
//
//go:embed types.txt
var standardTypes string

const (
	maxSourceName = 19 // rrdtool's limit, in characters of nameLetters
	nameLetters   = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz-"
	maxSources    = 256 // of a new series
)

// Types are the data sources of types, by the type's name. Their heartbeats are not set.
type Types map[string][]rra.DataSource

// StandardTypes returns the types that collectd 5.12 comes with.
func StandardTypes() Types {
	ts := make(Types, 512)
	var sources []rra.DataSource
	for line := range strings.Lines(standardTypes) {
		if !strings.HasPrefix(line, "\t") {
			sources = nil
			for s := range strings.SplitSeq(line, ",") {
				ds, err := parseSource(strings.Fields(s))
				if err != nil {
					panic(fmt.Sprintf("types.txt: %v", err)) // a test parses it
				}
				sources = append(sources, ds)
			}
			continue
		}
		for name := range strings.FieldsSeq(line) {
			ts[name] = sources
		}
	}
	return ts
}

// maxTypes is the size of the largest types.db, in bytes.
const maxTypes = 16 << 20

// Add adds the types of the types.db file name to ts. They replace types of the same names. Lines
// that do not parse are left out; warn is called for each, with an error that names file and line.
func (ts Types) Add(name string, warn func(error)) error {
	b, err := conffile.Read(name, maxTypes)
	if err != nil {
		return fmt.Errorf("types.db: %w", err)
	}
	ts.Parse(string(b), func(line int, err error) { warn(fmt.Errorf("%s:%d: %w", name, line, err)) })
	return nil
}

// Parse is Add for the text of a types.db file. warn gets the number of the line.
func (ts Types) Parse(text string, warn func(line int, err error)) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		line, _, _ = strings.Cut(line, "#")
		fields := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\r\n\v\f,", r) })
		if len(fields) == 0 {
			continue
		}
		sources, err := parseSources(fields[1:])
		if err != nil {
			warn(n, fmt.Errorf("type %q: %w", fields[0], err))
			continue
		}
		ts[fields[0]] = sources
	}
}

func parseSources(fields []string) ([]rra.DataSource, error) {
	if len(fields) == 0 {
		return nil, fmt.Errorf("no data source")
	}
	if len(fields) > maxSources {
		return nil, fmt.Errorf("%d data sources, %d is the most", len(fields), maxSources)
	}
	var sources []rra.DataSource
	for _, f := range fields {
		ds, err := parseSource(strings.Split(f, ":"))
		if err != nil {
			return nil, fmt.Errorf("data source %q: %w", f, err)
		}
		if slices.ContainsFunc(sources, func(x rra.DataSource) bool { return x.Name == ds.Name }) {
			return nil, fmt.Errorf("data source %q twice", ds.Name)
		}
		sources = append(sources, ds)
	}
	return sources, nil
}

// parseSource parses the fields name, kind, minimum and maximum.
func parseSource(f []string) (rra.DataSource, error) {
	var ds rra.DataSource
	if len(f) != 4 {
		return ds, fmt.Errorf("is not name:kind:minimum:maximum")
	}
	if n := len(f[0]); n == 0 || n > maxSourceName || strings.Trim(f[0], nameLetters) != "" {
		return ds, fmt.Errorf("name %q is not 1 to %d letters, digits, _ or -", f[0], maxSourceName)
	}
	ds.Name = f[0]
	kind, err := ParseKind(f[1])
	if err != nil {
		return ds, err
	}
	ds.Kind = kinds[kind]
	if ds.Min, err = parseLimit(f[2]); err != nil {
		return ds, fmt.Errorf("minimum %q: %w", f[2], err)
	}
	if ds.Max, err = parseLimit(f[3]); err != nil {
		return ds, fmt.Errorf("maximum %q: %w", f[3], err)
	}
	if ds.Min >= ds.Max {
		return ds, fmt.Errorf("minimum %s is not below maximum %s", f[2], f[3])
	}
	return ds, nil
}

func parseLimit(s string) (float64, error) {
	if s == "U" {
		return math.NaN(), nil
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("not a number or U")
	}
	return v, nil
}
