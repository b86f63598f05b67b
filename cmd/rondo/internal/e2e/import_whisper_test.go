package e2e

import (
	"encoding/binary"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
)

// TestImportWhisper: files of Whisper become the series that the receiver of Graphite feeds, with
// their labels, through a server or without one; others are named for what they are.
func TestImportWhisper(t *testing.T) {
	const begin, last = 1_700_000_040, 1_700_000_100
	data := []byte{0, 0, 0, 1, 0, 0, 0, 0, 0x3f, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 28, 0, 0, 0, 60, 0, 0, 0, 5}
	for i := range 5 {
		at := uint32(0)
		if i < 2 {
			at = uint32(begin + 60*i)
		}
		data = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(data, at), math.Float64bits(float64(i+7)))
	}
	dir := t.TempDir()
	hash := strings.Repeat("0123456789abcdef", 4)
	for name, content := range map[string]string{
		"servers/web-1/load.wsp": string(data), "_tagged/1f3/ab2/disk_DOT_used;host=x;kind=ssd.wsp": string(data),
		"_tagged/012/345/" + hash + ".wsp": string(data), "cut.wsp": string(data[:80]), "picture.rrd": "\x89PNG\r\n\x1a\n\x00\x00",
	} {
		name = filepath.Join(dir, "whisper", name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, served := range []bool{false, true} {
		db := filepath.Join(dir, map[bool]string{false: "alone", true: "served"}[served])
		if served {
			rondotest.StartDefault(t, db)
		}
		got := complain(t, dir, db, "import", "--labels", "site=here", "whisper")
		for _, want := range []string{
			"2 of 5 files imported, 0 skipped, 3 failed\n", "/" + hash + ".wsp: its name is a hash of tags",
			"/cut.wsp: a file of Whisper: archive 0: cut off: it ends at byte 88, the file at 80", "/picture.rrd: not a file of rrdtool; it is a picture, PNG",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("served=%v: import prints\n%s, want %s", served, got, want)
			}
		}
		info := rondotest.Run(t, db, "info", "graphite/disk/used;host=x;kind=ssd")
		for _, want := range []string{`label[__name__] = "disk_used"`, `label[host] = "x"`, `label[kind] = "ssd"`, `label[site] = "here"`} {
			if !strings.Contains(info, want) {
				t.Errorf("served=%v: info prints\n%s, want %s", served, info, want)
			}
		}
		rondotest.Run(t, db, "import", "--prefix", "old", filepath.Join(dir, "whisper/servers/web-1/load.wsp"))
		rondotest.Run(t, db, "info", "old/load")
	}
	// A sender goes on with the series.
	d := rondotest.StartDefault(t, filepath.Join(dir, "alone"), "--graphite=127.0.0.1:0")
	c, err := net.Dial("tcp", d.Listens["graphite"])
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := fmt.Fprintf(c, "servers.web-1.load 9 %d\n", last+60); err != nil {
		t.Fatal(err)
	}
	rondotest.WaitFor(t, "the point that was sent", func() bool {
		return strings.TrimSpace(rondotest.Run(t, d.DB, "last", "graphite/servers/web-1/load")) == fmt.Sprint(last+60)
	})
	rows := rondotest.Run(t, d.DB, "fetch", "graphite/servers/web-1/load", "AVERAGE", "-s", fmt.Sprint(begin-60), "-e", fmt.Sprint(last+60))
	for i, want := range []string{"7.0000000000e+00", "8.0000000000e+00", "9.0000000000e+00"} {
		if line := fmt.Sprintf("%d: %s\n", begin+60*i, want); !strings.Contains(rows, line) {
			t.Errorf("fetch prints\n%s, want %s", rows, line)
		}
	}
}
