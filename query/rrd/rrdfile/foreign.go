package rrdfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
)

// ForeignBytes is how many bytes from the beginning of a file [Foreign] looks at.
const ForeignBytes = 512

// foreign are the beginnings of files that are found under names of rrdtool's files, and what they
// are.
var foreign = []struct{ begin, what string }{
	{"\x00J\x00R\x00o\x00b\x00i\x00n", "JRobin's: export it as XML"},
	{"JRobin", "JRobin's: export it as XML"},
	{"\x00R\x00R\x00D\x004\x00J", "rrd4j's: export it as XML"},
	{"RRD4J", "rrd4j's: export it as XML"},
	{"\x1f\x8b", "compressed with gzip: unpack it"},
	{"BZh", "compressed with bzip2: unpack it"},
	{"\xfd7zXZ\x00", "compressed with xz: unpack it"},
	{"\x28\xb5\x2f\xfd", "compressed with zstd: unpack it"},
	{"PK\x03\x04", "a zip archive: unpack it"},
	{"7z\xbc\xaf\x27\x1c", "a 7z archive: unpack it"},
	{"SQLite format 3\x00", "a database of SQLite"},
	{"whisper_compressed", "go-carbon's, compressed: turn it into one of Whisper"},
	{"\x85\xbd\x40\xdd", "a chunk file of Prometheus"},
	{"\xba\xaa\xd7\x00", "an index of Prometheus"},
	{"\x89PNG\r\n\x1a\n", "a picture, PNG"},
	{"\xff\xd8\xff", "a picture, JPEG"},
	{"GIF8", "a picture, GIF"},
	{"%PDF-", "a document, PDF"},
	{"\x7fELF", "a program or library, ELF"},
}

// Foreign says what a file is that is neither a native file nor XML, from its first ForeignBytes
// bytes, or all bytes of a shorter file. It returns "" if the file may be XML.
func Foreign(head []byte) string {
	for _, f := range foreign {
		if bytes.HasPrefix(head, []byte(f.begin)) {
			return f.what
		}
	}
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	switch {
	case len(head) == 0:
		return "empty"
	case len(bytes.Trim(head, "\x00")) == 0:
		return "nothing but zeros at its beginning"
	case bytes.HasPrefix(head, []byte(magic)):
		return ""
	case IsWhisper(head):
		return "a file of Whisper: rondo import makes a series of it"
	case len(head) > 20 && (string(head[16:20]) == "\xed\xda\x0c\xed" || string(head[16:20]) == "\xed\x0c\xda\xed"):
		return "a database of bbolt, as rondo's own is"
	case len(head) > 262 && string(head[257:262]) == "ustar":
		return "a tar archive: unpack it"
	case len(text) == 0 || text[0] == '<' || isUTF16(head):
		return ""
	case isText(head):
		return "text, but no XML"
	}
	return fmt.Sprintf("an unknown file that begins with the bytes % x", head[:min(len(head), 8)])
}

// isUTF16 reports whether a file is XML in UTF-16.
func isUTF16(head []byte) bool {
	for _, begin := range []string{"\xff\xfe", "\xfe\xff", "<\x00", "\x00<"} {
		if bytes.HasPrefix(head, []byte(begin)) {
			return true
		}
	}
	return false
}

// isText reports whether a file holds no control characters. Its encoding may be any.
func isText(head []byte) bool {
	return !bytes.ContainsFunc(head, func(c rune) bool {
		return c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == 0x7f
	})
}

// IsWhisper reports whether a file begins like one of Graphite's Whisper: a way of aggregation, the
// longest retention, a fraction, a number of archives, and the first archive right behind them.
func IsWhisper(head []byte) bool {
	if len(head) < 28 {
		return false
	}
	word := func(at int) uint32 { return binary.BigEndian.Uint32(head[at:]) }
	kind, fraction, archives := word(0), math.Float32frombits(word(8)), word(12)
	return kind >= 1 && kind <= 8 && fraction >= 0 && fraction <= 1 && archives >= 1 && archives < 1<<10 && word(16) == 16+12*archives && word(20) > 0
}
