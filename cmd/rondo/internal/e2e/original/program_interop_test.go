package original

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/internal/rrdtooltest"
	"github.com/rondo-db/rondo/internal/seedtest"
)

// A contest runs programs through rrdtool and through rondo, in one of several ways.
type contest struct {
	t      *testing.T
	tool   string // rrdtool
	seed   uint64
	number int // of the program
	mode   string
	zone   string
	env    []string // of the locale
	files  []*file
	later  [][]string // updates of the files that are left
	moves  bool       // the files that are left are exported and imported
	top    string     // all its folders
	runs   int
	asked  int // commands that both answered
	died   int // programs at which rrdtool crashed
	used   *coverage
}

// modes are the ways a program is run: whether in pipe mode or a process a command, and through
// whom.
var modes = []string{"pipe", "pipe through a server", "inside", "processes", "processes through a server"}

// TestWholeProgramsAsOriginal runs random programs of all commands through rrdtool and through
// rondo: its processes, its pipe mode, its server, and without any of them. stdout, stderr, exit
// codes and files must be equal, but for what docs/rrdtool-compat.md lists.
func TestWholeProgramsAsOriginal(t *testing.T) {
	tool := rrdtooltest.Peer(t, "rrdtool")
	seed := seedtest.One(t)
	n, folder := seedtest.Programs(8, 2), ""
	if seedtest.More() {
		folder = makeLocales(t) // which takes seconds
	}
	var asked, died atomic.Int64
	used := &coverage{uses: make(map[string]int)}
	t.Run("all", func(t *testing.T) {
		const shards = 4
		for shard := range shards {
			t.Run(strconv.Itoa(shard), func(t *testing.T) {
				t.Parallel()
				for i := shard; i < n && (!t.Failed() || os.Getenv("RONDO_GO_ON") != ""); i += shards {
					c := &contest{t: t, tool: tool, seed: seed, number: i, used: used}
					c.run(folder)
					asked.Add(int64(c.asked))
					died.Add(int64(c.died))
				}
			})
		}
	})
	used.report(t)
	t.Logf("%d programs compared, %d commands; rrdtool crashed at %d", n, asked.Load(), died.Load())
}

// run makes and compares one program. The folder holds the locales.
func (c *contest) run(folder string) {
	r := rand.New(rand.NewPCG(c.seed, uint64(c.number)))
	c.top, c.mode = c.t.TempDir(), modes[0]
	switch k := c.number % 20; {
	case k%10 == 9:
		c.mode = modes[3]
	case k == 14:
		c.mode = modes[4]
	case k%3 == 1:
		c.mode = modes[1]
	case k%6 == 2:
		c.mode = modes[2]
	}
	c.zone = zones[r.IntN(len(zones))]
	if r.IntN(3) == 0 {
		c.env = locales(r, folder)
	}
	c.moves = r.IntN(4) == 0
	var program [][]string
	program, c.later, c.files = newScript(r, strings.HasPrefix(c.mode, "pipe"), strings.Contains(strings.Join(c.env, " "), "de_DE"))
	if c.number == 0 {
		c.moves = false
		program, c.files = tour()
	}
	c.used.count(program)
	failure := c.compare(program)
	if failure == "" {
		return
	}
	program, less := c.shrunk(program, failure)
	c.t.Errorf("program %d, %s, TZ=%s %v (-rrdtool +rondo):\n%s\n%s", c.number, c.mode, c.zone, c.env, shown(program), less)
	if less != failure { // without a command that it needed a program may fail for a reason of its own
		c.t.Logf("the whole of program %d failed so: %s", c.number, failure)
	}
}

// ownSeries are those that a server records of itself.
var ownSeries = regexp.MustCompile(`(?m)^rondo(/.*)?\n`)

// zones are values of TZ: names, and rules.
var zones = []string{
	"Europe/Berlin", "UTC", "America/St_Johns", "Asia/Kathmandu", "Australia/Lord_Howe", ":Europe/London", "CET-1CEST,M3.5.0,M10.5.0/3", "<+0330>-3:30",
	"XYZ3", "UTC+3:20", "NZST-12NZDT,M9.5.0,M4.1.0/3", "",
}

// languages are locales: with a comma, with weeks that begin on Monday and on Saturday.
var languages = []string{"de_DE", "en_GB", "fa_IR"}

