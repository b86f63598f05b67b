package table_test

import (
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
			w, err := table.New(&out, tt.format, "name", "value")
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Row("a\tb", 1); err != nil {
				t.Fatal(err)
			}
			if err := w.Row(`"c,d"`, 2.5); err != nil {
				t.Fatal(err)
			}
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
		w, err := table.New(&out, format, "a")
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); got != want {
			t.Errorf("%s: got %q, want %q", format, got, want)
		}
	}
	if _, err := table.New(nil, "xml", "a"); err == nil {
		t.Error("xml was accepted")
	}
}
