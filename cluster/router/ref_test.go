package router_test

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/cluster/router"
)

// The table of docs/design/cluster.md says where the series of a cluster are: it must never change.
func TestPartitionsAreThoseOfThePage(t *testing.T) {
	f, err := os.Open("../../docs/design/cluster.md")
	must(t, err)
	defer func() { _ = f.Close() }()
	rows := 0
	inTable := false
	for lines := bufio.NewScanner(f); lines.Scan(); {
		cells := strings.Split(strings.Trim(lines.Text(), "| "), " | ")
		if inTable = strings.HasPrefix(lines.Text(), "|") && (inTable || cells[0] == "look-up key"); !inTable || len(cells) != 4 {
			continue
		}
		for i, n := range []int{16, 64, 1000} {
			want, err := strconv.Atoi(cells[i+1])
			if err != nil {
				break // the head of the table
			}
			key := strings.Trim(cells[0], "`")
			if got := router.Partition(key, n); got != want {
				t.Errorf("%q is in partition %d of %d, the page says %d", key, got, n, want)
			}
			rows++
		}
	}
	if rows < 12 {
		t.Errorf("the page has %d examples", rows)
	}
}

// Names that differ in little are spread over all partitions.
func TestAlikeNamesAreSpread(t *testing.T) {
	for _, n := range []int{16, 64} {
		counts := make([]int, n)
		const names = 64_000
		for i := range names {
			counts[router.Partition("web/h"+strconv.Itoa(i)+"/cpu-0/cpu-user", n)]++
		}
		for p, c := range counts {
			if mean := names / n; c < mean*8/10 || c > mean*12/10 {
				t.Errorf("partition %d of %d has %d names, the mean is %d", p, n, c, mean)
			}
		}
	}
}
