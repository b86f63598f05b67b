package rrdfile_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/rondo-db/rondo/query/rrd/rrdfile"
)

// readers read the same in different pieces.
var readers = map[string]func(io.Reader) io.Reader{
	"whole": func(r io.Reader) io.Reader { return r },
	"bytes": iotest.OneByteReader,
	"halfs": iotest.HalfReader,
}

// TestNoUTF8: what is no UTF-8 is refused, wherever it stands and however it arrives; what is may
// end anywhere in a piece.
func TestNoUTF8(t *testing.T) {
	plain := dump(t, fixed(t, 10, whole...), time.UTC)
	for _, c := range []struct{ was, is, want string }{
		{"<step>", "<!-- ä€𝄞 --><step>", ""},
		{"<step>", "<!-- \xff --><step>", "line 6: error reading/parsing XML: Input is not proper UTF-8, indicate encoding ! Bytes: 0xFF 0x20 0x2D 0x2D"},
		{"<step>", "<?x \xc0\x80?><step>", "line 6: error reading/parsing XML: Input is not proper UTF-8, indicate encoding ! Bytes: 0xC0 0x80 0x3F 0x3E"},
		{"<step>", "<step a=\"\xe4\">", "line 6: error reading/parsing XML: Input is not proper UTF-8, indicate encoding ! Bytes: 0xE4 0x22 0x3E"},
		{"<step>", "<step>\xed\xa0\x80", "line 6: error reading/parsing XML: Input is not proper UTF-8, indicate encoding ! Bytes: 0xED 0xA0 0x80"},
		{"<step>", "<step>\uffff", "line 6: error reading/parsing XML: PCDATA invalid Char value 65535"},
		{"</rrd>\n", "</rrd>\n<!-- \xe2\x82", "the document ends too early"},
		{"</rrd>\n", "</rrd>\n\xff", "Input is not proper UTF-8, indicate encoding ! Bytes: 0xFF"},
		{"<!DOCTYPE rrd SYSTEM", "<!DOCTYPE rrd [ <!-- ]> ' --> <?x ]> \" ?> <!ELEMENT rrd ANY> ] SYSTEM", ""},
	} {
		text := strings.Replace(plain, c.was, c.is, 1)
		for name, read := range readers {
			_, err := rrdfile.ReadXML(read(strings.NewReader(text)), rrdfile.XMLOptions{})
			if got := fmt.Sprint(err); c.want == "" && err != nil || !strings.Contains(got, c.want) {
				t.Errorf("%q, %s: %v, want %s", c.is, name, err, c.want)
			}
		}
	}
	// A character lies across the end of the buffer somewhere.
	text := strings.Replace(plain, "<rrd>", "<rrd><!-- "+strings.Repeat("€", 100_000)+" -->", 1)
	for i := range 3 {
		shifted := strings.Repeat(" ", i) + text[strings.Index(text, "<rrd>"):]
		if _, err := rrdfile.ReadXML(strings.NewReader(shifted), rrdfile.XMLOptions{}); err != nil {
			t.Error(err)
		}
	}
}

// endless gives a piece of text again and again.
type endless struct {
	head, piece string
	read        int
}

func (e *endless) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		if e.read < len(e.head) {
			k := copy(p[n:], e.head[e.read:])
			n, e.read = n+k, e.read+k
			continue
		}
		k := copy(p[n:], e.piece[(e.read-len(e.head))%len(e.piece):])
		n, e.read = n+k, e.read+k
	}
	return n, nil
}

// TestXMLBounds: a document without an end ends, in little memory, whatever it repeats.
func TestXMLBounds(t *testing.T) {
	const source = "<ds><name>a</name><type>GAUGE</type></ds>"
	for name, c := range map[string]struct {
		endless
		want string
	}{
		"elements":     {endless{head: "<rrd>", piece: "<ds>"}, "Unknown tag: ds"},
		"nested":       {endless{head: "<rrd>", piece: "<a>"}, "parse_tag_rrd: Unknown tag: a"},
		"sources":      {endless{head: "<rrd>", piece: source}, "more than 65536 data sources"},
		"archives":     {endless{head: "<rrd>" + strings.Repeat(source, 64), piece: "<rra><cf>LAST</cf><pdp_per_row>1</pdp_per_row></rra>"}, "more than 16384 archives of 64 data sources"},
		"few archives": {endless{head: "<rrd>" + source, piece: "<rra><cf>LAST</cf><pdp_per_row>1</pdp_per_row></rra>"}, "more than 65536 archives of 1 data sources"},
		"element name": {endless{head: "<rrd><", piece: "x"}, "invalid element name"},
		"entity":       {endless{head: "<rrd><step>&", piece: "x"}, "EntityRef: expecting ';'"},
	} {
		var err error
		n := allocated(func() { _, err = rrdfile.ReadXML(&c.endless, rrdfile.XMLOptions{}) })
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
		if most := uint64(256 << 20); n > most {
			t.Errorf("%s: %d bytes allocated", name, n)
		}
	}
	// Long things that say nothing take no memory.
	text := bytes.Replace([]byte(dump(t, fixed(t, 10, whole...), time.UTC)), []byte("<rrd>"), []byte("<rrd a='"+strings.Repeat("x", 8<<20)+"'><!-- "+strings.Repeat("- ", 8<<20)+"-->"), 1)
	var err error
	n := allocated(func() { _, err = rrdfile.ReadXML(bytes.NewReader(text), rrdfile.XMLOptions{}) })
	if err != nil || n > 4<<20 {
		t.Errorf("%d bytes allocated: %v", n, err)
	}
}
