package rrdtool

import (
	"strings"
	"testing"
)

// TestOptionsOfUsages: the usage of each verb lists its options in a form that optionsIn reads. An
// option without an argument ends with a dot here.
func TestOptionsOfUsages(t *testing.T) {
	want := map[string]string{
		"create":      "start:b step:s template:t source:r no-overwrite:O. daemon:d",
		"update":      "template:t skip-past-updates:s. locking:L daemon:d",
		"updatev":     "template:t skip-past-updates:s. locking:L",
		"dump":        "header:h no-header:n. daemon:d",
		"restore":     "range-check:r. force-overwrite:f.",
		"last":        "daemon:d",
		"lastupdate":  "daemon:d",
		"first":       "rraindex daemon:d",
		"info":        "daemon:d noflush:F.",
		"list":        "recursive:r. daemon:d noflush:F.",
		"fetch":       "start:s end:e resolution:r align-start:a. daemon:d",
		"resize":      "",
		"xport":       "start:s end:e maxrows:m step json. showtime:t. enumds. daemon:d",
		"flushcached": "daemon:d",
		"alter":       "rra add-rra drop-rra ds drop-ds rename step:s dry-run:n. output:o daemon:d",
		"tune": "heartbeat:h minimum:i maximum:a data-source-type:d data-source-rename:r deltapos:p deltaneg:n window-length:w " +
			"failure-threshold:f alpha:x beta:y gamma:z smoothing-window:s gamma-deviation:v smoothing-window-deviation:S " +
			"aberrant-reset:b step:t daemon:D",
	}
	for _, v := range append(verbs[:len(verbs):len(verbs)], own...) {
		var got []string
		for _, o := range v.options {
			text := o.long
			if o.short != 0 {
				text += ":" + string(o.short)
			}
			if !o.arg {
				text += "."
			}
			got = append(got, text)
		}
		if text := strings.Join(got, " "); v.about != drawn && text != want[v.name] {
			t.Errorf("%s has %s\nwant %s", v.name, text, want[v.name])
		}
	}
}
