package pagetest

import (
	"slices"
	"testing"

	"github.com/spf13/cobra"
)

func TestParse(t *testing.T) {
	p := parse("docs/x.md", "# A `b` heading, twice\n\nSee [this](a.md#b-c) and `x.go`, `F`.\nIn [`two`](b.md) `long\nword`: `last`\n\n"+
		"```sh\nrun `it`\n```\n\n    indented\n    more\n\n| `x.go` | `F` |\n")
	var spans, links, code []string
	for _, s := range p.Spans {
		spans = append(spans, s.Text)
	}
	for _, l := range p.Links {
		links = append(links, l.Text)
	}
	for _, c := range p.Code {
		code = append(code, c.Lang+":"+c.Text)
	}
	for _, c := range []struct {
		what      string
		got, want []string
	}{
		{"spans", spans, []string{"b", "x.go", "F", "two", "long word", "last", "x.go", "F"}},
		{"links", links, []string{"a.md#b-c", "b.md"}},
		{"code", code, []string{"sh:run `it`", ":indented", ":more"}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %q, want %q", c.what, c.got, c.want)
		}
	}
	if !p.Has("a-b-heading-twice") || p.Has("a") {
		t.Error("the anchor of the heading is wrong")
	}
	if p.Spans[4].Line != 4 || p.Links[1].Line != 4 || p.Code[0].Line != 8 {
		t.Errorf("lines %d, %d, %d", p.Spans[4].Line, p.Links[1].Line, p.Code[0].Line)
	}
}

func TestCommands(t *testing.T) {
	p := parse("x.md", "Say `prog a --b` or `other prog c`.\n\n```console\n$ X=1 prog one 'a b' | sort\nprog of the output\n$ prog two \\\n  --long\n```\n\n    prog three   # what it does\n"+
		"    go run ./cmd/prog four && prog five\n")
	var got []string
	for _, c := range p.Commands("prog") {
		got = append(got, c.Args...)
		got = append(got, ";")
	}
	want := []string{"one", "a b", ";", "two", "--long", ";", "three", ";", "four", ";", "five", ";", "a", "--b", ";"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestKnown(t *testing.T) {
	root := &cobra.Command{Use: "prog"}
	root.PersistentFlags().String("db", "", "")
	sub := &cobra.Command{Use: "sub", Run: func(*cobra.Command, []string) {}}
	sub.Flags().Bool("yes", false, "")
	own := &cobra.Command{Use: "own", DisableFlagParsing: true, Run: func(*cobra.Command, []string) {}}
	root.AddCommand(sub, own)
	isFlag := func(_ *cobra.Command, name string) bool { return name == "start" }
	for _, c := range []struct {
		line string
		ok   bool
	}{
		{"sub --yes", true},
		{"--db folder sub --yes x", true},
		{"sub --db=x", true},
		{"sub --no", false},
		{"--yes sub", false},
		{"sbu", false},
		{"VERB --help", true},
		{"sub … --anything", true},
		{"own --start 1 --db x", true},
		{"own --end", false},
	} {
		if err := Known(root, Words(c.line), isFlag); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.line, err)
		}
	}
}
