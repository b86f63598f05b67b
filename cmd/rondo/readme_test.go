package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cmd/serve"
	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
	"github.com/rondo-db/rondo/internal/rrdtooltest"
	"github.com/rondo-db/rondo/query/rpc"
)

// A fence is a fenced block of a page.
type fence struct {
	line  int    // of its first line
	lang  string // what stands behind the fence
	loose bool   // <!-- numbers differ --> stands before it
	text  string
}

func readFences(t *testing.T, name string) []fence {
	t.Helper()
	page, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var fences []fence
	var open *fence
	loose := false
	for i, line := range strings.Split(string(page), "\n") {
		lang, mark := strings.CutPrefix(line, "```")
		switch {
		case mark && open == nil:
			open = &fence{line: i + 2, lang: lang, loose: loose}
		case mark:
			fences = append(fences, *open)
			open = nil
		case open != nil:
			open.text += line + "\n"
		}
		loose = line == "<!-- numbers differ -->"
	}
	if open != nil {
		t.Fatalf("%s: the block at line %d has no end", name, open.line)
	}
	return fences
}

func ofLang(t *testing.T, fences []fence, lang string) []fence {
	t.Helper()
	var some []fence
	for _, f := range fences {
		if f.lang == lang {
			some = append(some, f)
		}
	}
	if len(some) == 0 {
		t.Fatalf("the page has no block of %s", lang)
	}
	return some
}

const readme = root + "/README.md"

// TestReadmeCommands runs the README's console blocks, in order, beside a server that has got the
// values of its quick start, and compares what they print. In the page … stands for anything.
func TestReadmeCommands(t *testing.T) {
	dir := t.TempDir()
	d := rondotest.Serve(t, filepath.Join(dir, "rondo.db"))
	sendRoom(t, d.Listens["http"])
	for _, f := range ofLang(t, readFences(t, readme), "console") {
		for _, step := range strings.Split("\n"+f.text, "\n$ ")[1:] {
			line, want, _ := strings.Cut(step, "\n")
			if got := runLine(t, dir, line); !resembles(got, want, f.loose) {
				t.Errorf("README.md:%d: %s\nprints\n%swant\n%s", f.line, line, got, want)
			}
		}
	}
}

// sendRoom sends what the quick start's loop would have sent in the last minute, and would send in
// the next ten: however slow the machine is, the newest row is known.
func sendRoom(t *testing.T, addr string) {
	t.Helper()
	var lines strings.Builder
	now := time.Now()
	for at := now.Add(-time.Minute); at.Before(now.Add(10 * time.Minute)); at = at.Add(5 * time.Second) {
		fmt.Fprintf(&lines, "room,place=cellar celsius=21.5 %d\n", at.UnixNano())
	}
	resp, err := http.Post("http://"+addr+"/write", "", strings.NewReader(lines.String()))
	if err != nil {
		t.Fatal(err)
	}
	if _ = resp.Body.Close(); resp.StatusCode != http.StatusNoContent {
		t.Fatalf("the values are answered by %s", resp.Status)
	}
}

// TestRPCExamples runs the console blocks of the page on the RPC, in order, beside a server, and
// looks that there is one of every method.
func TestRPCExamples(t *testing.T) {
	dir := t.TempDir()
	d := rondotest.Serve(t, filepath.Join(dir, "rondo.db"))
	const page = root + "/docs/rpc.md"
	var ran strings.Builder
	for _, f := range ofLang(t, readFences(t, page), "console") {
		for _, step := range strings.Split("\n"+f.text, "\n$ ")[1:] {
			line, want, _ := strings.Cut(step, "\n")
			if got := runLine(t, dir, strings.ReplaceAll(line, "127.0.0.1:9180", d.Listens["http"])); !resembles(got, want, f.loose) {
				t.Errorf("%s:%d: %s\nprints\n%swant\n%s", page, f.line, line, got, want)
			}
			ran.WriteString(line + "\n")
		}
	}
	for _, p := range rpc.Procedures() {
		if slices.Contains(rpc.CommandProcedures, p) {
			continue // the command line is their example
		}
		if !strings.Contains(ran.String(), p+"\n") && !strings.Contains(ran.String(), p+" ") {
			t.Errorf("%s has no example of %s", page, p)
		}
	}
}

// runLine runs a line of shell in dir and returns what it prints.
func runLine(t *testing.T, dir, line string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), rondotest.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TZ=UTC", "LC_ALL=C")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && (!strings.HasPrefix(string(out), "ERROR: ") || !asExit(err, &exit)) {
		t.Errorf("%s: %v", line, err)
	}
	var compact bytes.Buffer // the spaces of protobuf's JSON are random
	if json.Compact(&compact, out) == nil && strings.Contains(line, "curl ") {
		return compact.String() + "\n"
	}
	return string(out)
}

func asExit(err error, exit **exec.ExitError) (ok bool) {
	*exit, ok = err.(*exec.ExitError)
	return ok
}

var anyNumber = regexp.MustCompile(`-nan|-?\d+(\.\d+)?(e[+-]\d\d)?`)

// resembles compares with a pattern: a line … is any number of lines, … in a line anything.
// Loosely, every number is like every other, and so is the space before it.
func resembles(got, pattern string, loose bool) bool {
	pattern = strings.TrimRight(pattern, "\n")
	got = strings.TrimRight(got, "\n")
	if loose {
		even := func(s string) string {
			return regexp.MustCompile(` +`).ReplaceAllString(anyNumber.ReplaceAllString(s, "0"), " ")
		}
		got, pattern = even(got), even(pattern)
	}
	var re strings.Builder
	for line := range strings.SplitSeq(pattern, "\n") {
		if line == "…" {
			re.WriteString("(?:.*\n)*")
			continue
		}
		re.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*") + "\n")
	}
	return regexp.MustCompile("^" + re.String() + "$").MatchString(got + "\n")
}

