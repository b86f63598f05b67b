package rrdtool_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// A frame is one of those that an answer is made of.
type frame struct {
	tag, text string
}

// frames reads frames until the input ends.
func frames(t *testing.T, in io.Reader) []frame {
	t.Helper()
	var all []frame
	r := bufio.NewReader(in)
	for {
		line, err := r.ReadString('\n')
		if err == io.EOF && line == "" {
			return all
		}
		tag, n, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		size, bad := strconv.Atoi(n)
		if err != nil || !ok || bad != nil {
			t.Fatalf("%q is no frame", line)
		}
		text := make([]byte, size)
		if _, err := io.ReadFull(r, text); err != nil {
			t.Fatal(err)
		}
		all = append(all, frame{tag, string(text)})
	}
}

// ask runs lines in a session of its own.
func ask(t *testing.T, s rrdtool.Store, lines ...string) []frame {
	t.Helper()
	var out bytes.Buffer
	env := &rrdtool.Env{
		Store: s, Stdout: &out, Stderr: io.Discard, Rondo: true, Location: time.UTC,
		Now: func() time.Time { return time.Unix(1_200_000_100, 0) },
	}
	if code := rrdtool.Frames(t.Context(), env, strings.NewReader(strings.Join(lines, "\n")+"\n")); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	return frames(t, &out)
}

// TestFrames shows what the answers of a session are made of, whatever the arguments hold.
func TestFrames(t *testing.T) {
	got := ask(t, newMemory(),
		`create "d/a\"\\ b'.rrd" --start 1200000000 --step 10 DS:x:GAUGE:20:U:U RRA:AVERAGE:0.5:1:10`,
		`update "d/a\"\\ b'" 1200000010:"0.1" "1200000020:1e30"`,
		`fetch "d/a\"\\ b'" AVERAGE -s 1200000000 -e 1200000019`,
		`lastupdate "d/a\"\\ b'"`,
		`xport -s 1200000000 -e 1200000010 "DEF:v=d/a\"\\ b':x:AVERAGE" "XPORT:v:two\nlines"`,
		`times end-1h 1200000000`,
		`times 1200000000`,
		`create "two\nlines\\" --start 1200000000 DS:x:GAUGE:20:U:U RRA:AVERAGE:0.5:1:10`,
		`info "two\nlines\\"`,
		`keep create "d/a\"\\ b'" --start 1100000000 --step 10 DS:x:GAUGE:20:U:U RRA:AVERAGE:0.5:1:10`,
		`last "d/a\"\\ b'"`,
		`keep create "d/a\"\\ b'" --start 1100000000 --step 10 DS:x:GAUGE:20:U:U RRA:AVERAGE:0.5:1:11`,
		`last "d/a\"\\ b'"`,
		`list "OK u:0.00"`,
		`update`,
		`alter`,
		"info \"a\\nb\"",
		`"open`,
	)
	for i := range got {
		if strings.HasPrefix(got[i].text, "filename") {
			got[i].text, _, _ = strings.Cut(got[i].text, "rrd_version")
		}
	}
	if got[len(got)-1].tag != "bye" {
		t.Errorf("the session ends in %v", got[len(got)-1])
	}
	want := []frame{
		{"done", ""},
		{"done", ""},
		{"out", "1200000000 10 x\n0.1\n1e+30\n"},
		{"done", ""},
		{"out", "1200000020\nx 1e30\n"},
		{"done", ""},
		{"out", "1200000000 1200000010 10 1\n9\ntwo\nlines\n0.1\n"},
		{"done", ""},
		{"out", "1199996400 1200000000\n"},
		{"done", ""},
		{"error", "invalid parameter count for times"},
		{"done", ""},
		{"out", "filename = \"two\\nlines\\\\\"\n"},
		{"done", ""},
		{"err", "d/a\"\\ b' is kept: it holds samples until 1200000020. rondo drop deletes a series.\n"},
		{"done", ""},
		{"out", "1200000020\n"},
		{"done", ""},
		{"done", ""},
		{"out", "1100000000\n"},
		{"done", ""},
		{"err", "No such file or directory"},
		{"done", ""},
		{"error", "Not enough arguments"},
		{"error", "unknown function 'alter'"},
		{"error", "opening 'a\nb': No such file or directory"},
		{"error", "creating arguments"},
		{"bye", ""},
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("frame %d of %q\nwant  %q", i, got, want)
		}
	}
}