// makeLocales compiles the locales, and returns the folder; empty: this machine cannot.
func makeLocales(t *testing.T) string {
	t.Helper()
	tool, err := exec.LookPath("localedef")
	if err != nil {
		t.Log("only the locale C: ", err)
		return ""
	}
	folder := t.TempDir()
	for _, name := range languages {
		// It warns, and exits with 1 then.
		out, _ := exec.Command(tool, "-i", name, "-f", "UTF-8", filepath.Join(folder, name+".UTF-8")).CombinedOutput()
		if _, err := os.Stat(filepath.Join(folder, name+".UTF-8", "LC_TIME")); err != nil {
			t.Logf("only the locale C: %s", out)
			return ""
		}
	}
	return folder
}

// locales are variables that say a locale, one of those in the folder.
func locales(r *rand.Rand, folder string) []string {
	if folder == "" {
		return nil
	}
	name := func() string { return languages[r.IntN(len(languages))] + ".UTF-8" }
	return append([][]string{
		{"LC_ALL=" + name()},
		{"LC_ALL=", "LANG=" + name()},
		{"LC_ALL=", "LC_NUMERIC=" + name(), "LC_TIME=" + name()},
		{"LC_ALL=", "LANG=" + name(), "LC_NUMERIC=C"},
		{"LC_ALL=", "LANG=" + name(), "LC_PAPER=xx_XX"},
		{"LC_ALL=", "LC_TIME=" + name()},
	}[r.IntN(6)], "LOCPATH="+folder)
}

// compare runs a program and returns in what the answers differ. Both peers must do in one second
// what they do at the present: as long as one of them comes too late for that, the program is run
// again.
func (c *contest) compare(program [][]string) (failure string) {
	c.t.Helper()
	for range 20 {
		if failure = c.attempt(program); failure != turned {
			return failure
		}
	}
	return failure
}

func (c *contest) attempt(program [][]string) (failure string) {
	c.t.Helper()
	c.runs++
	dir := filepath.Join(c.top, strconv.Itoa(c.runs))
	theirs := filepath.Join(dir, "theirs", "1", "2")
	for _, d := range []string{theirs, filepath.Join(dir, "ours"), filepath.Join(dir, "xml", "theirs"), filepath.Join(dir, "xml", "ours")} {
		if err := os.MkdirAll(d, 0o777); err != nil {
			c.t.Fatal(err)
		}
	}
	env := append([]string{"TZ=" + c.zone, "LC_ALL=C", "LANGUAGE=en", "RONDO_DB=" + filepath.Join(dir, "db")}, c.env...)
	one := site{program: c.tool, dir: theirs, xml: filepath.Join(dir, "xml", "theirs"), env: env}
	two := site{program: "rondo", lead: []string{"rrdtool"}, dir: filepath.Join(dir, "ours"), xml: filepath.Join(dir, "xml", "ours"), env: env}
	if strings.HasSuffix(c.mode, "server") {
		d := rondotest.Serve(c.t, filepath.Join(dir, "db"))
		defer func() {
			_ = d.Cmd.Process.Kill() // it may have ended
			<-d.Done
		}()
	}
	var original, ours peer
	switch {
	case strings.HasPrefix(c.mode, "pipe"):
		original, ours = newPiped(c.t, one), newPiped(c.t, two, "1/2")
	case c.mode == "inside":
		original, ours = &single{one}, &inside{site: two, store: enginetest.Open(c.t)}
	default:
		original, ours = &single{one}, &single{two}
	}
	defer original.close()
	defer ours.close()
	for i, args := range program {
		asks, second := asksTime(args), int64(0)
		if asks {
			second = early()
		}
		want, ok := original.run(args)
		if !ok {
			c.died++
			c.t.Logf("rrdtool has no answer to %s", shellLine(args))
			break
		}
		want.Stdout = strings.ReplaceAll(want.Stdout, filepath.Join(dir, "theirs")+"/", "/") // of pwd
		if want.Exit == 0 {
			alignRings(c.t, theirs, args)
		}
		got, ok := ours.run(args)
		if !ok {
			return fmt.Sprintf("command %d: no answer: %v", i, got)
		}
		if asks && time.Now().Unix() != second {
			return turned
		}
		c.asked++
		if args[0] == "dump" && want.Exit != 0 { // rrdtool removes a file that was there
			for _, d := range []string{one.xml, two.xml} {
				if err := os.RemoveAll(d); err != nil {
					c.t.Fatal(err)
				}
				if err := os.Mkdir(d, 0o777); err != nil {
					c.t.Fatal(err)
				}
			}
			want.File, got.File = "", ""
		}
		if args[0] == "list" && strings.HasSuffix(c.mode, "server") {
			got.Stdout = ownSeries.ReplaceAllString(got.Stdout, "")
		}
		if d := cmp.Diff(comparable(args, want), comparable(args, got)); d != "" {
			return fmt.Sprintf("at command %d, %s:\n%s", i, shellLine(args), d)
		}
	}
	if !c.moves || c.mode == "inside" || c.died > 0 {
		return ""
	}
	original.close()
	ours.close()
	folder := ""
	if strings.HasPrefix(c.mode, "pipe") {
		folder = "1/2"
	}
	if failure := c.moved(one, two, theirs, folder, c.files, c.later); failure != "" {
		return failure
	}
	if err := os.RemoveAll(dir); err != nil {
		c.t.Log(err)
	}
	return ""
}

