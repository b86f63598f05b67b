package rrdcached_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/engine"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/query/rrdcached"
	"github.com/rondo-db/rondo/wal"
)

// peerProgram returns an installed program, or ends the test.
func peerProgram(t testing.TB, name string) string {
	t.Helper()
	p, err := exec.LookPath(name)
	if err != nil {
		if os.Getenv("RONDO_REQUIRE_PEERS") == "1" {
			t.Fatalf("RONDO_REQUIRE_PEERS=1, and there is no %s", name)
		}
		t.Skipf("no %s here", name)
	}
	return p
}

// An original is a running rrdcached.
type original struct {
	base string
	addr net.Addr
}

// startOriginal runs rrdcached until the test is over.
func startOriginal(t testing.TB, args ...string) *original {
	t.Helper()
	p := peerProgram(t, "rrdcached")
	version, _ := exec.Command(p, "-h").CombinedOutput() // it says its version and ends
	line, _, _ := bytes.Cut(version, []byte("\n"))
	t.Logf("peer: %s", line)
	dir := shortDir(t)
	o := &original{base: filepath.Join(dir, "base"), addr: &net.UnixAddr{Name: filepath.Join(dir, "s"), Net: "unix"}}
	if err := os.Mkdir(o.base, 0o700); err != nil {
		t.Fatal(err)
	}
	// With more than one thread an update may be written before an earlier one of the same file, which is then lost.
	cmd := exec.Command(p, append([]string{
		"-g", "-t", "1", "-l", "unix:" + o.addr.String(), "-b", o.base, "-B", "-R", "-w", "1800", "-f", "3600", "-p", filepath.Join(dir, "pid"),
	}, args...)...)
	cmd.Env = append(os.Environ(), "TZ=UTC", "LC_ALL=C")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		_ = cmd.Wait()                          // how does not matter
	})
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		c, err := net.Dial("unix", o.addr.String())
		if err == nil {
			_ = c.Close() // nothing was sent
			return o
		}
		if time.Now().After(deadline) {
			t.Fatalf("rrdcached does not listen: %v", err)
		}
	}
}

func interopSeed(t testing.TB) uint64 {
	t.Helper()
	seed := uint64(time.Now().UnixNano() & 0xffffff)
	if v, err := strconv.ParseUint(os.Getenv("RONDO_SEED"), 10, 64); err == nil {
		seed = v
	}
	t.Logf("RONDO_SEED=%d", seed)
	return seed
}

func interopPrograms(few int) int {
	if n, err := strconv.Atoi(os.Getenv("RONDO_PROGRAMS")); err == nil && n > 0 {
		return max(n/10, 1)
	}
	return few
}

// A script writes requests that both servers are asked.
type script struct {
	r      *rand.Rand
	prefix string // of names
	files  []*scripted
	made   int
	now    int64
}

// A scripted is a file that a script has created, or meant to.
type scripted struct {
	name    string
	kinds   []string // of data sources with values
	sources []string
	cfs     []string
	last    int64 // tenths of a second
	fresh   bool  // never updated
	tenths  bool  // updated at fractions of a second
}

func (s *script) pick(of ...string) string { return of[s.r.IntN(len(of))] }

