package rrdfile_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rondo-db/rondo/query/rrd/rrdfile"
	"github.com/rondo-db/rondo/rra"
)

// old is a dump as versions 1.0 and 1.2 of rrdtool wrote it.
const old = `<!-- Round Robin Database Dump --><rrd>	<version> 0001 </version>
	<step> 300 </step> <!-- Seconds -->
	<lastupdate> 1000000201 </lastupdate> <!-- 2001-09-09 01:50:01 UTC -->
	<ds>
		<name> in </name>
		<type> COUNTER </type>
		<minimal_heartbeat> 600 </minimal_heartbeat>
		<min> 0.0000000000e+00 </min>
		<max> NaN </max>

		<!-- PDP Status -->
		<last_ds> UNKN </last_ds>
		<value> 1.5000000000e+01 </value>
		<unknown_sec> 3 </unknown_sec>
	</ds>
<!-- Round Robin Archives -->	<rra>
		<cf> AVERAGE </cf>
		<pdp_per_row> 2 </pdp_per_row> <!-- 600 seconds -->
		<xff> 5.0000000000e-01 </xff>
		<cdp_prep>
			<ds><value> 7.0000000000e+00 </value>  <unknown_datapoints> 1 </unknown_datapoints></ds>
		</cdp_prep>
		<database>
			<!-- 2001-09-09 01:30:00 UTC / 999999000 --> <row><v> NaN </v></row>
			<!-- 2001-09-09 01:40:00 UTC / 999999600 --> <row><v> 2.5000000000e+00 </v></row>
		</database>
	</rra>
</rrd>
`

