// Package seedtest says what random tests begin with: the numbers of testdata/seeds.txt, so that
// what passed once passes again. RONDO_SEED=N takes one number instead, and RONDO_SEED=fresh one
// that nothing has tried before.
package seedtest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// file is where the seeds are, from the root of the module. A line has the name of a test, or * for
// all that no line names, a seed, and what it found.
const file = "testdata/seeds.txt"

// A table is the file.
type table struct {
	seeds  map[string][]uint64 // by the name of a test
	folder string              // of the running tests, from the root
}

// Each runs f with each seed of a test, in subtests if there are several; f has one of them.
func Each(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	all := of(t)
	if len(all) == 1 {
		f(t)
		return
	}
	for _, seed := range all {
		t.Run(fmt.Sprint(subtest, seed), f)
	}
}

// subtest begins the names of the subtests of Each.
const subtest = "seed="

// One returns the seed of a test that has one, and logs the command that repeats the test.
func One(tb testing.TB) uint64 {
	tb.Helper()
	all := of(tb)
	if len(all) > 1 {
		tb.Fatalf("%s has %d seeds for this test, which takes one", file, len(all))
	}
	logged(tb, all[0])
	return all[0]
}

// Rand returns a source that begins with the seed of a test.
func Rand(tb testing.TB) *rand.Rand {
	tb.Helper()
	return rand.New(rand.NewPCG(One(tb), 2))
}

// Many returns seeds of a test that takes little time for each: few that follow the first one, or
// RONDO_SEEDS, or a tenth with -short, and the others of the test. One to be repeated is alone.
func Many(tb testing.TB, few int) []uint64 {
	tb.Helper()
	all := of(tb)
	if Repeats() {
		return all
	}
	if testing.Short() {
		few = (few + 9) / 10
	}
	n := amount("RONDO_SEEDS", few)
	following := make([]uint64, n, n+len(all)-1)
	for i := range following {
		following[i] = all[0] + uint64(i)
	}
	return append(following, all[1:]...)
}

// Repeats says whether RONDO_SEED names one seed to be repeated, so that tests may say more.
func Repeats() bool {
	s := os.Getenv("RONDO_SEED")
	return s != "" && s != "fresh" && os.Getenv("RONDO_SEEDS") == ""
}

// Programs returns how many random programs a test makes: RONDO_PROGRAMS divided by share, but at
// least one, or few if that is not set, and half of few with -short.
func Programs(few, share int) int {
	if n := amount("RONDO_PROGRAMS", 0); n > 0 {
		return max(n/share, 1)
	}
	if testing.Short() {
		return (few + 1) / 2
	}
	return few
}

// More says whether a run asks for more than usual, and so has time for tests that take minutes.
func More() bool { return os.Getenv("RONDO_PROGRAMS") != "" }

// Crashes returns how often a test kills or cuts the power: RONDO_CRASHES, or few.
func Crashes(few int) int { return amount("RONDO_CRASHES", few) }

func amount(variable string, few int) int {
	s := os.Getenv(variable)
	if s == "" {
		return few
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		panic(fmt.Sprintf("%s is %q, want a number from 1 on", variable, s))
	}
	return n
}

var fresh = sync.OnceValue(func() uint64 { return uint64(rand.Uint32()) })

// of returns the seeds of a test, at least one.
func of(tb testing.TB) []uint64 {
	tb.Helper()
	switch s := os.Getenv("RONDO_SEED"); s {
	case "":
	case "fresh":
		return []uint64{fresh()}
	default:
		seed, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			tb.Fatalf("RONDO_SEED is %q, want a number, or fresh", s)
		}
		return []uint64{seed}
	}
	x, err := read()
	if err != nil {
		tb.Fatal(err)
	}
	for part := range strings.SplitSeq(tb.Name(), "/") {
		if text, ok := strings.CutPrefix(part, subtest); ok {
			seed, err := strconv.ParseUint(text, 10, 64)
			if err != nil {
				tb.Fatal(err)
			}
			return []uint64{seed}
		}
	}
	if all := x.seeds[test(tb)]; all != nil {
		return all
	}
	return x.seeds["*"]
}

// test returns the name of the function that is a test.
func test(tb testing.TB) string {
	name, _, _ := strings.Cut(tb.Name(), "/")
	return name
}

// logged logs the command that repeats a test with a seed.
func logged(tb testing.TB, seed uint64) {
	tb.Helper()
	x, err := read()
	if err != nil {
		tb.Fatal(err)
	}
	with := []string{fmt.Sprint("RONDO_SEED=", seed)}
	for _, v := range []string{"RONDO_PROGRAMS", "RONDO_CRASHES"} {
		if s := os.Getenv(v); s != "" {
			with = append(with, v+"="+s)
		}
	}
	tb.Logf("%s go test -count=1 -run '^%s$' ./%s", strings.Join(with, " "), test(tb), x.folder)
}

// read reads the table of the module in which the tests run, once.
var read = sync.OnceValues(func() (*table, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	root := dir
	for {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err == nil {
			x := &table{seeds: make(map[string][]uint64)}
			if x.folder, err = filepath.Rel(root, dir); err != nil {
				return nil, err
			}
			return x, x.parse(string(text))
		}
		if filepath.Dir(root) == root {
			return nil, fmt.Errorf("no folder above %s has %s", dir, file)
		}
		root = filepath.Dir(root)
	}
})

func (x *table) parse(text string) error {
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if len(words) != 2 {
			return fmt.Errorf("%s: %q is not a test and a seed", file, line)
		}
		seed, err := strconv.ParseUint(words[1], 10, 64)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		x.seeds[words[0]] = append(x.seeds[words[0]], seed)
	}
	if x.seeds["*"] == nil {
		return fmt.Errorf("%s has no line for all other tests", file)
	}
	return nil
}

// Often returns how often a test does again what it has done once: few times, or many in a run that
// asks for more. With -short it is half of few, at least once.
func Often(few, many int) int {
	switch {
	case More():
		return many
	case testing.Short():
		return (few + 1) / 2
	}
	return few
}
