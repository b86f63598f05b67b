package rrdcached

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/query"
)

// TestRowsThatRepeat: rows with the values of the row before have their text, also where the text
// before was sent already, and where only a column that is not asked for differs.
func TestRowsThatRepeat(t *testing.T) {
	const rows, start, step = 5000, 1_700_000_000, 10
	table := &query.Table{Start: start, End: start + step*rows, Step: step, DS: []string{"a", "b", "c"}}
	some := []float64{0, math.Copysign(0, -1), 1, -1.25e-7, 4.04e8, math.NaN(), math.Float64frombits(unknownBits), math.Inf(1), 0.1}
	picked := []int{2, 0}
	r := rand.New(rand.NewPCG(1, 2))
	var want strings.Builder
	row := []float64{1, 1, 1}
	for i := range rows {
		for j := range row {
			if r.IntN(8) == 0 {
				row[j] = some[r.IntN(len(some))]
			}
		}
		table.Values = append(table.Values, row...)
		fmt.Fprintf(&want, "%d:", start+step*(i+1))
		for _, j := range picked {
			switch v := row[j]; {
			case v != v:
				want.WriteString(" -nan")
			case math.IsInf(v, 1):
				want.WriteString(" inf")
			default:
				fmt.Fprintf(&want, " %.17e", v)
			}
		}
		want.WriteString("\n")
	}
	here, there := net.Pipe()
	got := make(chan string)
	go func() {
		text, _ := io.ReadAll(there) // what is missing shows
		got <- string(text)
	}()
	c := &conn{s: &Server{}, ctx: context.Background(), nc: here, place: &sockets.Place{}, patience: time.Hour}
	c.s.o.WriteTime = time.Hour
	if err := c.textRows(table, picked); err != nil {
		t.Error(err)
	}
	if err := c.flush(); err != nil {
		t.Error(err)
	}
	if err := here.Close(); err != nil {
		t.Error(err)
	}
	if text := <-got; text != want.String() {
		t.Errorf("%d bytes are not the %d that were expected", len(text), want.Len())
	}
}
