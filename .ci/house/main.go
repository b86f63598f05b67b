// House measures the rooms of the code: by package the lines, the functions that are long, the
// longest file, and the arrows between its files; and by part of the house the lines of code and
// tests, and the files. It fails where a figure passes the limit that limits.txt sets.
//
// A file has an arrow to another of its package if it names something that the other defines: a
// type, a function, a method, a field, a constant, a variable. The files are put in the order that
// makes most arrows run down: the files that others stand on lie at the bottom. An arrow that still
// runs up is one of two files that need each other, or of a longer circle.
//
// It also reads what people read: it fails where a comment or a page has a phrase of the list
// riddles, and where a page has a line of prose behind column 100.
//
//	go run .ci/house/main.go [-v] [PACKAGE ...]
//	go run .ci/house/main.go -rooms
//	go run .ci/house/main.go -words
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"log"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// longFunction is the number of lines from which on a function is called long.
const longFunction = 60

// wideComment is the last column of a comment line.
const wideComment = 100

// A listed is what `go list` says of a package.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	DepOnly                 bool
	Module                  *struct{ Path string }
}

// A room is one package, measured.
type room struct {
	path     string // below the module
	lines    int
	longest  int
	file     string   // the longest
	long     []string // functions over longFunction lines
	files    []string
	arrows   map[[2]int]int // from file to file: names used
	back     [][2]int
	fields   map[string]int // of each struct type
	exported int
	wide     []string // comment lines that end behind column wideComment, a tab being four
}

func main() {
	log.SetFlags(0)
	verbose := flag.Bool("v", false, "name the long functions and the arrows that run up")
	parts := flag.Bool("rooms", false, "print lines, tests and files by part of the house, and no more")
	phrases := flag.Bool("words", false, "print the phrases to reword and the wide lines of pages, and no more")
	file := flag.String("limits", ".ci/house/limits.txt", "the `file` of limits")
	flag.Parse()
	limits, err := readLimits(*file)
	if err != nil {
		log.Fatal("house: ", err)
	}
	sizes, err := weigh(limits)
	if err != nil {
		log.Fatal("house: ", err)
	}
	if *parts {
		showSizes(sizes)
		return
	}
	if *phrases {
		found, err := readAll()
		if err != nil {
			log.Fatal("house: ", err)
		}
		fail(found)
		return
	}
	patterns := flag.Args()
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	rooms, err := measure(patterns)
	if err != nil {
		log.Fatal("house: ", err)
	}
	show(rooms, *verbose)
	wrong, err := exceeded(rooms, limits)
	if err != nil {
		log.Fatal("house: ", err)
	}
	if flag.NArg() == 0 {
		found, err := readAll()
		if err != nil {
			log.Fatal("house: ", err)
		}
		wrong = append(append(wrong, grown(sizes, limits)...), found...)
	}
	fail(wrong)
}

// fail prints what is wrong, and ends the program if anything is.
func fail(wrong []string) {
	for _, w := range wrong {
		fmt.Println(w)
	}
	if len(wrong) > 0 {
		os.Exit(1)
	}
}

// measure lists, parses and type-checks the packages.
func measure(patterns []string) ([]*room, error) {
	out, err := exec.Command("go", append([]string{"list", "-deps", "-export", "-json=ImportPath,Dir,Export,GoFiles,DepOnly,Module", "--"}, patterns...)...).Output()
	if err != nil {
		if e, ok := errors.AsType[*exec.ExitError](err); ok {
			return nil, fmt.Errorf("go list: %s", e.Stderr)
		}
		return nil, err
	}
	exports := make(map[string]string)
	var packages []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		exports[p.ImportPath] = p.Export
		if !p.DepOnly && len(p.GoFiles) > 0 {
			packages = append(packages, p)
		}
	}
	fset := token.NewFileSet()
	open := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	from := importer.ForCompiler(fset, "gc", open)
	var rooms []*room
	for _, p := range packages {
		r, err := look(fset, from, &p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.ImportPath, err)
		}
		rooms = append(rooms, r)
	}
	slices.SortFunc(rooms, func(a, b *room) int { return strings.Compare(a.path, b.path) })
	return rooms, nil
}

