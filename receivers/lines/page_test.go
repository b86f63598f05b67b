package lines_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the code of this package into docs/adding-a-receiver.md")

// page shows this package, file by file.
const page = "../../docs/adding-a-receiver.md"

// shown is a file on the page: its name, and the code that follows.
var shown = regexp.MustCompile("(?s)`receivers/lines/([a-z_]+\\.go)`:\n\n```go\n(.*?)```\n")

// TestPage: the code on the page is that of this package, all of it but this file.
func TestPage(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	fresh := shown.ReplaceAllFunc(text, func(block []byte) []byte {
		m := shown.FindSubmatch(block)
		name := string(m[1])
		names = append(names, name)
		code, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(m[2], code) && !*update {
			t.Errorf("the page shows another %s: go test ./receivers/lines -update", name)
		}
		return []byte("`receivers/lines/" + name + "`:\n\n```go\n" + string(code) + "```\n")
	})
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	files = slices.DeleteFunc(files, func(name string) bool { return name == "page_test.go" })
	if slices.Sort(names); !slices.Equal(names, files) {
		t.Errorf("the page shows %s, the package is %s", strings.Join(names, " "), strings.Join(files, " "))
	}
	if *update {
		if err := os.WriteFile(page, fresh, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
