package rra

import "fmt"

// The limits of a definition are checked before anything else is done with it, so that a short text
// cannot cause much work. docs/limits.md gives the reason for each.
const (
	// MaxSources is the largest number of data sources of a series.
	MaxSources = 4096
	// MaxComputes is how many of them may be COMPUTE.
	MaxComputes = 256
	// MaxArchives is the largest number of archives of a series.
	MaxArchives = 256
	// MaxColumns is the largest number of archives times data sources. One sample may end so many
	// rows.
	MaxColumns = 1 << 16
	// MaxRows is the largest number of rows that one archive can have, as in rrdtool's files. A
	// store allows fewer.
	MaxRows = 1<<31 - 1
	// MaxValues is the largest number of values of a series: rows times data sources, of all
	// archives.
	MaxValues = 1_000_000_000
	// MaxStateBytes is the largest state of a series, in bytes. Most of a large state are the rows
	// of SEASONAL and DEVSEASONAL archives: 8 bytes for each row and data source.
	MaxStateBytes = 4 << 20
	// MaxName is the longest name of a data source, in bytes. The command line takes names of 19
	// bytes, as rrdtool does.
	MaxName = 255
	// MaxExpression is the longest COMPUTE expression, in bytes.
	MaxExpression = 4096
)

// With these limits counters fit into half a word, and products of step, PDPs and rows into an
// int64.
const (
	maxStep      = 1 << 31
	maxPDPs      = 1<<31 - 1
	maxRowTime   = 1 << 40 // seconds a row
	maxHeartbeat = 1 << 52
)

// checkCounts refuses a definition with too many parts.
func checkCounts(sources, archives int) error {
	switch {
	case sources > MaxSources:
		return &FieldError{"ds", fmt.Sprintf("%d data sources, at most %d are possible", sources, MaxSources)}
	case archives > MaxArchives:
		return &FieldError{"rra", fmt.Sprintf("%d archives, at most %d are possible", archives, MaxArchives)}
	case sources*archives > MaxColumns:
		return &FieldError{"rra", fmt.Sprintf("%d archives of %d data sources are %d columns, at most %d are possible",
			archives, sources, sources*archives, MaxColumns)}
	}
	return nil
}

// checkSize refuses a definition whose archives are too large together.
func (d *Definition) checkSize() error {
	if err := checkComputes(d.Sources); err != nil {
		return err
	}
	values, ring := int64(0), int64(0)
	for i := range d.Archives {
		a := &d.Archives[i]
		n := a.Rows * int64(len(d.Sources))
		values += n
		if a.CF == Seasonal || a.CF == DevSeasonal {
			ring += n
		}
	}
	if values > MaxValues {
		return &FieldError{"rra", fmt.Sprintf("%d values (rows times data sources of all archives), at most %d are possible",
			values, MaxValues)}
	}
	if bytes := 8 * ring; bytes > MaxStateBytes { // the machine knows the rest of the state
		return stateError(bytes)
	}
	return nil
}

// checkComputes refuses too many COMPUTE data sources. Each of them reads all data sources before
// it.
func checkComputes(sources []DataSource) error {
	n := 0
	for i := range sources {
		if sources[i].Kind == Compute {
			n++
		}
	}
	if n > MaxComputes {
		return &FieldError{"ds", fmt.Sprintf("%d COMPUTE data sources, at most %d are possible", n, MaxComputes)}
	}
	return nil
}

func stateError(bytes int64) error {
	return &FieldError{"rra", fmt.Sprintf("a state of %d bytes, most of them rows of SEASONAL and DEVSEASONAL archives, at most %d are possible",
		bytes, MaxStateBytes)}
}