// look measures one package.
func look(fset *token.FileSet, from types.Importer, p *listed) (*room, error) {
	r := &room{path: strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, p.Module.Path), "/"), arrows: make(map[[2]int]int), fields: make(map[string]int)}
	var files []*ast.File
	for _, name := range p.GoFiles {
		src, err := os.ReadFile(filepath.Join(p.Dir, name))
		if err != nil {
			return nil, err
		}
		tabs := indents(src)
		f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		if ast.IsGenerated(f) {
			continue
		}
		files = append(files, f)
		r.files = append(r.files, name)
		n := fset.File(f.Pos()).LineCount()
		if r.lines += n; n > r.longest {
			r.longest, r.file = n, name
		}
		for _, g := range f.Comments {
			for _, c := range g.List {
				at := fset.Position(c.Pos())
				for i, l := range strings.Split(c.Text, "\n") {
					indent := 0
					if i == 0 {
						indent = at.Column - 1
						if alone := tabs[at.Line-1]; alone >= 0 {
							indent = 4 * alone
						}
					}
					if indent+utf8.RuneCountInString(l) > wideComment {
						r.wide = append(r.wide, fmt.Sprintf("%s:%d", name, at.Line+i))
					}
				}
			}
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				if n := fset.Position(fn.End()).Line - fset.Position(fn.Pos()).Line + 1; n > longFunction {
					r.long = append(r.long, fmt.Sprintf("%s:%d %s %d", name, fset.Position(fn.Pos()).Line, fn.Name.Name, n))
				}
			}
		}
	}
	info := types.Info{Uses: make(map[*ast.Ident]types.Object), Defs: make(map[*ast.Ident]types.Object)}
	c := types.Config{Importer: from, Error: func(error) {}} // files for other systems and generated ones may lack
	pkg, _ := c.Check(p.ImportPath, fset, files, &info)
	number := make(map[string]int, len(r.files))
	for i, name := range r.files {
		number[filepath.Join(p.Dir, name)] = i
	}
	for id, o := range info.Uses {
		if o.Pkg() != pkg || !o.Pos().IsValid() {
			continue
		}
		a, b := number[fset.Position(id.Pos()).Filename], number[fset.Position(o.Pos()).Filename]
		if a != b {
			r.arrows[[2]int{a, b}]++
		}
	}
	for _, name := range pkg.Scope().Names() {
		o := pkg.Scope().Lookup(name)
		if o.Exported() {
			r.exported++
		}
		if s, ok := o.Type().Underlying().(*types.Struct); ok {
			if _, ok := o.(*types.TypeName); ok {
				r.fields[name] = s.NumFields()
			}
		}
	}
	r.back = runUp(len(r.files), r.arrows)
	return r, nil
}

// indents returns by line the tabs before a comment that has the line for itself, or -1.
func indents(src []byte) (tabs []int) {
	for l := range strings.SplitSeq(string(src), "\n") {
		rest := strings.TrimLeft(l, "\t")
		if !strings.HasPrefix(rest, "//") {
			tabs = append(tabs, -1)
			continue
		}
		tabs = append(tabs, len(l)-len(rest))
	}
	return tabs
}

