package rrdclient

import (
	"runtime"
	"strings"
	"testing"
)

// FuzzInfo reads what a server says of a series.
func FuzzInfo(f *testing.F) {
	f.Add("step 1 10\nlast_update 1 1000000000\nds[x].index 1 0\nds[x].type 2 GAUGE\nds[x].minimal_heartbeat 1 20\nds[x].min 0 NaN\nds[x].max 0 1e3\n" +
		"ds[x].last_ds 2 U\nds[x].value 0 NaN\nds[x].unknown_sec 1 0\nrra[0].cf 2 AVERAGE\nrra[0].rows 1 10\nrra[0].cur_row 1 3\nrra[0].pdp_per_row 1 1\n" +
		"rra[0].xff 0 0.5\nrra[0].cdp_prep[0].value 0 NaN\nrra[0].cdp_prep[0].unknown_datapoints 1 0")
	f.Add("step 1 10\nlast_update 1 1\nrra[0].cf 2 SEASONAL\nrra[0].rows 1 2000000000") // a ring that no memory holds
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 64<<10 {
			return // longer than what is bounded here
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = parseInfo(strings.Split(text, "\n")) // an error is as good
		_, _ = parseTable(strings.Split(text, "\n"))
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 64<<20+1000*uint64(len(text)) {
			t.Errorf("%d bytes allocated for an answer of %d", n, len(text))
		}
	})
}

// FuzzTable: no answer to FETCH crashes its reader, and what is read has times that can be counted
// with.
func FuzzTable(f *testing.F) {
	const rows = "\nDSCount: 2\nDSName: x y\n1000000010: 1 -nan\n1000000020: 2.5e+00 inf"
	f.Add("FlushVersion: 1\nStart: 1000000000\nEnd: 1000000020\nStep: 10" + rows)
	f.Add("Start: 0\nEnd: 9223372036854775807\nStep: 4611686018427387903" + rows)
	f.Add("Start: -9223372036854775808\nEnd: 9223372036854775807\nStep: 1\nDSName: x")
	f.Fuzz(func(t *testing.T, text string) {
		table, err := parseTable(strings.Split(text, "\n"))
		if err != nil {
			return
		}
		if n := table.Len(); n < 0 || len(table.Values) != n*len(table.DS) || table.Start > table.End || table.Start+table.Step*int64(n+1) < table.Start {
			t.Errorf("%+v", table)
		}
	})
}
