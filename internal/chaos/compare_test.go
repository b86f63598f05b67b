package chaos

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/rondo-db/rondo/internal/localcluster"
)

// compareTime is how long nodes may take until they give the same text. A node may read a replica
// that is a moment behind.
const compareTime = 2 * time.Minute

// same returns the text of a command, which all nodes give.
func (h *harness) same(args ...string) string {
	for deadline := time.Now().Add(compareTime); ; time.Sleep(200 * time.Millisecond) {
		var texts [localcluster.Machines]string
		for i := range texts {
			texts[i] = h.ask(i, args...)
		}
		if texts[0] == texts[1] && texts[1] == texts[2] {
			return texts[0]
		}
		if time.Now().After(deadline) {
			for i := 1; i < len(texts); i++ {
				if texts[i] != texts[0] {
					h.t.Errorf("rondo %v: node %s and node %s differ: %s", args, h.c.Nodes[0].Name, h.c.Nodes[i].Name, difference(texts[0], texts[i]))
				}
			}
			return texts[0]
		}
	}
}

// difference returns the first line in which two texts differ, and how many do.
func difference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	first, n := "", 0
	for i := range max(len(x), len(y)) {
		var p, q string
		if i < len(x) {
			p = x[i]
		}
		if i < len(y) {
			q = y[i]
		}
		if p != q {
			if n++; n == 1 {
				first = fmt.Sprintf("line %d is %q and %q", i+1, p, q)
			}
		}
	}
	return fmt.Sprintf("%s, and %d lines differ", first, n)
}

// compare looks whether every sample that a sender has got acknowledged is in the rows that all
// nodes give, once.
func (h *harness) compare(s *sender) {
	h.t.Helper()
	for _, x := range s.door.series() {
		if s.done < x.first {
			continue
		}
		text := h.same("fetch", x.path, "AVERAGE", "--start", fmt.Sprint(x.start), "--end", fmt.Sprint(x.start+int64(s.done)-1))
		rows := make(map[int64]string)
		for line := range strings.Lines(text) {
			at, value, ok := strings.Cut(strings.TrimSpace(line), ": ")
			if n, err := strconv.ParseInt(at, 10, 64); ok && err == nil {
				rows[n] = value
			}
		}
		wrong := 0
		for n := x.first; n <= s.done; n++ {
			if got, want := rows[x.start+int64(n)], fmt.Sprintf("%.10e", x.row(n)); got != want {
				if wrong++; wrong <= 5 {
					h.t.Errorf("%s: the row of sample %d of %d is %q, want %s", x.path, n, s.done, got, want)
				}
			}
		}
		if wrong > 5 {
			h.t.Errorf("%s: %d rows of %d are wrong", x.path, wrong, s.done)
		}
		h.same("info", x.path)
	}
}

// compareAll looks whether all nodes have the same series.
func (h *harness) compareAll() { h.same("list") }

// check compares the digests of all replicas.
func (h *harness) check() {
	node := h.random.IntN(localcluster.Machines)
	out, err := exec.Command(h.rondo, "cluster", "check", "--daemon", h.c.HTTP[node]).CombinedOutput()
	if err != nil {
		h.t.Errorf("rondo cluster check: %v\n%s", err, out)
	}
	h.logf("rondo cluster check through node %s:\n%s", h.c.Nodes[node].Name, out)
}