// runUp returns the arrows that run up when the files are put in the order in which few do. The
// order is found as Eades, Lin and Smyth do (1993: "A fast and effective heuristic for the feedback
// arc set problem"), then bettered by moving one file at a time to its best place.
func runUp(n int, arrows map[[2]int]int) (back [][2]int) {
	out, in := make([][]bool, n), make([][]bool, n)
	for i := range n {
		out[i], in[i] = make([]bool, n), make([]bool, n)
	}
	for a := range arrows {
		out[a[0]][a[1]], in[a[1]][a[0]] = true, true
	}
	order := firstOrder(n, out, in)
	for better := true; better; {
		better = false
		for _, f := range slices.Clone(order) {
			i := slices.Index(order, f)
			rest := slices.Delete(slices.Clone(order), i, i+1)
			best, at, cost := 0, i, 0
			// Moving f below g: an arrow from g to f stops running up, one from f to g starts to.
			for j := i; j < len(rest); j++ {
				cost += bit(out[f][rest[j]]) - bit(in[f][rest[j]])
				if cost < best {
					best, at = cost, j+1
				}
			}
			cost = 0
			for j := i - 1; j >= 0; j-- {
				cost += bit(in[f][rest[j]]) - bit(out[f][rest[j]])
				if cost < best {
					best, at = cost, j
				}
			}
			if best < 0 {
				order, better = slices.Insert(rest, at, f), true
			}
		}
	}
	place := make([]int, n)
	for i, f := range order {
		place[f] = i
	}
	for a := range arrows {
		if place[a[0]] > place[a[1]] {
			back = append(back, a)
		}
	}
	slices.SortFunc(back, func(a, b [2]int) int { return (a[0]-b[0])*n + a[1] - b[1] })
	return back
}

// firstOrder puts files that use much and are used little first.
func firstOrder(n int, out, in [][]bool) []int {
	left := make([]int, n)
	for i := range left {
		left[i] = i
	}
	degree := func(f int, m [][]bool) (d int) {
		for _, g := range left {
			d += bit(m[f][g])
		}
		return d
	}
	var top, bottom []int
	for len(left) > 0 {
		i := slices.IndexFunc(left, func(f int) bool { return degree(f, out) == 0 })
		if i >= 0 {
			bottom = append(bottom, left[i])
		} else {
			i = 0
			for j := range left {
				if degree(left[j], out)-degree(left[j], in) > degree(left[i], out)-degree(left[i], in) {
					i = j
				}
			}
			top = append(top, left[i])
		}
		left = slices.Delete(left, i, i+1)
	}
	slices.Reverse(bottom)
	return append(top, bottom...)
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// share is the part of the arrows that runs up, in per cent.
func (r *room) share() float64 {
	return 100 * float64(len(r.back)) / float64(max(len(r.arrows), 1))
}

// show prints the table.
func show(rooms []*room, verbose bool) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "package\tlines\tfiles\texported\tlong functions\twide comments\tlongest file\tarrows\tup\t%\t")
	for _, r := range rooms {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%s %d\t%d\t%d\t%.0f\t\n", r.path, r.lines, len(r.files), r.exported, len(r.long), len(r.wide), r.file, r.longest, len(r.arrows), len(r.back), r.share())
	}
	_ = w.Flush()
	if !verbose {
		return
	}
	for _, r := range rooms {
		for _, f := range r.long {
			fmt.Printf("%s: long: %s\n", r.path, f)
		}
		for _, l := range r.wide {
			fmt.Printf("%s: wide: %s\n", r.path, l)
		}
		for _, a := range r.back {
			fmt.Printf("%s: up: %s -> %s (%d)\n", r.path, r.files[a[0]], r.files[a[1]], r.arrows[a])
		}
	}
}

// A limit is a line of limits.txt: what a figure of a room may be at most.
type limit struct {
	room, figure string
	most         float64
}

// isSize says whether a figure is one of parts of the house, not of packages.
func (l *limit) isSize() bool {
	return l.figure == "lines" || l.figure == "tests" || l.figure == "files"
}

func readLimits(name string) (all []limit, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for in := bufio.NewScanner(f); in.Scan(); {
		words := strings.Fields(in.Text())
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if len(words) != 3 {
			return nil, fmt.Errorf("%s: %q is not a room, a figure and a limit", name, in.Text())
		}
		most, err := strconv.ParseFloat(words[2], 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %q: %w", name, in.Text(), err)
		}
		all = append(all, limit{words[0], words[1], most})
	}
	return all, nil
}