func TestResembles(t *testing.T) {
	for _, c := range []struct {
		got, pattern string
		loose, want  bool
	}{
		{"a\n", "a\n\n", false, true},
		{"a\nb\n", "a\n", false, false},
		{"a\nb\nc\n", "a\n…\n", false, true},
		{"a\nb\nc\n", "…\nc\n", false, true},
		{"b\nc\n", "a\n…\n", false, false},
		{"a\n", "a\n…\n", false, true},
		{"x=1 y\n", "x=… y\n", false, true},
		{"x=1\n", "x=2\n", false, false},
		{"x= 1\n", "x= 2\n", true, true},
		{"10: -nan\n", "7: 2.5e+01\n", true, true},
		{"x=1\n", "y=1\n", true, false},
	} {
		if got := resembles(c.got, c.pattern, c.loose); got != c.want {
			t.Errorf("resembles(%q, %q, %v) = %v", c.got, c.pattern, c.loose, got)
		}
	}
}

// curl is as much of curl as the pages use, so that its lines run with Go alone.
func curl() {
	flags := flag.NewFlagSet("curl", flag.ExitOnError)
	_ = flags.Bool("s", false, "")
	header := flags.String("H", "", "")
	data := flags.String("d", "", "")
	binary := flags.String("data-binary", "", "")
	two := flags.Bool("http2-prior-knowledge", false, "")
	_ = flags.Parse(os.Args[1:]) // it exits
	if *data+*binary == "@-" {
		b, err := io.ReadAll(os.Stdin)
		if err != nil {
			fmt.Fprintln(os.Stderr, "curl:", err)
			os.Exit(1)
		}
		*data = string(b)
	}
	client := &http.Client{Transport: &http.Transport{Protocols: new(http.Protocols)}}
	client.Transport.(*http.Transport).Protocols.SetHTTP1(!*two)
	client.Transport.(*http.Transport).Protocols.SetUnencryptedHTTP2(*two)
	method := http.MethodPost
	if *data == "" {
		method = http.MethodGet
	}
	req, err := http.NewRequest(method, flags.Arg(0), strings.NewReader(*data))
	if err == nil {
		if name, value, ok := strings.Cut(*header, ": "); ok {
			req.Header.Set(name, value)
		}
		var resp *http.Response
		if resp, err = client.Do(req); err == nil {
			_, err = io.Copy(os.Stdout, resp.Body)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "curl:", err)
		os.Exit(1)
	}
}

// TestReadmeEmbedding compares the README's program with the Example that is run.
func TestReadmeEmbedding(t *testing.T) {
	src, err := os.ReadFile(filepath.Join(root, "engine", "example_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	_, lines, ok := strings.Cut(string(src), "\t// README: embedding\n")
	lines, _, end := strings.Cut(lines, "\t// README: end\n")
	if !ok || !end {
		t.Fatal("engine/example_test.go has lost the marks of what the README shows")
	}
	want := strings.ReplaceAll("\n"+lines, "\n\t", "\n")[1:]
	if got := ofLang(t, readFences(t, readme), "go")[0].text; got != want {
		t.Errorf("README.md has\n%s\nengine/example_test.go has\n%s", got, want)
	}
}

// TestSettingsOfThePage reads the page's YAML as serve does, and the flags of its lines.
func TestSettingsOfThePage(t *testing.T) {
	const page = root + "/docs/serve.md"
	fences := readFences(t, page)
	p := &cli.Process{Stderr: io.Discard, LookupEnv: func(string) (string, bool) { return "", false }}
	for i, f := range ofLang(t, fences, "yaml") {
		name := filepath.Join(t.TempDir(), fmt.Sprint(i))
		if err := os.WriteFile(name, []byte(f.text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, cmd := serve.NewSettings(&cli.Factory{Process: p})
		cmd.Flags().StringVar(&s.DB, "db", "", "") // the root's
		s.ConfigFile = name
		ways, _, err := s.Apply()
		if err != nil {
			t.Errorf("docs/serve.md:%d: %v", f.line, err)
		}
		if ways.Policy == nil {
			t.Errorf("docs/serve.md:%d: no policy", f.line)
		}
	}
	for _, f := range ofLang(t, fences, "sh") {
		for line := range strings.Lines(f.text) {
			args, ok := strings.CutPrefix(line, "rondo serve ")
			if !ok {
				continue
			}
			_, cmd := serve.NewSettings(&cli.Factory{Process: p})
			if err := cmd.ParseFlags(strings.Fields(args)); err != nil {
				t.Errorf("docs/serve.md:%d: %s: %v", f.line, strings.TrimSpace(line), err)
			}
		}
	}
}

// TestCollectdOfThePageInterop has collectd read the page's whole configuration.
func TestCollectdOfThePageInterop(t *testing.T) {
	path := rrdtooltest.Peer(t, "collectd")
	f := ofLang(t, readFences(t, root+"/docs/clients.md"), "apache")[0]
	name := filepath.Join(t.TempDir(), "collectd.conf")
	if err := os.WriteFile(name, []byte(f.text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(path, "-t", "-C", name).CombinedOutput(); err != nil {
		t.Errorf("docs/clients.md:%d: collectd -t: %v\n%s", f.line, err, out)
	}
}
