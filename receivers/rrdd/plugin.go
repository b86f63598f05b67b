package rrdd

import "github.com/rondo-db/rondo/receivers"

// A plugin is one file of the folder.
type plugin struct {
	name   string
	reader Reader
	gone   bool // the file is not there any more

	generation uint64       // Reader.Generation of adopted
	adopted    []Source     // the data sources of series
	legacy     bool         // what their words mean: see Vocabulary
	series     []dataSeries // one for each of adopted
	bytes      int          // of memory that adopted and series take, about

	failures int     // turns in a row in which the file could not be read
	skip     int     // turns in which the file is not read unless it changes
	bad      content // the content that could not be decoded last
	barred   bool    // there was no room for the file: it is not read even if it changes
}

// A content identifies the content of a file that could not be decoded.
type content struct {
	sum  uint64       // hash of the bytes that were read; 0: none were
	size int64        // of the file
	head [v1Text]byte // the first bytes
	n    int          // length of head in use
}

// How many turns pass between two readings of a file that cannot be read.
const (
	patience = 3 // failures before there are any
	maxTurns = 64
)

// fail notes one more turn in which p could not be read.
func (p *plugin) fail() {
	if p.failures++; p.failures >= patience {
		p.skip = min(2<<min(p.failures-patience, 16), maxTurns) - 1
	}
}

// size is about what s takes in memory, its entry included.
func (s *Source) size() int {
	return 256 + len(s.Name) + len(s.UUID) + len(s.Description) + len(s.Units)
}

// A dataSeries is the series of one data source.
type dataSeries struct {
	receivers.Series
	describe bool // the attributes have changed since they were handed over
}

// renew returns the series of sources, where had are the series of old. The series of a data source
// that is unchanged stays. The others must be resolved again, which gives them their new labels.
func renew(old []Source, had []dataSeries, sources []Source) []dataSeries {
	byName := make(map[string]int, len(old))
	for i := range old {
		byName[old[i].Name] = i
	}
	out := make([]dataSeries, len(sources))
	for i := range sources {
		s, e := &sources[i], &out[i]
		j, known := byName[s.Name]
		switch {
		case !known || old[j].Owner != s.Owner || old[j].UUID != s.UUID:
			e.describe = s.described()
		case old[j] == *s:
			*e = had[j]
		default:
			e.describe = had[j].describe || old[j].Description != s.Description || old[j].Units != s.Units
		}
	}
	return out
}