// A size is what a part of the house weighs: a folder that has a line in limits.txt, with those
// below it that have none.
type size struct {
	room  string
	lines int // of Go files without tests and generated ones
	files int // which have those lines
	tests int // lines of test files, and of packages for tests, such as receivertest
}

// weigh measures the parts of the module in the working folder. A folder that belongs to no part
// is one itself.
func weigh(limits []limit) ([]size, error) {
	sizes := map[string]*size{}
	for _, l := range limits {
		if l.isSize() {
			sizes[l.room] = &size{room: l.room}
		}
	}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		if d.IsDir() {
			_, err := os.Stat(filepath.Join(name, "go.mod"))
			if err == nil || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(name) != ".go" {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil || generated.Match(text) {
			return err
		}
		room := filepath.ToSlash(filepath.Dir(name))
		for dir := room; dir != "."; dir = path.Dir(dir) {
			if sizes[dir] != nil {
				room = dir
				break
			}
		}
		if sizes[room] == nil {
			sizes[room] = &size{room: room}
		}
		if strings.HasSuffix(name, "_test.go") || strings.HasSuffix(path.Dir(filepath.ToSlash(name)), "test") {
			sizes[room].tests += bytes.Count(text, []byte{'\n'})
			return nil
		}
		sizes[room].lines += bytes.Count(text, []byte{'\n'})
		sizes[room].files++
		return nil
	})
	var all []size
	for _, room := range slices.Sorted(maps.Keys(sizes)) {
		all = append(all, *sizes[room])
	}
	return all, err
}

var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// showSizes prints the table of the parts, and what they are together.
func showSizes(sizes []size) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "room\tlines\tfiles\tlines of tests\t")
	all := size{room: "all"}
	for _, s := range sizes {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t\n", s.room, s.lines, s.files, s.tests)
		all.lines, all.files, all.tests = all.lines+s.lines, all.files+s.files, all.tests+s.tests
	}
	fmt.Fprintf(w, "%s\t%d\t%d\t%d\t\n", all.room, all.lines, all.files, all.tests)
	_ = w.Flush()
}

// grown says which parts have more than their limit, which have none, and which are gone.
func grown(sizes []size, limits []limit) (wrong []string) {
	for _, s := range sizes {
		if s.lines+s.tests == 0 {
			wrong = append(wrong, fmt.Sprintf("%s: there is no such room any more", s.room))
		}
		if s.lines > 0 && !slices.ContainsFunc(limits, func(l limit) bool { return l.room == s.room && l.figure == "lines" }) {
			wrong = append(wrong, fmt.Sprintf("%s: lines is %d, at most 0: the folder belongs to no room", s.room, s.lines))
		}
		for _, l := range limits {
			have := map[string]int{"lines": s.lines, "tests": s.tests, "files": s.files}[l.figure]
			if l.room == s.room && l.isSize() && float64(have) > l.most {
				wrong = append(wrong, fmt.Sprintf("%s: %s is %d, at most %.0f: take out, or decide that the room may grow", s.room, l.figure, have, l.most))
			}
		}
	}
	return wrong
}

// exceeded says which figures of packages pass their limit: file (lines of the longest), up (per
// cent of the arrows), long (functions), wide (lines of comments behind column 100), or TYPE.fields.
// A limit of the room * is for all rooms that have no limit of their own.
func exceeded(rooms []*room, limits []limit) (wrong []string, err error) {
	named := make(map[string]bool)
	for _, l := range limits {
		named[l.room+" "+l.figure] = true
	}
	for _, l := range limits {
		if l.isSize() {
			continue
		}
		found := false
		for _, r := range rooms {
			if l.room != r.path && (l.room != "*" || named[r.path+" "+l.figure]) {
				continue
			}
			found = true
			have, ok := r.figure(l.figure)
			if !ok {
				return nil, fmt.Errorf("limits: %s has no figure %q", r.path, l.figure)
			}
			if have > l.most {
				wrong = append(wrong, fmt.Sprintf("%s: %s is %.4g, at most %.4g", r.path, l.figure, have, l.most))
			}
		}
		if !found && flag.NArg() == 0 {
			wrong = append(wrong, fmt.Sprintf("%s: there is no such room any more", l.room))
		}
	}
	return wrong, nil
}

