package rrdtool_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
	"github.com/rondo-db/rondo/rra"
)

// TestListEnds: names of the character that sorts behind all others are listed, and once.
func TestListEnds(t *testing.T) {
	store := enginetest.Open(t)
	d, err := rra.ParseDefinition(10, []string{"DS:x:GAUGE:20:U:U", "RRA:LAST:0:1:5"})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"a/\U0010ffff", "a/\U0010ffff\U0010ffff\U0010ffff/x", "a/b", "a/\U0010ffffz", "a0", "\U0010ffff\U0010ffff/\U0010ffff\U0010ffff", "\U0010ffff\U0010ffff/a"} {
		if _, err := store.Create(t.Context(), core.Spec{Path: path, Definition: d}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for args, want := range map[string]string{
		"list /":    "a\na0\n\U0010ffff\U0010ffff\n",
		"list a":    "b\n\U0010ffff\n\U0010ffffz\n\U0010ffff\U0010ffff\U0010ffff\n",
		"list -r a": "b\n\U0010ffff\n\U0010ffffz\n\U0010ffff\U0010ffff\U0010ffff/x\n",
	} {
		var out, errOut strings.Builder
		code := rrdtool.Run(ctx, &rrdtool.Env{Store: store, Stdout: &out, Stderr: &errOut}, strings.Fields(args))
		if code != 0 || out.String() != want || errOut.Len() > 0 {
			t.Errorf("%s: %d, %q, %q", args, code, out.String(), errOut.String())
		}
	}
	var out strings.Builder
	rrdtool.Pipe(ctx, &rrdtool.Env{Store: store, Stdout: &out}, strings.NewReader("ls\n"))
	if want := "d .\nd ..\nd a\n- a0\nd \U0010ffff\U0010ffff\nOK "; !strings.HasPrefix(out.String(), want) {
		t.Errorf("ls: %q", out.String())
	}
}

// TestListOfMadeFolders: a folder of mkdir is listed before anything is in it, and is one itself.
// rrdtool 1.7.2 printed the same.
func TestListOfMadeFolders(t *testing.T) {
	var out, errOut strings.Builder
	env := &rrdtool.Env{Store: enginetest.Open(t), Stdout: &out, Stderr: &errOut}
	rrdtool.Pipe(t.Context(), env, strings.NewReader("mkdir d\nlist d\nlist .\nmkdir d/e\nlist d\nlist -r .\nlist d/\nlist e\n"))
	var got []string
	for line := range strings.Lines(out.String()) {
		if !strings.HasPrefix(line, "OK ") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	if want := "d e e"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if want := "SuccessSuccessNo such file or directory"; errOut.String() != want {
		t.Errorf("stderr: got %q, want %q", errOut.String(), want)
	}
}
