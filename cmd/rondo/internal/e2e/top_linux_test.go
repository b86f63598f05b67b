package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// manySeries makes a database of twelve series, whose newest values and changes are known.
func manySeries(t *testing.T) (db string) {
	t.Helper()
	db = filepath.Join(t.TempDir(), "d")
	for i := range 12 {
		name := fmt.Sprintf("web%02d/load", i)
		rondoHere(t, db, "create", name, "--start", "1700000000", "--step", "10", "DS:value:GAUGE:20:U:U", "10s for 1h")
		rondoHere(t, db, "update", name, "1700000010:100", fmt.Sprintf("1700000020:%d", 100+(i*5)%12), fmt.Sprintf("%d:%d", 1700000030+10*i, 200-i))
	}
	return db
}

// order returns the names in the table, from the top.
func order(screen string) (names []string) {
	for line := range strings.Lines(screen) {
		if name, _, _ := strings.Cut(strings.TrimSpace(line), " "); strings.HasPrefix(name, "web") {
			names = append(names, name)
		}
	}
	return names
}

// first waits until the table begins with a name.
func (p *ptyProgram) first(name string) {
	p.t.Helper()
	p.shows(name+" on top", func(screen string) bool {
		names := order(screen)
		return len(names) > 0 && names[0] == name
	})
}

// The table is sorted and filtered by keys, follows the size of the terminal and new values, opens
// a plot, and leaves the terminal as it was.
func TestTopOnATerminal(t *testing.T) {
	t.Parallel() // most of it is waiting
	db := manySeries(t)
	p := onTerminal(t, 80, 24, []string{"RONDO_DB=" + db}, "top", "--interval", "100ms")
	p.has("12 series, 12 sources")
	p.press("n")
	p.first("web00/load")
	p.press("n")
	p.first("web11/load")
	p.press("v")
	p.first("web00/load")
	p.press("aa")
	p.first("web11/load")

	p.press("/WEB0 3")
	p.shows("one line", func(screen string) bool { return len(order(screen)) == 1 && strings.Contains(screen, "1 fit") })
	p.press("\r")
	p.has("filter: WEB0 3")
	rondoHere(t, db, "update", "web03/load", "1700000070:777")
	p.has("777")
	p.press("\r")
	p.has("AVERAGE of 30 s")
	p.press("q")
	p.has("filter: WEB0 3")
	p.press("\x1b")
	p.shows("all lines", func(screen string) bool { return len(order(screen)) == 12 })

	p.press("?")
	p.has("any other key closes this help")
	p.press(" ")
	p.press(" ")
	p.has("paused")
	p.press(" ")
	p.setSize(40, 12)
	p.shows("nine lines of 40 cells", func(screen string) bool {
		return len(order(screen)) == 9 && !strings.Contains(screen, "PER SEC") && strings.Count(screen, "\n") == 12
	})
	p.press("G")
	p.shows("the last line", func(screen string) bool { return len(order(screen)) == 9 && order(screen)[8] == "web00/load" })
	p.setSize(200, 60)
	p.shows("all lines again", func(screen string) bool { return len(order(screen)) == 12 && strings.Contains(screen, "PER SEC") })
	rondoHere(t, db, "drop", "web05/load")
	p.has("11 series, 11 sources")
	p.press("q")
	if code := p.end(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