// TestFramesPage holds the exchange of the page against what is answered.
func TestFramesPage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, found := strings.Cut(string(page), "```exchange\n")
	block, _, ended := strings.Cut(block, "```")
	if !found || !ended {
		t.Fatal("the page has no exchange")
	}
	var sent, want strings.Builder
	for line := range strings.Lines(block) {
		if text, ok := strings.CutPrefix(line, "> "); ok {
			sent.WriteString(text)
		} else {
			want.WriteString(strings.TrimPrefix(strings.TrimPrefix(line, "<"), " "))
		}
	}
	var out bytes.Buffer
	rrdtool.Frames(t.Context(), &rrdtool.Env{Store: newMemory(), Stdout: &out, Stderr: io.Discard, Location: time.UTC}, strings.NewReader(sent.String()))
	got := out.String()
	if plain := strings.NewReplacer("\n", ""); plain.Replace(got) != plain.Replace(want.String()) {
		t.Errorf("the answers are\n%s\nand in the page\n%s", got, want.String())
	}
}

// TestFramesQuit shows that nothing follows a quit.
func TestFramesQuit(t *testing.T) {
	if got := ask(t, newMemory(), "pwd", "quit", "pwd"); len(got) != 2 {
		t.Errorf("%q", got)
	}
}

// TestFramesExact shows that every double comes through as it is.
func TestFramesExact(t *testing.T) {
	r := seedtest.Rand(t)
	s := newMemory()
	lines := []string{"create a --start 1200000000 --step 1 DS:x:GAUGE:20:U:U RRA:AVERAGE:0.5:1:1000"}
	const n = 500
	for i := range n {
		v := math.Float64frombits(r.Uint64())
		lines = append(lines, fmt.Sprintf("update a %d:%s", 1_200_000_001+i, strconv.FormatFloat(v, 'e', -1, 64)))
	}
	lines = append(lines, fmt.Sprintf("fetch a AVERAGE -s 1200000000 -e %d", 1_200_000_000+n-1))
	var text strings.Builder
	for _, f := range ask(t, s, lines...) {
		if f.tag == "out" {
			text.WriteString(f.text)
		}
	}
	rows := strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")[1:]
	ref, err := s.Lookup("a")
	if err != nil {
		t.Fatal(err)
	}
	stored, err := s.Fetch(t.Context(), ref, 0, 1_200_000_000, 1_200_000_000+n)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != n || len(stored.Values) != n {
		t.Fatalf("%d rows and %d values", len(rows), len(stored.Values))
	}
	for i, v := range stored.Values {
		got, err := strconv.ParseFloat(rows[i], 64)
		if err != nil || math.Float64bits(got) != math.Float64bits(v) && !(math.IsNaN(got) && math.IsNaN(v)) {
			t.Errorf("row %d: %s is not %v", i, rows[i], v)
		}
	}
}

// FuzzFrames gives a session any line behind a command: what comes back is frames, one answer for
// each line, and any text is one word.
func FuzzFrames(f *testing.F) {
	f.Add(`last "a\"b\\c\nd"`)
	f.Add(`fetch a AVERAGE -s "1200000000" -e now`)
	f.Add("xport DEF:a=a:x:AVERAGE XPORT:a:\"\\n\"\r")
	f.Add(`times "" ""`)
	f.Add("\x00\xff\"")
	f.Fuzz(func(t *testing.T, line string) {
		if strings.HasPrefix(line, "create ") || strings.HasPrefix(line, "tune ") || strings.HasPrefix(line, "resize ") {
			t.Skip("sizes of archives are package rra's to bound")
		}
		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(line) + `"`
		text := line
		line = strings.ReplaceAll(line, "\n", " ")
		if words := strings.Fields(line); len(words) > 0 && strings.Trim(words[0], `"\`) == "quit" {
			t.Skip("the session ends")
		}
		store := newMemory()
		made := ask(t, store, `create a --start 1200000000 --step 10 DS:x:GAUGE:20:U:U RRA:AVERAGE:0.5:1:10`, line, "last "+quoted)
		var ends []frame
		for _, fr := range made {
			if fr.tag != "out" && fr.tag != "err" {
				ends = append(ends, fr)
			}
		}
		if len(ends) != 4 || ends[0].tag != "done" || ends[3].tag != "bye" {
			t.Fatalf("%q: %q", line, made)
		}
		if why, ok := strings.CutPrefix(ends[2].text, "opening '"); ok && !strings.HasPrefix(why, text+"': ") {
			t.Errorf("%q has become %q", text, why)
		}
	})
}
