package web

import (
	"slices"
	"strings"
	"testing"
)

// TestFunctionsOfCharts: the page has the rows of the functions that the script asks for, in its
// order.
func TestFunctionsOfCharts(t *testing.T) {
	for archives, want := range map[string]string{
		"RRA:AVERAGE:0.5:1:10 RRA:MAX:0.5:1:10 RRA:MIN:0.5:1:10":                                     "AVERAGE MIN MAX",
		"RRA:MAX:0.5:1:10 RRA:MIN:0.5:1:10":                                                          "MAX",
		"RRA:LAST:0.5:1:10 RRA:MIN:0.5:1:10":                                                         "LAST MIN",
		"RRA:AVERAGE:0.5:1:10 RRA:MHWPREDICT:10:0.1:0.1:5 RRA:DEVPREDICT:10:5 RRA:FAILURES:10:7:9:5": "AVERAGE MHWPREDICT DEVPREDICT FAILURES",
		"RRA:HWPREDICT:10:0.1:0.1:5":                                                                 "",
	} {
		if got := functions(strings.Fields(archives)); !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%s: %v", archives, got)
		}
	}
}
