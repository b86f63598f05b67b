package rrdfile_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/query/rrd/rrdfile"
)

// TestMutated: dumps that somebody edited are restored, or refused, as rrdtool does it, and in its
// words.
func TestMutated(t *testing.T) {
	r, tool, loc := seedtest.Rand(t), newPeer(t), berlin(t)
	n := seedtest.Programs(25, 5)
	var text string
	taken, refused := 0, 0
	for i := range n {
		if i%20 == 0 {
			p := newProgram(rand.New(rand.NewPCG(r.Uint64(), 9)))
			tool.must(p.create("p.rrd")...)
			for i := range p.updates {
				_ = p.update(tool, "p.rrd", i)
			}
			text = tool.must("dump", "p.rrd")
		}
		m := rand.New(rand.NewPCG(r.Uint64(), 10))
		edited := text
		for range 1 + m.IntN(2) {
			edited = mutate(m, edited)
		}
		ok, err := mutated(tool, edited, loc)
		switch {
		case err != nil:
			t.Fatalf("trial %d: %v\nthe dump, edited: %s", i, err, diffLines(text, edited))
		case ok:
			taken++
		default:
			refused++
		}
	}
	t.Logf("%d taken, %d refused", taken, refused)
	if n >= 100 && (taken < n/10 || refused < n/10) {
		t.Error("that shows little")
	}
}

var (
	lineNumber = regexp.MustCompile(`lin[eg] \d+`)
	errorLine  = regexp.MustCompile(`(?s)ERROR: (.*)\n$`)
	// rrdtool prints the text of what is no number when it is no longer its own, and an errno of
	// some time before.
	noNumber = regexp.MustCompile(`(?s)(get_xml_double from) '.*' .*`)
)

// reproducible is what is the same in every run of rrdtool's message.
func reproducible(s string) string {
	return noNumber.ReplaceAllString(lineNumber.ReplaceAllString(s, "line"), "$1")
}

// mutated reports whether rrdtool restores a dump, and how rondo differs.
func mutated(tool *peer, text string, loc *time.Location) (ok bool, err error) {
	if err := os.WriteFile(tool.file("m.xml"), []byte(text), 0o666); err != nil {
		return false, err
	}
	_ = os.Remove(tool.file("m.rrd")) // of the last trial, if there is one
	_, msg, failed := tool.run("restore", "m.xml", "m.rrd")
	f, err := rrdfile.ReadXML(strings.NewReader(text), rrdfile.XMLOptions{})
	var exit *exec.ExitError
	if failed == nil {
		want, _, crashed := tool.run("dump", "m.rrd")
		if crashed != nil {
			return true, nil // it has made what it cannot read
		}
		if err != nil {
			return true, fmt.Errorf("rrdtool takes it, rondo says %w", err)
		}
		var b strings.Builder
		if err := f.WriteXML(&b, rrdfile.HeaderDTD, loc); err != nil {
			return true, err
		}
		if b.String() != string(want) {
			return true, fmt.Errorf("restored (-rrdtool +rondo):\n%s", diffLines(string(want), b.String()))
		}
		return true, nil
	}
	if errors.As(failed, &exit) && !exit.Exited() {
		return false, nil // a crash says nothing
	}
	if err == nil {
		return false, fmt.Errorf("rondo takes it, rrdtool says %s", msg)
	}
	var x *rrdfile.XMLError
	if !errors.As(err, &x) || x.Line < 1 || x.Line > strings.Count(text, "\n")+1 {
		return false, fmt.Errorf("%T %+[1]v", err)
	}
	// The XML library has its own words, and lines are those that it has read, not that it has come
	// to.
	said := errorLine.FindStringSubmatch(msg)
	if said == nil || strings.Contains(msg, "parser error") || strings.Contains(msg, "XML") {
		return false, nil
	}
	// Of what stands where it should not rrdtool says what it stumbles on in the end.
	a, b := reproducible(said[1]), reproducible(x.Original())
	if a != b && !strings.HasPrefix(a, "line: expected") && !strings.HasPrefix(b, "line: expected") {
		return false, fmt.Errorf("rrdtool says %q, rondo %q", said[1], x.Original())
	}
	return false, nil
}

