package cli

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
)

// TestOtherVersionSaysTheWayOut: a database of another version was "unknown store version", and
// what to do stood on a page only.
func TestOtherVersionSaysTheWayOut(t *testing.T) {
	var out bytes.Buffer
	p := &Process{Stderr: &out}
	p.ReportError(fmt.Errorf("open a: %w", core.ErrVersion))
	for _, want := range []string{"ERROR: open a: written by another version of rondo\n", "rondo export --to FOLDER", "rondo --db NEW import FOLDER"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got %q, want %q in it", out.String(), want)
		}
	}
}
