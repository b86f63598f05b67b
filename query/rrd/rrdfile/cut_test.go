package rrdfile_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/query/rrd/rrdfile"
)

// TestCutDump: a dump that was cut off anywhere is reported as one, with the line of its end.
func TestCutDump(t *testing.T) {
	f := fixed(t, 10, whole...)
	xml := strings.TrimRight(dump(t, f, time.UTC), "\n")
	xml = strings.Replace(xml, "<last_ds> ", "<!-- größe € --><last_ds> &#49;&#x32;", 1)
	xml = strings.Replace(xml, "<rrd>", "<?note?><rrd a='1>2'>", 1)
	for n := 1; n < len(xml); n++ {
		_, err := rrdfile.ReadXML(strings.NewReader(xml[:n]), rrdfile.XMLOptions{})
		var x *rrdfile.XMLError
		if !errors.As(err, &x) {
			t.Fatalf("%d of %d bytes: %v", n, len(xml), err)
		}
		if at := strings.LastIndexByte(xml[:n], '>') + 1; strings.TrimSpace(xml[at:n]) == "" && strings.HasSuffix(strings.TrimSpace(x.Err), "Document is empty") && n <= strings.Index(xml, "<rrd") {
			continue // nothing but its head
		}
		if line := strings.Count(xml[:n], "\n") + 1; x.Line != line || !strings.Contains(x.Err, "the document ends too early") {
			t.Fatalf("%d of %d bytes, in line %d, behind %q: %v", n, len(xml), line, xml[max(0, n-30):n], err)
		}
		if !strings.HasPrefix(x.Original(), "line ") {
			t.Fatalf("%d of %d bytes: restore prints %s", n, len(xml), x.Original())
		}
	}
}
