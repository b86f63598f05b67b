package web

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/rondo-db/rondo/query/graphdata"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// A prepared graph has been read and checked, and not been drawn.
type prepared struct {
	*question
	sketch *rrdtool.Sketch
	values int64         // that are to be read and kept
	tag    string        // of the picture, in quotes
	fresh  time.Duration // until the picture will be another one
}

// tagOf returns the ETag of a graph, in quotes. It changes with everything that the picture depends
// on: the arguments, the range of time, and which of its rows each series has. A range that
// lies wholly in the past keeps its tag while samples arrive.
func (s *Server) tagOf(d *prepared, now time.Time, readings []graphdata.Reading) string {
	h := sha256.New()
	o := d.sketch.Options()
	// A hash takes all.
	_, _ = fmt.Fprintf(h, "%q %d %q %q %q %q %d %d\n", s.Version, s.Started.UnixNano(), d.format, d.zone.String(), d.args, d.settings, o.Start, o.End)
	for _, arg := range d.args {
		// These arguments may show the present.
		if strings.Contains(strings.ToLower(arg), "now") || strings.Contains(arg, "strftime") {
			_, _ = fmt.Fprintf(h, "now %d\n", now.Unix())
			break
		}
	}
	for _, r := range readings {
		if r.Plan == nil {
			_, _ = fmt.Fprintln(h, "unknown")
			continue
		}
		from, to := r.Plan.Held()
		_, _ = fmt.Fprintf(h, "%d %d %d %d %d %d %d\n", r.Ref, r.Plan.Archive, r.Plan.Step, r.Plan.Start, r.Plan.End, from, to)
	}
	return `"` + hex.EncodeToString(h.Sum(nil)[:16]) + `"`
}