func readXML(t testing.TB, text string, o rrdfile.XMLOptions) *rrdfile.File {
	t.Helper()
	f, err := rrdfile.ReadXML(strings.NewReader(text), o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestOldXML: version 1 has the xfiles factor outside the parameters, and is version 3 when it was
// read.
func TestOldXML(t *testing.T) {
	nan := math.NaN()
	want := &rrdfile.File{
		Version: 3,
		Definition: rra.Definition{
			Step:     300,
			Sources:  []rra.DataSource{{Name: "in", Kind: rra.Counter, Heartbeat: 600, Max: nan}},
			Archives: []rra.Archive{{CF: rra.Average, XFF: 0.5, PDPs: 2, Rows: 2, Partner: -1}},
		},
		State: rra.Snapshot{
			LastUpdate: rra.Seconds(1_000_000_201),
			Sources:    []rra.SourceSnapshot{{LastReading: "UNKN", Value: 15, UnknownSec: 3}},
			Archives:   []rra.ArchiveSnapshot{{CDPs: []rra.CDP{{Value: 7, Unknown: 1}}, Rows: []float64{nan, 2.5}}},
		},
	}
	got := readXML(t, old, rrdfile.XMLOptions{})
	if d := cmp.Diff(want, got, sameFloats, cmpopts.IgnoreUnexported(rrdfile.File{})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got.Newest(0) != 1_000_000_200 || got.Step(0) != 600 {
		t.Errorf("newest row %d of %d s", got.Newest(0), got.Step(0))
	}
}

// TestEncodings: it does not matter how the dump is encoded, how its lines end, or in which pieces
// it comes.
func TestEncodings(t *testing.T) {
	f := fixed(t, 10, whole...)
	f.Definition.Sources[0].Name = "größe"
	f.Definition.Sources[2].Expr = "größe,b,-3,+,UN,b,EXC,POP,+"
	plain := strings.Replace(dump(t, f, time.UTC), "\n", "\n<!-- "+strings.Repeat("a long comment, ", 10_000)+"-->", 1)
	want := binaryOf(t, readXML(t, plain, rrdfile.XMLOptions{}))
	var little, big, bare []byte
	for _, u := range utf16.Encode([]rune(strings.Replace(plain, "utf-8", "utf-16", 1))) {
		little, big = binary.LittleEndian.AppendUint16(little, u), binary.BigEndian.AppendUint16(big, u)
	}
	bare = little
	for name, text := range map[string]string{
		"BOM":         "\ufeff" + plain,
		"CRLF":        strings.ReplaceAll(plain, "\n", "\r\n"),
		"Latin 1":     strings.ReplaceAll(strings.Replace(strings.Replace(plain, "utf-8", "ISO-8859-1", 1), "ß", "\xdf", -1), "ö", "\xf6"),
		"UTF-16LE":    "\xff\xfe" + string(little),
		"UTF-16BE":    "\xfe\xff" + string(big),
		"UTF-16":      string(bare),
		"one line":    strings.ReplaceAll(plain, "\n", ""),
		"no headline": plain[strings.Index(plain, "<rrd>"):],
		"numbers":     strings.ReplaceAll(plain, "<step>10", "<step>&#49;&#x30;"),
		"attributes":  strings.ReplaceAll(plain, "<rra>", "<rra a='>' b = \"/\" >"),
		"empty":       strings.ReplaceAll(plain, "<version>", "<version>"),
		"types":       strings.Replace(plain, `<!DOCTYPE rrd SYSTEM "https://oss.oetiker.ch/rrdtool/rrdtool.dtd">`, `<!DOCTYPE rrd [ <!ELEMENT rrd (a|b)> <!ENTITY x "]>"> ]>`, 1),
	} {
		for reader, r := range map[string]io.Reader{"whole": strings.NewReader(text), "bytes": iotest.OneByteReader(strings.NewReader(text)), "error last": iotest.DataErrReader(strings.NewReader(text))} {
			got, err := rrdfile.ReadXML(r, rrdfile.XMLOptions{})
			if err != nil {
				t.Errorf("%s, %s: %v", name, reader, err)
				continue
			}
			if b := binaryOf(t, got); !bytes.Equal(b, want) {
				t.Errorf("%s, %s: %s", name, reader, diffBytes(want, b))
			}
		}
	}
}

// TestXMLOptions: rows may be checked against the limits, and a history kept whole.
func TestXMLOptions(t *testing.T) {
	f := fixed(t, 10, whole...)
	failures := len(f.Definition.Archives) - 1
	history := "101010101010101010101010101"[:9]
	f.Definition.Archives[failures].Window = 20
	for i := range f.State.Archives[failures].CDPs {
		f.State.Archives[failures].CDPs[i].History = history + "11011011011"
	}
	f.Definition.Sources[0].Min, f.Definition.Sources[0].Max = 2, 4
	text := dump(t, f, time.UTC)
	for _, c := range []struct {
		o       rrdfile.XMLOptions
		history string
	}{
		{rrdfile.XMLOptions{}, history + "1" + "0000000000"},
		{rrdfile.XMLOptions{RangeCheck: true, WholeHistory: true}, history + "11011011011"},
	} {
		got := readXML(t, text, c.o)
		if h := got.State.Archives[failures].CDPs[1].History; h != c.history {
			t.Errorf("%+v: history %s, want %s", c.o, h, c.history)
		}
		for i := range got.State.Archives {
			for j, v := range got.State.Archives[i].Rows {
				was := f.State.Archives[i].Rows[j]
				out := c.o.RangeCheck && j%3 == 0 && (was < 2 || was > 4)
				if out != (v != v) && was == was {
					t.Errorf("%+v: archive %d, value %d: %v of %v", c.o, i, j, v, was)
				}
			}
		}
	}
	// What was kept of more PDPs is not lost on the way back.
	if got := dump(t, readXML(t, text, rrdfile.XMLOptions{WholeHistory: true}), time.UTC); got != text {
		t.Errorf("again (-before +after):\n%s", diffLines(text, got))
	}
}

// TestXMLErrors: an error says the line, and what rrdtool says.
func TestXMLErrors(t *testing.T) {
	for _, c := range []struct {
		was, is        string
		want, original string
	}{
		{"<rrd>", "<x>", "line 1: expected <x> element but found <rrd>", "line 1: expected <x> element but found <rrd>"},
		{"<step>", "<stop>", "line 2: parse_tag_rrd: Unknown tag: stop", "parse_tag_rrd: Unknown tag: stop"},
		{"<type>", "<typ>", "line 6: parse_tag_ds: Unknown tag: typ", "parse_tag_ds: Unknown tag: typ"},
		{"COUNTER", "counter", "line 6: parse_tag_ds_type: Unknown data source type: counter", "parse_tag_ds_type: Unknown data source type: counter"},
		{"<max> NaN", "<max> U", "line 9: get_xml_double from 'U' Numerical result out of range", "ling 9: get_xml_double from 'U' Numerical result out of range"},
		{"<max> NaN", "<max> 1,5", "line 9: get_xml_double from '1,5' Success", "ling 9: get_xml_double from '1,5' Success"},
		{" 300 ", "99999999999999999999", "line 2: get_xml_ulong from '99999999999999999999' Numerical result out of range", "ling 2: get_xml_ulong from '99999999999999999999' Numerical result out of range"},
		{" 1000000201 ", "-99999999999999999999", "line 3: get_xml_time_t from '-99999999999999999999' Numerical result out of range", "ling 3: get_xml_time_t from '-99999999999999999999' Numerical result out of range"},
		{" 1000000201 ", "9999999999999", "line 3: lastupdate 9999999999999 is out of range", "lastupdate 9999999999999 is out of range"},
		{" in ", " a-name-of-20-letters ", "line 5: 'a-name-of-20-letters' is longer than 20", "'a-name-of-20-letters' is longer than 20"},
		{"AVERAGE", "MEAN", "line 17: parse_tag_rra_cf: Unknown consolidation function: MEAN", "parse_tag_rra_cf: Unknown consolidation function: MEAN"},
		{"<xff>", "<params><xff>", "line 19: parse_tag_rra: Unknown tag: params", "line 19: parse_tag_rra: Unknown tag: params"},
		{"<unknown_datapoints>", "<unknown>", "line 21: parse_tag_rra_cdp_prep: Unknown tag: unknown", "parse_tag_rra_cdp_prep: Unknown tag: unknown"},
		{"</ds>\n\t\t</cdp", "</ds><ds></ds>\n\t\t</cdp", "line 21: expected <ds> element but found </cdp_prep>", "line 21: expected <ds> element but found </cdp_prep>"},
		{"<row><v> NaN </v>", "<row>", "line 24: expected </row> element but found <v>", "line 24: expected </row> element but found <v>"},
		{"<row><v> NaN </v>", "<row>NaN", "line 24: expected element but found text 'NaN'", "line 24: expected element but found text 'NaN'"},
		{"<v> NaN </v>", "<v> NaN <v></v></v>", "line 24: expected </v> end element but found <v>", "line 24: expected </v> end element but found <v>"},
		{"<v> NaN </v>", "<v><v>1</v></v>", "line 24: expected a value but found a <v> element", "line 24: expected a value but found a <v> element"},
		{"</database>", "</database><database></database>", "line 26: an archive has two databases", "an archive has two databases"},
		{"<type> COUNTER </type>", "", "line 15: data source in has no type", "data source in has no type"},
		{"<version>", "<ds></ds><version>", "line 22: expected </cdp_prep> element but found <ds>", "line 22: expected </cdp_prep> element but found <ds>"},
		{"COUNTER", "COMPUTE", "line 15: data source in has no cdef", "data source in has no cdef"},
		{"<min>", "<cdef>in,2,*</cdef><min>", "line 8: failed to parse computed data source", "failed to parse computed data source"},
		{"<cf> AVERAGE </cf>", "", "line 27: archive 0 has no cf", "archive 0 has no cf"},
		{" 2 ", " -1 ", "line 27: archive 0: pdp_per_row 18446744073709551615 cannot be", "archive 0: pdp_per_row 18446744073709551615 cannot be"},
		{"<step> 300 </step>", "", "line 29: step 0 cannot be", "step 0 cannot be"},
		{"</rra>\n", "</rra><ds></ds>\n", "line 27: parse_tag_ds: All data source definitions MUST precede the RRA definitions!", "parse_tag_ds: All data source definitions MUST precede the RRA definitions!"},
		{"</rrd>\n", "</rrd>\n<rrd></rrd>", "line 29: error reading/parsing XML: Extra content at the end of the document", ""},
		{"</rrd>\n", "", "line 28: error reading/parsing XML: the document ends too early, within <rrd>", ""},
		{"</ds>", "</dx>", "line 15: error reading/parsing XML: Opening and ending tag mismatch: dx", ""},
		{"UNKN", "&nosuch;", "line 12: error reading/parsing XML: Entity 'nosuch' not defined", ""},
		{"UNKN", "a & b", "line 12: error reading/parsing XML: EntityRef: expecting ';'", ""},
		{"UNKN", "\x01", "line 12: error reading/parsing XML: PCDATA invalid Char value 1", ""},
		{"<step>", "<step <ds>", "line 2: error reading/parsing XML: Couldn't find end of Start Tag step", ""},
		{"</rrd>\n", "<!-- x", "line 28: error reading/parsing XML: the document ends too early, within <rrd>", ""},
		{"<rrd>", "<!DOCTYPE rrd [", "line 29: error reading/parsing XML: the document ends too early", ""},
		{"<!-- Round Robin Database Dump -->", "<?xml version='1.0' encoding='koi8-r'?>", "line 1: error reading/parsing XML: Unsupported encoding koi8-r", ""},
	} {
		text := strings.Replace(old, c.was, c.is, 1)
		_, err := rrdfile.ReadXML(strings.NewReader(text), rrdfile.XMLOptions{})
		var x *rrdfile.XMLError
		if !errors.As(err, &x) || x.Error() != c.want {
			t.Errorf("%q for %q: %v, want %s", c.is, c.was, err, c.want)
			continue
		}
		if c.original != "" && x.Original() != c.original {
			t.Errorf("%q for %q: %s, want %s", c.is, c.was, x.Original(), c.original)
		}
	}
	broken := errors.New("broken")
	if _, err := rrdfile.ReadXML(io.MultiReader(strings.NewReader(old[:500]), iotest.ErrReader(broken)), rrdfile.XMLOptions{}); !errors.Is(err, broken) {
		t.Error(err)
	}
	if _, err := rrdfile.ReadXML(iotest.ErrReader(nil), rrdfile.XMLOptions{}); !errors.Is(err, io.ErrNoProgress) {
		t.Error(err)
	}
}

// TestDumpTimes: times follow the zone, whatever they are.
func TestDumpTimes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, name := range []string{"UTC", "Europe/Berlin", "America/Sao_Paulo", "Asia/Kathmandu", "Pacific/Apia", "Antarctica/Troll"} {
		loc, err := time.LoadLocation(name)
		if err != nil {
			t.Skip("no time zone: ", err)
		}
		f := fixed(t, 3600, "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:2000")
		for range 3 {
			f.State.LastUpdate = rra.Seconds(r.Int64N(8e9) - 4e9)
			for _, m := range comment.FindAllStringSubmatch(dump(t, f, loc), -1) {
				var sec int64
				for _, c := range strings.TrimPrefix(m[2], "-") {
					sec = sec*10 + int64(c-'0')
				}
				if m[2][0] == '-' {
					sec = -sec
				}
				if want := time.Unix(sec, 0).In(loc).Format("2006-01-02 15:04:05 MST"); m[1] != want {
					t.Fatalf("%d is %s, want %s", sec, m[1], want)
				}
			}
		}
	}
	// Years are as long as they are.
	f := fixed(t, 86400*366, "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:3000")
	text := dump(t, f, time.UTC)
	for _, year := range []string{"-900", "-7", "7", "900", "2000"} {
		if !strings.Contains(text, "<!-- "+year+"-") {
			t.Errorf("no year %s", year)
		}
	}
}

var comment = regexp.MustCompile(`<!-- ([^/]*) / (-?[0-9]+) -->`)

// TestDumpNumbers: numbers are printed as rrdtool 1.7.2 prints them, which is not always right in
// the last digit.
func TestDumpNumbers(t *testing.T) {
	for _, c := range []struct {
		bits uint64
		want string
	}{
		{0, "0.0000000000e+00"},
		{1 << 63, "0.0000000000e+00"},
		{math.Float64bits(1), "1.0000000000e+00"},
		{math.Float64bits(-10), "-1.0000000000e+01"},
		{math.Float64bits(1e100), "1.0000000000e+100"},
		{math.Float64bits(math.MaxFloat64), "1.7976931349e+308"},
		{math.Float64bits(math.Inf(1)), "inf"},
		{math.Float64bits(math.Inf(-1)), "-inf"},
		{math.Float64bits(math.NaN()), "NaN"},
		{0xfff8_0000_0000_0000, "NaN"},
		// The right ones end in 5, 90, 6, 000e-01 and 4.
		{0x3fddface0d80a564, "4.6843291586e-01"},
		{0x47d2ced32a163a4b, "1.0000000000e+38"},
		{0x3fe7a4c2736cde1f, "7.3886225265e-01"},
		{0x4eacfa698c9499bd, "9.9999999999e+70"},
		{0x42165d5018a20000, "2.4013702697e+10"},
		{0x0006423e5fd2f185, "0.8703882959e-308"},
		{0x0000b0e34e92e2e7, "0.0960909867e-308"},
		{1, "0.0000000000e-308"},
	} {
		f := fixed(t, 10, "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:1")
		f.State.Archives[0].Rows[0] = math.Float64frombits(c.bits)
		if text := dump(t, f, time.UTC); !strings.Contains(text, "<v>"+c.want+"</v>") {
			t.Errorf("%#x is %s, want %s", c.bits, regexp.MustCompile(`<v>.*?</v>`).FindString(text), c.want)
		}
	}
}

// TestHeaders: a header is what rrdtool's option says.
func TestHeaders(t *testing.T) {
	f := readXML(t, old, rrdfile.XMLOptions{})
	for name, want := range map[string]string{
		"dtd":  "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<!DOCTYPE rrd SYSTEM",
		"foo":  "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<!DOCTYPE rrd SYSTEM",
		"xsd":  "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<!-- Round Robin Database Dump -->\n<rrd xmlns=",
		"none": "<!-- Round Robin Database Dump -->\n<rrd>\n\t<version>0003</version>",
	} {
		var b bytes.Buffer
		h, known := rrdfile.ParseHeader(name)
		if known != (name != "foo") {
			t.Errorf("%s: known: %v", name, known)
		}
		if err := f.WriteXML(&b, h, nil); err != nil || !strings.HasPrefix(b.String(), want) {
			t.Errorf("%s: %v, %.200s", name, err, b.String())
		}
		if _, err := rrdfile.ReadXML(&b, rrdfile.XMLOptions{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	full := errors.New("full")
	if err := f.WriteXML(failing{full}, rrdfile.HeaderDTD, nil); !errors.Is(err, full) {
		t.Error(err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