// figure returns one figure of a room by its name.
func (r *room) figure(name string) (float64, bool) {
	switch name {
	case "file":
		return float64(r.longest), true
	case "up":
		if len(r.back) < 4 { // two files that need each other are no tangle
			return 0, true
		}
		return r.share(), true
	case "long":
		return float64(len(r.long)), true
	case "wide":
		return float64(len(r.wide)), true
	}
	typ, ok := strings.CutSuffix(name, ".fields")
	n, found := r.fields[typ]
	return float64(n), ok && found
}

// riddles are phrases that make a reader go back: a pronoun whose noun stands somewhere before, and
// the verb for what a person does, where a program reports, logs or returns something, or where
// something shows it. There are no exceptions: a sentence that has one is written anew.
var riddles = regexp.MustCompile(`(?i)\b(of\s+which|that\s+of|those\s+of|(there\s+)?is\s+none|what\s+there\s+is\s+of|tells?|told)\b`)

// readAll reads the comments of every Go file that is not generated, and the pages: docs, contrib
// and the Markdown files of the module's folder.
func readAll() (found []string, err error) {
	err = filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == ".git" || d.Name() == "testdata" {
				return filepath.SkipDir
			}
			return nil
		}
		page := filepath.Ext(name) == ".md"
		if !page && filepath.Ext(name) != ".go" {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if page {
			found = append(found, readPage(name, string(text))...)
			return nil
		}
		if !generated.Match(text) {
			lines, err := readComments(name, text)
			found = append(found, lines...)
			return err
		}
		return nil
	})
	return found, err
}

// readComments returns the phrases in the comments of a Go file.
func readComments(name string, src []byte) (found []string, err error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, g := range f.Comments {
		var text strings.Builder
		for _, c := range g.List {
			text.WriteString(strings.TrimPrefix(c.Text, "//") + "\n")
		}
		found = append(found, phrases(name, fset.Position(g.Pos()).Line, text.String())...)
	}
	return found, nil
}

// code is text between backquotes.
var code = regexp.MustCompile("`[^`\n]*`")

// readPage returns the phrases of a page, without its blocks of code, and its lines of prose that
// end behind column wideComment and have a blank at which they could end.
func readPage(name, text string) (found []string) {
	var prose strings.Builder
	block, indented, last := false, false, ""
	for i, l := range strings.Split(text, "\n") {
		fence := strings.HasPrefix(strings.TrimSpace(l), "```")
		if fence {
			block = !block
		}
		indented = strings.HasPrefix(l, "    ") && (indented || last == "")
		last = l
		if fence || block || indented {
			l = ""
		}
		wide := utf8.RuneCountInString(l) > wideComment && strings.Contains(strings.TrimLeft(l, " *-#"), " ")
		if wide && !strings.HasPrefix(strings.TrimSpace(l), "|") {
			found = append(found, fmt.Sprintf("%s:%d: the line ends behind column %d", name, i+1, wideComment))
		}
		prose.WriteString(code.ReplaceAllString(l, "``") + "\n")
	}
	return append(found, phrases(name, 1, prose.String())...)
}

// phrases returns the places of riddles in a text that begins at a line.
func phrases(name string, line int, text string) (found []string) {
	for _, at := range riddles.FindAllStringIndex(text, -1) {
		if strings.EqualFold(text[at[0]:at[0]+2], "th") && strings.HasSuffix(text[at[0]:at[1]], "none") {
			continue // "there is none" says what is missing
		}
		n := line + strings.Count(text[:at[0]], "\n")
		found = append(found, fmt.Sprintf("%s:%d: reword %q", name, n, strings.Join(strings.Fields(text[at[0]:at[1]]), " ")))
	}
	return found
}
