package rrdfile_test

import (
	"strings"
	"testing"

	"github.com/rondo-db/rondo/query/rrd/rrdfile"
)

// inJava is a text as Java writes its characters.
func inJava(s string) string { return "\x00" + strings.Join(strings.Split(s, ""), "\x00") }

// TestForeign: what is no file of rrdtool is named for what it is, and what may be one is not.
func TestForeign(t *testing.T) {
	whisper := "\x00\x00\x00\x01\x00\x01\x51\x80\x3f\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x28\x00\x00\x00\x3c\x00\x00\x05\xa0" + strings.Repeat("\x00", 12)
	bolt := strings.Repeat("\x00", 8) + "\x04" + strings.Repeat("\x00", 7) // a page's head
	for content, want := range map[string]string{
		inJava("JRobin, version 0.1"):          "JRobin's: export it as XML",
		inJava("RRD4J, version 0.2"):           "rrd4j's: export it as XML",
		"\x1f\x8b\x08\x00rest":                 "compressed with gzip: unpack it",
		"SQLite format 3\x00\x10":              "a database of SQLite",
		whisper:                                "a file of Whisper: rondo import makes a series of it",
		"\x89PNG\r\n\x1a\n\x00":                "a picture, PNG",
		"\x7fELF\x02\x01":                      "a program or library, ELF",
		"\x85\xbd\x40\xdd\x01":                 "a chunk file of Prometheus",
		"\xba\xaa\xd7\x00\x02":                 "an index of Prometheus",
		bolt + "\xed\xda\x0c\xed\x02\x00":      "a database of bbolt, as rondo's own is",
		strings.Repeat("a", 257) + "ustar\x00": "a tar archive: unpack it",
		"":                                     "empty",
		strings.Repeat("\x00", 512):            "nothing but zeros at its beginning",
		"RRF2\x00!\x01":                        "an unknown file that begins with the bytes 52 52 46 32 00 21 01",
		"corrupt\n":                            "text, but no XML",
		"größe: 5\r\n":                         "text, but no XML",
		"\xe4\xf6\xfc":                         "text, but no XML",
		"RRD\x000003\x00":                      "",
		"RRD\x000009\x00":                      "",
		"<rrd>":                                "",
		"\xef\xbb\xbf\n <?xml?>":               "",
		"\xff\xfe<\x00":                        "",
		"\x00<\x00r":                           "",
		"\n\n":                                 "",
	} {
		if got := rrdfile.Foreign([]byte(content)); got != want {
			t.Errorf("%.30q: %s, want %s", content, got, want)
		}
	}
}
