package rrdfile_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"regexp"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/query/rrd/rrdfile"
)

// allocated returns how many bytes fn allocates; other goroutines of the test count, too.
func allocated(fn func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// FuzzDecode: no native file crashes the decoder, makes it allocate out of proportion, or is
// another file after it was written again.
func FuzzDecode(f *testing.F) {
	raw := binaryOf(f, fixed(f, 10, whole...))
	f.Add(raw)
	for _, m := range machines {
		f.Add(translate(raw, m, raw[7]))
		f.Add(translate(raw, m, '1'))
	}
	f.Add(raw[:len(raw)-8])                                                // a value is missing
	f.Add(binaryOf(f, sample(f, rand.New(rand.NewPCG(1, 2)))))             // other kinds and CFs
	f.Add(append(bytes.Clone(raw[:24]), bytes.Repeat([]byte{1}, 2000)...)) // large counts
	f.Fuzz(func(t *testing.T, b []byte) {
		n := allocated(func() { _, _ = rrdfile.Decode(b) }) // any outcome is fine
		if most := uint64(8*len(b) + 64<<10); n > most {
			t.Errorf("decoding %d bytes allocated %d, more than %d", len(b), n, most)
		}
		use(t, b)
	})
}

var numberAtEnd = regexp.MustCompile(`,-?[0-9]+ </cdef>`)

// FuzzReadXML: no dump crashes the reader, makes it allocate out of proportion, or is another after
// it was dumped again.
func FuzzReadXML(f *testing.F) {
	f.Add([]byte(old))
	for i := range uint64(4) {
		f.Add([]byte(dump(f, sample(f, rand.New(rand.NewPCG(3, i))), time.UTC)))
	}
	f.Add([]byte("<rrd>" + string(bytes.Repeat([]byte("<ds>"), 100))))                    // deep
	f.Add([]byte("<rrd>" + string(bytes.Repeat([]byte("<rra></rra>"), 300))))             // many
	f.Add([]byte("<rrd><!--" + string(bytes.Repeat([]byte("-"), 70_000)) + "-->"))        // a comment longer than the buffer
	f.Add([]byte("<rrd><step>" + string(bytes.Repeat([]byte("1 "), 40_000)) + "</step>")) // a text longer than the buffer
	f.Add([]byte("\xff\xfe<\x00r\x00\x00\xd8x\x00"))                                      // half a surrogate
	f.Fuzz(checkXML)
}

// checkXML reads a dump that may be anything.
func checkXML(t *testing.T, b []byte) {
	t.Helper()
	var file *rrdfile.File
	var err error
	n := allocated(func() { file, err = rrdfile.ReadXML(bytes.NewReader(b), rrdfile.XMLOptions{WholeHistory: true}) })
	if most := uint64(100*len(b) + 256<<10); n > most {
		t.Errorf("reading %d bytes allocated %d, more than %d", len(b), n, most)
	}
	if err != nil {
		var x *rrdfile.XMLError
		if !errors.As(err, &x) || x.Line < 1 || x.Line > bytes.Count(b, []byte("\n"))+1 || x.Original() == "" {
			t.Errorf("%T %[1]v", err)
		}
		return
	}
	if raw, err := file.AppendBinary(nil); err == nil {
		use(t, raw)
	}
	var once, twice bytes.Buffer
	if err := file.WriteXML(&once, rrdfile.HeaderDTD, time.UTC); err != nil {
		return // a name is too long, say
	}
	again, err := rrdfile.ReadXML(bytes.NewReader(once.Bytes()), rrdfile.XMLOptions{WholeHistory: true})
	if err != nil {
		// What is printed is not escaped, as rrdtool's is not, and neither reads an expression that
		// ends with a number and has lost the comma behind it.
		if !bytes.ContainsAny(b, "&") && !numberAtEnd.Match(once.Bytes()) {
			t.Errorf("dumped again: %v\n%s", err, once.Bytes())
		}
		return
	}
	// The first dump rounds; and a name that is an operator makes another expression.
	if err := again.WriteXML(&twice, rrdfile.HeaderDTD, time.UTC); err != nil {
		t.Error(err)
	}
}

// TestEdited: FuzzReadXML's promises hold for dumps with pieces that were cut, doubled or changed.
func TestEdited(t *testing.T) {
	r := seedtest.Rand(t)
	texts := []string{old, dump(t, sample(t, rand.New(rand.NewPCG(1, 2))), time.UTC)[:2000], dump(t, fixed(t, 10, whole...), time.UTC)}
	for range 1500 {
		text := []byte(pick(r, texts...))
		for range 1 + r.IntN(3) {
			at := r.IntN(len(text))
			end := min(at+1+r.IntN(30), len(text))
			switch r.IntN(4) {
			case 0:
				text = slices.Delete(text, at, end)
			case 1:
				text = slices.Insert(text, at, text[at:end]...)
			case 2:
				text[at] = pick(r, byte(r.Uint32()), '<', '>', '/', '&', ';', '!', '-', '"', ' ', '0')
			case 3:
				text = slices.Insert(text, at, []byte(pick(r, "<ds>", "</ds>", "<v>", "</v>", "<rra>", "<!--", "-->", "<![CDATA[", "<?", "<!X[", "&#", "&#xD800;", "&amp;", "/>"))...)
			}
		}
		checkXML(t, text)
	}
}
