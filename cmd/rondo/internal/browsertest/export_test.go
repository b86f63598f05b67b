//go:build !race

package browsertest

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"strings"
	"testing"
)

// catch keeps the files that a page gives to save: their names, and what they hold in base64.
const catch = `(() => {
	window.files = [];
	const blobs = new Map(), make = URL.createObjectURL;
	URL.createObjectURL = (blob) => { const at = make.call(URL, blob); blobs.set(at, blob); return at; };
	HTMLAnchorElement.prototype.click = function () {
		const reader = new FileReader(), name = this.download;
		reader.onload = () => window.files.push({Name: name, Data: reader.result.split(',')[1]});
		reader.readAsDataURL(blobs.get(this.href));
	};
	return true;
})()`

// TestChartsAreSaved: the menu of a chart gives what is seen as PNG, SVG and CSV, on the page of a
// host, of a series and of a dashboard's graph.
func TestChartsAreSaved(t *testing.T) {
	s := hosting(t)
	for _, path := range []string{"/host/collectd/web01?from=-1d", "/series/collectd/web01/load/load?from=-1d"} {
		x := newTab(t, s.url)
		x.open(path)
		x.charts(1)
		eval[bool](x, catch)
		type file struct {
			Name string
			Data []byte
		}
		for i, kind := range []string{"PNG", "SVG", "CSV"} {
			x.click(`.chart [aria-haspopup="menu"]`)
			x.wait("the menu is open", `document.querySelector('[role=menu]:popover-open')`)
			if i == 0 {
				x.keep("chart-menu")
			}
			eval[bool](x, `[...document.querySelectorAll('[role=menuitem]')].find(e => e.textContent === `+quote(kind)+`).click() || true`)
			x.wait("the file "+kind, "window.files.length > 0")
			f := eval[file](x, "window.files.pop()")
			if want := "collectd_web01"; !strings.HasSuffix(f.Name, "."+strings.ToLower(kind)) || !strings.HasPrefix(f.Name, want) && !strings.HasPrefix(f.Name, "load") {
				t.Errorf("%s: the file is called %q", path, f.Name)
			}
			checkFile(t, kind, f.Data)
		}
		if n := eval[int](x, "document.querySelectorAll('[role=menu]').length"); n > 0 {
			t.Errorf("%s: %d menus stay", path, n)
		}
	}
}

// checkFile fails unless a file of a chart is of its kind, and has more than a frame.
func checkFile(t *testing.T, kind string, data []byte) {
	t.Helper()
	switch kind {
	case "PNG":
		if p, err := png.DecodeConfig(bytes.NewReader(data)); err != nil || p.Width < 1200 || p.Height < 400 {
			t.Errorf("PNG of %d bytes: %+v, %v", len(data), p, err)
		}
	case "SVG":
		if !bytes.Contains(data, []byte("Europe/Berlin")) || !bytes.Contains(data, []byte(">max</text>")) {
			t.Errorf("SVG without the zone or the legend: %.300s", data)
		}
		for d := xml.NewDecoder(bytes.NewReader(data)); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("SVG: %v", err)
			}
		}
	case "CSV":
		if lines := bytes.Count(data, []byte("\r\n")); lines < 100 || !bytes.HasPrefix(data, []byte("time,seconds,")) {
			t.Errorf("CSV of %d lines: %.200s", lines, data)
		}
	}
}