// shrunk takes commands out of a program as long as it fails.
func (c *contest) shrunk(program [][]string, failure string) ([][]string, string) {
	for size := len(program) / 2; size > 0; {
		smaller := false
		for i := 0; i+size <= len(program) && c.runs < 120; {
			less := slices.Delete(slices.Clone(program), i, i+size)
			if f := c.compare(less); about(f) == about(failure) && f != "" {
				program, failure, smaller = less, f, true
			} else {
				i += size
			}
		}
		if !smaller || size > 1 {
			size /= 2
		}
	}
	return program, failure
}

// about is the command that a failure is at.
func about(failure string) string {
	line, _, _ := strings.Cut(failure, "\n")
	_, command, _ := strings.Cut(line, ", ")
	return command
}

// alignRings lets the rings of files that a command has made begin at row 0, as rondo's do. rrdtool
// begins them at a random row, by which it smooths SEASONAL archives later.
func alignRings(t *testing.T, dir string, args []string) {
	t.Helper()
	if !slices.Contains([]string{"create", "restore"}, args[0]) {
		return
	}
	for i, arg := range args[1:] {
		if args[0] == "create" && slices.Contains([]string{"-t", "--template", "-r", "--source"}, args[i]) { // it has not been made
			continue
		}
		for _, d := range []string{dir, filepath.Join(dir, "d")} {
			file := filepath.Join(d, arg)
			if b, err := os.ReadFile(file); err == nil && strings.HasPrefix(string(b), "RRD\x00") {
				turnRings(b)
				if err := os.WriteFile(file, b, 0o666); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// turnRings moves the rows of a native file so that every ring begins at row 0.
func turnRings(b []byte) {
	sources, archives := int(binary.LittleEndian.Uint64(b[24:])), int(binary.LittleEndian.Uint64(b[32:]))
	header := 144 + 232*sources + 128*archives + 80*sources*archives
	rows, width := b[header:], 8*sources
	for i := range archives {
		n := int(binary.LittleEndian.Uint64(b[128+120*sources+120*i+24:]))
		at := header - 8*archives + 8*i
		newest := int(binary.LittleEndian.Uint64(b[at:]))
		ring := rows[:n*width]
		copy(ring, append(slices.Clone(ring[newest*width:]), ring[:newest*width]...))
		binary.LittleEndian.PutUint64(b[at:], 0)
		rows = rows[n*width:]
	}
}

func shellLine(args []string) string {
	var out []string
	for _, a := range args {
		if strings.ContainsAny(a, " *,()[]$;&|<>'\"\\#?") || a == "" {
			a = "'" + a + "'"
		}
		out = append(out, a)
	}
	return strings.Join(out, " ")
}

func shown(program [][]string) string {
	var b strings.Builder
	for _, args := range program {
		b.WriteString("rrdtool " + shellLine(args) + "\n")
	}
	return b.String()
}

func sortedLines(s string) string {
	lines := slices.Sorted(strings.Lines(s))
	return strings.Join(lines, "")
}