// create makes a request that creates a file.
func (s *script) create() []string {
	f := &scripted{name: s.prefix + fmt.Sprintf("%d%s", s.made, s.pick(".rrd", ".rrd", "x.rrd", "/a.rrd", "/b/c.rrd", "\\ d.rrd")), fresh: true}
	s.made++
	start := 1_000_000_000 + s.r.Int64N(1000)
	f.last = start * 10
	words := []string{s.pick("CREATE", "create", "Create"), f.name, "-b", fmt.Sprint(start)}
	if s.r.IntN(5) > 0 {
		words = append(words, "-s", s.pick("1", "10", "10", "7", "60"))
	}
	if s.r.IntN(6) == 0 {
		words = append(words, "-O")
	}
	for i := range 1 + s.r.IntN(3) {
		name, kind := fmt.Sprintf("ds%d", i), s.pick("GAUGE", "GAUGE", "COUNTER", "DERIVE", "ABSOLUTE", "DCOUNTER", "DDERIVE")
		f.sources = append(f.sources, name)
		f.kinds = append(f.kinds, kind)
		words = append(words, fmt.Sprintf("DS:%s:%s:%s:%s", name, kind, s.pick("5", "20", "100", "3600"), s.pick("U:U", "0:U", "U:100", "-5:1e9")))
		if s.r.IntN(6) == 0 {
			f.sources = append(f.sources, "c"+name)
			words = append(words, fmt.Sprintf("DS:c%s:COMPUTE:%s,2,*", name, name))
		}
	}
	for range 1 + s.r.IntN(3) {
		cf := s.pick("AVERAGE", "MIN", "MAX", "LAST")
		f.cfs = append(f.cfs, cf)
		words = append(words, fmt.Sprintf("RRA:%s:%s:%s:%d", cf, s.pick("0", "0.5", "0.9"), s.pick("1", "1", "2", "5", "12"), 1+s.r.IntN(20)))
	}
	switch s.r.IntN(12) {
	case 0: // a mistake
		words[2+s.r.IntN(len(words)-2)] = s.pick("DS:x", "RRA:FOO:1:1:1", "-b", "", "-q", "RRA:AVERAGE:2:1:1")
	default:
		s.files = append(s.files, f)
	}
	return []string{strings.Join(words, " ")}
}

// file picks a file, of which there may be none.
func (s *script) file() *scripted {
	if len(s.files) == 0 || s.r.IntN(15) == 0 {
		return &scripted{name: s.prefix + s.pick("nosuch.rrd", "no/such.rrd", "x"), kinds: []string{"GAUGE"}, cfs: []string{"AVERAGE"}, last: 1e10, fresh: true}
	}
	return s.files[s.r.IntN(len(s.files))]
}

// value is a value that both take: rrdcached acknowledges what its files then refuse.
func (s *script) value(kind string) string {
	switch {
	case s.r.IntN(12) == 0:
		return s.pick("U", "U", "Unknown")
	case kind == "COUNTER":
		return s.pick(fmt.Sprint(s.r.IntN(1000)), fmt.Sprint(s.r.Uint64()), "0", "007")
	case kind == "DERIVE":
		return s.pick(fmt.Sprint(s.r.IntN(1000)), fmt.Sprint(-s.r.IntN(1000)), "0")
	}
	return s.pick(fmt.Sprint(s.r.IntN(200)-20), fmt.Sprintf("%.2f", s.r.Float64()*200), fmt.Sprint(s.r.NormFloat64()*1e3), "1e3", ".5", "5.", "-0", "1e", "nan", "inf")
}

// sample is a word of UPDATE.
func (s *script) sample(f *scripted) string {
	switch s.r.IntN(12) {
	case 0: // late
		f.tenths = true
		return s.time(f.last-s.r.Int64N(50)) + s.values(f)
	case 1:
		if s.r.IntN(3) == 0 {
			return s.pick("N", "", "abc", ":", "now", "12x") + s.pick(":1", "", ":1:2")
		}
	}
	f.last += 1 + s.r.Int64N([]int64{15, 100, 400, 5000}[s.r.IntN(4)])
	if s.r.IntN(4) > 0 {
		f.last += 10 - f.last%10
	}
	f.fresh = false
	f.tenths = f.tenths || f.last%10 != 0
	return s.time(f.last) + s.values(f)
}

func (s *script) time(tenths int64) string {
	if tenths%10 == 0 {
		return s.pick("%d", "%d", "%d", "%d.0", "+%d", "%de0", "%d.")
	}
	return "%d." + fmt.Sprint(tenths%10)
}

func (s *script) values(f *scripted) string {
	var b strings.Builder
	for _, k := range f.kinds {
		b.WriteString(":" + s.value(k))
	}
	return b.String()
}

