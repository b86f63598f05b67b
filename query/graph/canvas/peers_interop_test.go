package canvas

import (
	"bytes"
	"image"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/internal/rrdtooltest"
)

// The other formats, drawn by programs that read them, look like the PNG.

// output runs a program and returns its output. Poppler only says that a file is wrong.
func output(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(rrdtooltest.Peer(t, name), args...)
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil || bytes.Contains(errors.Bytes(), []byte("Syntax")) {
		t.Fatalf("%s: %v\n%s", cmd, err, errors.Bytes())
	}
	return out
}

// difference returns by how much the channels of two pictures differ on average, and how many of
// the pixels differ by more than half.
func difference(t *testing.T, a, b image.Image) (mean float64, far int) {
	t.Helper()
	if a.Bounds().Size() != b.Bounds().Size() {
		t.Fatalf("the pictures are %v and %v", a.Bounds().Size(), b.Bounds().Size())
	}
	size := a.Bounds().Size()
	sum := 0
	for y := range size.Y {
		for x := range size.X {
			p, q := at(a, x, y), at(b, x, y)
			d := [3]int{int(p.R) - int(q.R), int(p.G) - int(q.G), int(p.B) - int(q.B)}
			most := 0
			for _, v := range d {
				v = max(v, -v)
				sum += v
				most = max(most, v)
			}
			if most > 128 {
				far++
			}
		}
	}
	return float64(sum) / float64(3*size.X*size.Y), far
}

func TestLooksAlike(t *testing.T) {
	rrdtooltest.Need(t, "rsvg-convert", "pdftoppm", "gs")
	for _, drawing := range []struct {
		name string
		draw func(Canvas)
	}{
		{"sample", sample},
		{"steps", func(c Canvas) { typical(c, false) }},
		{"slope", func(c Canvas) { typical(c, true) }},
	} {
		paper := func(c Canvas) {
			c.Fill(rgba(255, 255, 255, 255), []Point{{0, 0}, {481, 0}, {481, 220}, {0, 220}})
			drawing.draw(c)
		}
		want := decoded(t, encoded(t, PNG, 2, paper))
		for _, f := range []Format{SVG, PDF, EPS} {
			dir := t.TempDir()
			in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out.png")
			if err := os.WriteFile(in, encoded(t, f, 2, paper), 0o600); err != nil {
				t.Fatal(err)
			}
			switch f {
			case SVG:
				output(t, "rsvg-convert", "-w", "962", "-h", "440", "-o", out, in)
			case PDF:
				output(t, "pdftoppm", "-r", "72", "-png", "-singlefile", in, strings.TrimSuffix(out, ".png"))
			case EPS:
				output(t, "gs", "-q", "-dBATCH", "-dNOPAUSE", "-dSAFER", "-dEPSCrop", "-sDEVICE=png16m", "-r72",
					"-dTextAlphaBits=4", "-dGraphicsAlphaBits=4", "-sOutputFile="+out, in)
			}
			data, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			keep(t, drawing.name+"-"+string(f)+".png", data)
			mean, far := difference(t, decoded(t, data), want)
			t.Logf("%s, %v: channels differ by %.2f on average, %d pixels by more than half", drawing.name, f, mean, far)
			if mean > 6 || far > 962*440/50 {
				t.Errorf("%s: the %v differs from the PNG by %.2f on average, in %d pixels by more than half", drawing.name, f, mean, far)
			}
		}
	}
}

// TestTextCanBeRead reads the texts of a PDF and of an EPS.
func TestTextCanBeRead(t *testing.T) {
	rrdtooltest.Need(t, "pdftotext", "gs")
	dir := t.TempDir()
	for _, f := range []Format{PDF, EPS} {
		in := filepath.Join(dir, "in")
		if err := os.WriteFile(in, encoded(t, f, 1, sample), 0o600); err != nil {
			t.Fatal(err)
		}
		var text string
		if f == PDF {
			text = string(output(t, "pdftotext", "-layout", in, "-"))
		} else {
			text = string(output(t, "gs", "-q", "-dBATCH", "-dNOPAUSE", "-dSAFER", "-sDEVICE=txtwrite", "-sOutputFile=-", in))
		}
		text = strings.Join(strings.Fields(text), " ")
		for _, want := range []string{"Title of the Thing: gjpqy ÄÖÜ µ", `Hello World quick brown gjpqy 0123456789 ABCDEFG &<>"'`, "π→≤∞ Жя", "日本"} {
			if !strings.Contains(text, want) {
				t.Errorf("the %v lacks %q:\n%s", f, want, text)
			}
		}
	}
}

// TestHostileTextIsRead gives the programs pictures whose texts, titles and names would end a
// string, an element or a comment.
func TestHostileTextIsRead(t *testing.T) {
	rrdtooltest.Need(t, "rsvg-convert", "pdftotext", "gs")
	for _, text := range []string{
		"]]></text><script>alert(1)</script>", "&#0;&bogus;\"'<!--", ") quit (\\", "%%EOF\nendstream endobj", "\x00\x01\x1b[31m\xff\xc0\x80", "\ufeff\ufffe\U0010ffff",
		"\u202eabc\u202c\u2028\u2029", "e\u0301\u0302\u0303", strings.Repeat("x(", 3000), "> ] def quit",
	} {
		for _, f := range []Format{SVG, PDF, EPS} {
			c, err := New(f, 200, 50, 1, Options{Title: text})
			if err != nil {
				t.Fatal(err)
			}
			c.Group(text, text, func() {
				c.Text(Text{At: Point{5, 5}, Font: Font{Size: 8, Family: text}, Color: rgba(0, 0, 0, 255), Runs: Plain(text)})
			})
			c.Text(Text{At: Point{5, 30}, Font: Font{Size: 8}, Color: rgba(0, 0, 0, 128), Runs: []Run{{Text: "the end", Bold: true}}})
			var b bytes.Buffer
			if err := c.Encode(&b); err != nil {
				t.Fatal(err)
			}
			in := filepath.Join(t.TempDir(), "in")
			if err := os.WriteFile(in, b.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			read := "the end"
			switch f {
			case SVG:
				output(t, "rsvg-convert", "-o", in+".png", in)
			case PDF:
				read = string(output(t, "pdftotext", "-raw", in, "-"))
			case EPS:
				read = string(output(t, "gs", "-q", "-dBATCH", "-dNOPAUSE", "-dSAFER", "-sDEVICE=txtwrite", "-sOutputFile=-", in))
			}
			if !strings.Contains(read, "the end") {
				t.Errorf("%.40q: what comes behind it in the %v is lost:\n%.300q", text, f, read)
			}
		}
	}
}
