package dashboards_test

import (
	"testing"

	"github.com/rondo-db/rondo/query/dashboards"
)

// TestMark: a mark stays until the next one, and is no page.
func TestMark(t *testing.T) {
	f := dashboards.In(t.TempDir())
	if got := f.Mark(); got != "" {
		t.Errorf("at first: %q", got)
	}
	for _, want := range []string{"one", "two"} {
		if err := f.SetMark(want); err != nil || f.Mark() != want {
			t.Errorf("%q, %v", f.Mark(), err)
		}
	}
	if all, err := f.List(); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
}