var (
	element = regexp.MustCompile(`<([a-z_]+)>([^<]*)</[a-z_]+>`)
	tag     = regexp.MustCompile(`</?[a-z_]+>`)
	number  = regexp.MustCompile(`^ ?[-0-9.e+NaifU]+ ?$`)
)

// mutate edits a dump.
func mutate(r *rand.Rand, text string) string {
	all := element.FindAllStringSubmatchIndex(text, -1)
	if len(all) == 0 {
		return text
	}
	e := all[r.IntN(len(all))]
	if r.IntN(2) == 0 { // most are rows
		e = all[r.IntN(min(len(all), 12))]
	}
	from, to := e[0], e[1]
	name, value := text[e[2]:e[3]], text[e[4]:e[5]]
	replace := func(s string) string { return text[:from] + s + text[to:] }
	wrap := func(s string) string { return replace("<" + name + ">" + s + "</" + name + ">") }
	switch r.IntN(9) {
	case 0:
		switch name {
		case "v", "database", "cdef", "type", "cf": // rrdtool counts them, or crashes
			return text
		}
		return replace("")
	case 1:
		return replace(text[from:to] + text[from:to])
	case 2:
		return wrap(pick(r, "<!-- x -->", "<!-- <x> -->\n", "<?x y?>", "<![CDATA[7]]>") + value)
	case 3:
		return wrap(value + pick(r, "<!-- x -->", "<![CDATA[7]]>", " ", "\n", "<b>", "<b></b>", "&lt;", "&", "\x01", "x<!-- -->"))
	case 4:
		return replace(pick(r, "x", "<nosuch></nosuch>", "<ds></ds>", "<row></row>", "<v>1</v>", "<version>0003</version>", "\n\n", "</rrd>") + text[from:to])
	case 5:
		at := tag.FindAllStringIndex(text, -1)
		t := at[r.IntN(len(at))]
		return text[:t[0]] + pick(r, "", "x", text[t[0]:t[1]-1]+" a='b>'>", text[t[0]:t[1]-1]+"\n>", "<!-- -->"+text[t[0]:t[1]], text[t[0]:t[1]-1]) + text[t[1]:]
	case 6:
		return text[:r.IntN(len(text))]
	}
	if number.MatchString(value) && name != "window_len" {
		numbers := []string{
			"5", " 7 ", "08", "010", "0x1f", "1e3", "-0", "12x", "3 4", "", " ", "99999999999999999999", "1e400", "1e-330", "1e2000", "inf", "-INF", "nan",
			"+nan", "-nan", "U", ".5", "5.", "1e+", "1,5", "0.1234567890123456789", "1.7976931349e+308", fmt.Sprintf("%.10e", r.NormFloat64()*1e5), fmt.Sprintf("%g", r.ExpFloat64()),
		}
		switch name {
		case "step", "pdp_per_row":
			numbers = numbers[:3] // others make files that rrdtool crashes on
		case "version":
			numbers = []string{"0003", " 3 ", "0004", "0005", "00003", "3x"}
		case "lastupdate":
			numbers = append(numbers, "-5", "1000000000", "0")
		}
		return wrap(numbers[r.IntN(len(numbers))])
	}
	switch name {
	case "name":
		return wrap(pick(r, "", "a b", "  a  ", "\tä\n", "abcdefghijklmnopqrst", "abcdefghijklmnopqrs", "a&amp;b", "a&#98;&#x63;", "5", "UN"))
	case "type":
		if !strings.Contains(value, "COMPUTE") {
			return wrap(pick(r, "GAUGE", " DERIVE", "gauge", "FOO", "ABSOLUTE x"))
		}
	case "cf":
		if strings.Contains("AVERAGE MIN MAX LAST", value) {
			return wrap(pick(r, " MIN ", "MAX", "last", "FOO", "AVERAGE"))
		}
	case "cdef":
		return wrap(pick(r, "1,2,+", "x,", "x0,1.5,*", "x0,TIME,+", "UNKN", "NOW", "1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7,8,9,UN", "", "+"))
	case "last_ds":
		return wrap(pick(r, "", "U", "abcdefghijklmnopqrstuvwxyzabc", "abcdefghijklmnopqrstuvwxyzabcd", "a b", "&lt;", "&quot;&apos;&gt;"))
	case "history":
		return wrap(pick(r, "", "1", "11111111111111111", "2 1", "0101"))
	}
	return text
}
