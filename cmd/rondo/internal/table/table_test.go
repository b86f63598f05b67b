package table_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/cmd/rondo/internal/table"
)

func TestFormats(t *testing.T) {
	for _, tt := range []struct{ format, want string }{
		{"table", "NAME   VALUE\na\\tb   1\n\"c,d\"  2.5\n"},
		{"json", "[\n {\"name\": \"a\\tb\", \"value\": 1},\n {\"name\": \"\\\"c,d\\\"\", \"value\": 2.5}\n]\n"},
		{"jsonl", "{\"name\": \"a\\tb\", \"value\": 1}\n{\"name\": \"\\\"c,d\\\"\", \"value\": 2.5}\n"},
		{"csv", "name,value\na\tb,1\n\"\"\"c,d\"\"\",2.5\n"},
		{"tsv", "name\tvalue\na\\tb\t1\n\"c,d\"\t2.5\n"},
	} {
		t.Run(tt.format, func(t *testing.T) {
			var out strings.Builder
			w := table.New(&out, tt.format, "name", "value")
			w.Row("a\tb", 1)
			w.Row(`"c,d"`, 2.5)
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if got := out.String(); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestNoRows(t *testing.T) {
	for format, want := range map[string]string{"json": "[]\n", "jsonl": "", "csv": "a\n", "tsv": "a\n", "table": "A\n"} {
		var out strings.Builder
		w := table.New(&out, format, "a")
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); got != want {
			t.Errorf("%s: got %q, want %q", format, got, want)
		}
	}
	w := table.New(nil, "xml", "a")
	if w.Row(1); w.Close() == nil {
		t.Error("xml was accepted")
	}
}

// TestFirstError: what goes wrong first is what Close returns, and nothing more is printed.
func TestFirstError(t *testing.T) {
	for _, format := range table.Formats {
		full := &fullDisk{}
		w := table.New(full, format, "a")
		for i := range 10_000 {
			w.Row(i)
		}
		if err := w.Close(); err == nil || err.Error() != "disk full" || full.writes != 1 {
			t.Errorf("%s: %v after %d writes", format, err, full.writes)
		}
	}
}

type fullDisk struct{ writes int }

func (f *fullDisk) Write([]byte) (int, error) {
	f.writes++
	return 0, errors.New("disk full")
}