// update is an UPDATE of one or more samples.
func (s *script) update(f *scripted) string {
	words := []string{s.pick("UPDATE", "update", "uPdAtE"), s.spell(f.name)}
	for range 1 + s.r.IntN(3)/2*s.r.IntN(4) {
		before := f.last
		w := s.sample(f)
		if strings.Contains(w, "%d") {
			at := f.last
			if f.last == before { // late: sample drew a time before it
				at -= s.r.Int64N(30)
			}
			w = fmt.Sprintf(w, at/10)
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}

// spell writes a name in another way.
func (s *script) spell(name string) string {
	switch s.r.IntN(10) {
	case 0:
		return "@BASE/" + name
	case 1:
		return strings.ReplaceAll(name, "r", "\\r")
	}
	return name
}

// span is a start and an end for FETCH.
func (s *script) span(f *scripted) string {
	last := f.last / 10
	switch s.r.IntN(12) {
	case 0:
		if s.r.IntN(10) == 0 { // a day
			return ""
		}
	case 1:
		return fmt.Sprintf(" %d", s.now-s.r.Int64N(3000))
	case 2:
		return fmt.Sprintf(" %d %d", last+100, last-s.r.Int64N(1000)) // backwards
	case 3:
		return s.pick(" x", " 1000 y", " 12abc 20", " 0x10 0x20", " 010 020", " +5 +9")
	}
	start := last - s.r.Int64N(3000)
	return fmt.Sprintf(" %d %d", start, start+s.r.Int64N(2000))
}

// requests returns what is sent at once.
func (s *script) requests() []string {
	f := s.file()
	flush := "FLUSH " + f.name // so that both have the same on disk
	switch n := s.r.IntN(100); {
	case n < 8 || len(s.files) == 0:
		return s.create()
	case n < 45:
		return []string{s.update(f)}
	case n < 55:
		return s.batch()
	case n < 70:
		cf := f.cfs[s.r.IntN(len(f.cfs))]
		if s.r.IntN(8) == 0 {
			cf = s.pick("AVERAGE", "LAST", "MIN", "FOO", "average", "FAILURES")
		}
		columns := ""
		if s.r.IntN(4) == 0 && len(f.sources) > 0 {
			columns = " " + s.pick(f.sources...)
		}
		span := s.span(f)
		if span == "" || strings.Count(span, " ") < 2 {
			columns = ""
		}
		verb := s.pick("FETCH ", "FETCH ", "fetch ", "FETCHBIN ")
		if strings.Count(span, " ") < 2 {
			verb = "FETCH "
		}
		return []string{flush, verb + f.name + " " + cf + span + columns}
	case n < 76:
		return []string{flush, s.pick("INFO ", "info ") + s.spell(f.name)}
	case n < 80:
		return []string{flush, "LAST " + f.name}
	case n < 84:
		return []string{flush, "FIRST " + f.name + s.pick(" 0", " 1", " 5", " -1", "", " x", " 1x")}
	case n < 88:
		return []string{"LIST " + s.pick("/", "", "RECURSIVE ", "RECURSIVE ") + "/" + strings.TrimSuffix(s.prefix, "/") + s.pick("", "/", "/nosuch")}
	case n < 90:
		return []string{flush, "PENDING " + f.name}
	case n < 92 && !f.fresh:
		return []string{flush, "SUSPEND " + f.name, "SUSPEND " + f.name, "RESUME " + f.name, "RESUME " + f.name}
	case n < 94 && !f.fresh && !f.tenths: // what it has forgotten rrdcached knows to the second
		return []string{flush, "FORGET " + f.name, "FORGET " + s.prefix + "nosuch"}
	}
	return []string{s.pick("PING", "ping x", "PING\r", "PING ", " PING", "", "FOO", "foo bar", ".", "WROTE x", "FLUSHALL", "PI\\NG", "UPDATE", "UPDATE ",
		"UPDATE "+f.name, "UPDATE "+f.name+" ", "FLUSH", "FETCH "+f.name, "INFO", "LAST", "CREATE", "PENDING", "FORGET", "FETCHBIN",
		"UPDATE ../x 1000000000:1", "FLUSH ../../x", "INFO /etc/passwd", "LAST ../x", "FETCH /x AVERAGE", "CREATE ../x DS:a:GAUGE:1:U:U RRA:LAST:0:1:1",
		"LIST x", "LIST /../..", "HELP\x00x", "STATS x")}
}

// batch is a BATCH, answered once.
func (s *script) batch() []string {
	lines := []string{"BATCH"}
	for range s.r.IntN(12) {
		f := s.file()
		switch s.r.IntN(14) {
		case 0:
			lines = append(lines, s.pick("PING", "FETCH "+f.name+" AVERAGE", "HELP", "STATS", "LIST /", "FOO", "", "QUEUE", "BATCH", "flushall", "UPDATE"))
		case 1:
			lines = append(lines, "FLUSH "+f.name)
		case 2:
			lines = append(lines, s.create()...)
		default:
			lines = append(lines, s.update(f))
		}
	}
	return []string{strings.Join(append(lines, "."), "\n")}
}

var (
	signedNaN = regexp.MustCompile(`-?\bnan\b`)
	curRow    = regexp.MustCompile(`(?m)^rra\[\d+\]\.cur_row 1 \d+$`)
	untilNow  = regexp.MustCompile(`(?m)^(\d+ Success|Start: .*|End: .*| *\d+: .*)\n`)
	counted   = regexp.MustCompile(`(?m)^(\w+: )\d+$`)
)

// plain takes out of an answer what may differ.
func plain(request, answer, base string) string {
	answer = strings.ReplaceAll(answer, base, "@BASE")
	answer = strings.ReplaceAll(answer, "0 Nothing to flush: ", "0 Successfully flushed ") // there never is anything
	answer = curRow.ReplaceAllString(answer, "cur_row")                                    // rrdtool's rings begin anywhere
	command, _, _ := strings.Cut(strings.ToUpper(strings.TrimSpace(request)), " ")
	switch command {
	case "FETCHBIN":
		answer = strings.ReplaceAll(answer, "\x00\x00\x00\x00\x00\x00\xf8\x7f", "\x00\x00\x00\x00\x00\x00\xf8\xff")
	case "FETCH":
		answer = signedNaN.ReplaceAllString(answer, "nan")
		if len(strings.Fields(strings.ReplaceAll(request, "\\ ", ""))) < 5 { // up to now, which is another for each
			answer = untilNow.ReplaceAllString(answer, "")
		}
	case "LIST":
		lines := strings.SplitAfter(answer, "\n")
		slices.Sort(lines[1:])
		if !strings.HasPrefix(answer, "-1") { // rrdcached makes folders of series that it then does not make
			lines = slices.DeleteFunc(lines[1:], func(line string) bool { return !strings.HasSuffix(line, ".rrd\n") })
		}
		answer = strings.Join(lines, "")
	case "STATS":
		answer = counted.ReplaceAllString(answer, "$1n")
	}
	if command == "HELP" || strings.HasPrefix(request, "HELP") { // the words are rondo's own
		_, answer, _ = strings.Cut(strings.Split(answer, "\n")[0], " ")
	}
	for _, cut := range []string{"/../..", "mmaping file"} { // what file systems say of folders
		if i := strings.Index(answer, cut); i >= 0 && strings.HasPrefix(answer, "-1 ") {
			answer = "-1 a folder"
		}
	}
	return answer
}

// TestAnswersAreRRDCacheds asks both the same at random, and compares what they answer.
func TestAnswersAreRRDCacheds(t *testing.T) {
	o := startOriginal(t)
	store := enginetest.OpenDir(t, t.TempDir(), engine.Options{Sync: wal.SyncNone})
	s := serve(t, rrdcached.Options{Store: store}, 0)
	seed := interopSeed(t)
	theirs, ours := dial(t, o.addr), dial(t, s.addr)
	asked, programs := 0, interopPrograms(15)
	for i := range programs {
		sc := &script{r: rand.New(rand.NewPCG(seed, uint64(i))), prefix: fmt.Sprintf("p%d/", i), now: time.Now().Unix()}
		var said []string
		for range 60 {
			for _, request := range sc.requests() {
				said = append(said, request)
				asked++
				want := plain(request, theirs.exchange(strings.ReplaceAll(request, "@BASE", o.base)), o.base)
				got := plain(request, ours.exchange(strings.ReplaceAll(request, "@BASE", s.base)), s.base)
				if strings.HasPrefix(want, "-1") && (strings.HasPrefix(request, "SUSPEND") || strings.HasPrefix(request, "RESUME")) { // it disconnects
					theirs = dial(t, o.addr)
				}
				if got != want && !excused(request, got, want) {
					t.Fatalf("program %d, seed %d: %q\ngot  %q\nwant %q\nafter\n%s", i, seed, request, got, want, strings.Join(said, "\n"))
				}
			}
		}
	}
	t.Logf("%d programs, %d requests compared", programs, asked)
}

// excused reports whether an answer may differ, as docs/rrdcached.md says.
func excused(request, got, want string) bool {
	switch {
	case strings.HasPrefix(want, "-1 field ") && strings.HasPrefix(got, "-1 field "):
		return true // rrdcached's text goes on in memory that it has freed
	case want == "-1 No such file or directory\n":
		return got == "0 Gone!\n" // the same
	case strings.HasSuffix(want, " - No such file or directory\n"):
		return strings.HasPrefix(got, "0 ") // rrdcached knows of series that it has in memory
	case strings.HasPrefix(want, "-1 RRD Error: Cannot create temporary file"):
		return strings.HasPrefix(got, "0 ") // a folder where a file is
	}
	return false
}

// exchange sends a request, of several lines if it is a BATCH, and reads the answer; empty: disconnected.
func (p *peer) exchange(request string) string {
	p.t.Helper()
	p.send(request + "\n")
	if !strings.HasPrefix(request, "BATCH") {
		return p.answer()
	}
	first := p.answer()
	return first + p.answer()
}

// TestRRDToolsClient runs the unmodified rrdtool with --daemon against both.
func TestRRDToolsClient(t *testing.T) {
	tool := peerProgram(t, "rrdtool")
	o := startOriginal(t)
	s := serve(t, rrdcached.Options{}, 0)
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.Serve(t.Context(), tcp, 0) }() // ends with the test
	dirs := map[string]string{o.addr.String(): o.base, s.addr.String(): s.base, tcp.Addr().String(): s.base}
	ask := func(addr string, args ...string) string {
		t.Helper()
		cmd := exec.Command(tool, args...)
		cmd.Dir = dirs[addr]
		cmd.Env = []string{"TZ=UTC", "LC_ALL=C", "RRDCACHED_ADDRESS=" + addr, "PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
		var out, errOut bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errOut
		err := cmd.Run()
		if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
			t.Fatal(err)
		}
		text := fmt.Sprintf("exit %d\n%s\n%s", cmd.ProcessState.ExitCode(), out.String(), errOut.String())
		text = strings.ReplaceAll(text, dirs[addr], "@BASE")
		text = strings.ReplaceAll(text, addr, "@ADDR")
		text = strings.ReplaceAll(text, "unix:@ADDR", "@ADDR")
		return regexp.MustCompile(`cur_row = \d+`).ReplaceAllString(signedNaN.ReplaceAllString(text, "nan"), "cur_row")
	}
	for _, dir := range []string{o.base, s.base} {
		if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil { // where the client looks for names
			t.Fatal(err)
		}
	}
	made := "DS:x:GAUGE:20:U:U DS:y:COUNTER:20:0:U RRA:AVERAGE:0.5:1:20 RRA:MAX:0.5:6:10"
	compared := 0
	for _, line := range []string{
		"create a.rrd -s 10 -b 1000000000 " + made,
		"create a.rrd -O -s 10 -b 1000000000 " + made,
		"create sub/b.rrd -s 10 -b 1000000000 " + made,
		"create c.rrd -s 10 " + made + " RRA:FOO:0.5:1:2",
		"update a.rrd 1000000010:1:100 1000000020:2:200 1000000030.5:3:350",
		"update a.rrd 1000000030:1:1",
		"update a.rrd 1000000040:4:400",
		"update nosuch.rrd 1000000040:4:400",
		"update a.rrd now@1:2",
		"info a.rrd",
		"info -F a.rrd",
		"last a.rrd",
		"last nosuch.rrd",
		"first a.rrd",
		"first a.rrd --rraindex 1",
		"first a.rrd --rraindex 7",
		"fetch a.rrd AVERAGE -s 1000000000 -e 1000000060",
		"fetch a.rrd MAX -s 999999000 -e 1000000060",
		"fetch a.rrd AVERAGE -s 1000000000 -e 1000000060 -r 60",
		"fetch nosuch.rrd AVERAGE -s 1000000000 -e 1000000060",
		"list /",
		"list -r /",
		"list /sub",
		"list /nosuch",
		"xport -s 1000000000 -e 1000000060 DEF:a=a.rrd:x:AVERAGE DEF:b=a.rrd:y:AVERAGE CDEF:c=a,b,+ XPORT:a:one XPORT:c:two",
		"xport --json -s 1000000000 -e 1000000060 DEF:a=a.rrd:x:MAX XPORT:a",
		"graph - -s 1000000000 -e 1000000060 -a CSV DEF:a=a.rrd:x:AVERAGE LINE1:a#ff0000:a",
		"graph g.png -s 1000000000 -e 1000000060 DEF:a=a.rrd:x:AVERAGE PRINT:a:AVERAGE:%8.3lf PRINT:a:MAX:%8.3lf LINE1:a#ff0000",
		"flushcached a.rrd",
		"flushcached a.rrd sub/b.rrd",
	} {
		args := strings.Fields(line)
		want := ask(o.addr.String(), args...)
		if strings.HasPrefix(line, "list") {
			want = sorted(want)
		}
		for _, addr := range []net.Addr{s.addr, tcp.Addr()} {
			if addr.Network() == "tcp" {
				args = strings.Fields(strings.ReplaceAll(strings.ReplaceAll(line, "a.rrd", "ta.rrd"), "sub/b.rrd", "tsub/b.rrd"))
			}
			got := strings.NewReplacer("ta.rrd", "a.rrd", "tsub/", "sub/", "tsub", "sub").Replace(ask(addr.String(), args...))
			if strings.HasPrefix(line, "list") {
				got = sorted(got)
			}
			if strings.HasPrefix(line, "info") { // over TCP names are as they were given
				want = strings.ReplaceAll(want, "t"+"a.rrd", "a.rrd")
			}
			compared++
			if got != want {
				t.Errorf("%s at %s:\ngot\n%s\nwant\n%s", line, addr.Network(), got, want)
			}
		}
	}
	t.Logf("peer: rrdtool, %d commands compared", compared)
}

// TestClientOfTheOriginal runs rondo's verbs against rrdcached: they print what they print of rondo's own server.
func TestClientOfTheOriginal(t *testing.T) {
	o := startOriginal(t)
	if err := os.Mkdir(filepath.Join(o.base, "b"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := connect(t, o.addr, o.base)
	for _, v := range clientVerbs {
		if strings.HasPrefix(v[0], "tune ") {
			v[1] = "!Unknown command: TUNE\n" // 1.7 has none
		}
		checkVerb(t, c, v)
	}
	if _, _, errOut := run(t, c, "dump", "a.rrd"); !strings.HasSuffix(errOut, "Unknown command: DUMP\n") {
		t.Errorf("dump: %q", errOut)
	}
	if code, out, errOut := run(t, c, "flushcached", "a.rrd", "b/h.rrd"); code != 0 || out != "" || errOut != "" {
		t.Errorf("flushcached: %d %q %q", code, out, errOut)
	}
	if _, out, _ := run(t, c, "xport", "-s", "1000000000", "-e", "1000000025", "DEF:a=a.rrd:x:AVERAGE", "XPORT:a"); !strings.Contains(out, "<v>2.5000000000e+00</v>") {
		t.Errorf("xport: %s", out)
	}
	// What rrdtool reads in the file is what INFO says.
	_, got, _ := run(t, c, "info", "b/h.rrd")
	want, err := exec.Command(peerProgram(t, "rrdtool"), "info", filepath.Join(o.base, "b/h.rrd")).Output()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.ReplaceAll(got, `"b/h.rrd"`, ""), strings.ReplaceAll(string(want), `"`+filepath.Join(o.base, "b/h.rrd")+`"`, ""); got != want {
		t.Errorf("info:\n%s", cmp.Diff(want, got))
	}
}

// sorted sorts lines, of which the same may be there twice.
func sorted(text string) string {
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), "\n")
}
