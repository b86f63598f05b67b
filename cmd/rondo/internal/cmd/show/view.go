package show

import (
	"math"
	"strconv"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/table"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// A view is a series with its rows, to be printed.
type view struct {
	*showing
	info     *rondov1.InfoResponse
	location *time.Location
	cf       string
	step     int64
	begin    int64   // where the first row begins
	asked    int64   // the requested seconds a row
	ends     []int64 // the times at which the rows end
	columns  []*rondov1.Column
	scales   []func(float64) string // how values of a column are printed
}

// keep keeps the rows of an answer that lie in the requested range, beginning with the first known
// one.
func (v *view) keep(m *rondov1.FetchResponse, req *rondov1.FetchRequest) {
	v.cf, v.step, v.columns = req.GetCf(), m.GetStep(), m.GetColumns()
	end, _ := strconv.ParseInt(req.GetEnd(), 10, 64) // written by request
	rows := 0
	if len(v.columns) > 0 {
		rows = len(v.columns[0].GetValues())
	}
	ends := func(row int) int64 { return min(m.GetStart()+int64(row+1)*v.step, m.GetEnd()) }
	for rows > 0 && ends(rows-1) > end {
		rows--
	}
	first := 0
	if v.start == "" {
		for first < rows && !v.known(first) {
			first++
		}
	}
	for _, c := range v.columns {
		c.Values = c.GetValues()[first:rows]
	}
	v.begin = m.GetStart() + int64(first)*v.step
	for i := first; i < rows; i++ {
		v.ends = append(v.ends, ends(i))
	}
}

func (v *view) known(row int) bool {
	for _, c := range v.columns {
		if !math.IsNaN(c.GetValues()[row]) {
			return true
		}
	}
	return false
}

// rows prints all rows for a program.
func (v *view) rows() error {
	names := []string{"time"}
	for _, c := range v.columns {
		names = append(names, c.GetDs())
	}
	w := table.New(v.Stdout, v.format, names...)
	for i, end := range v.ends {
		if n := v.showing.rows; n > 0 && i < len(v.ends)-n {
			continue
		}
		row := []any{time.Unix(end, 0).UTC().Format(time.RFC3339)}
		for _, c := range v.columns {
			row = append(row, numberCell(c.GetValues()[i]))
		}
		w.Row(row...)
	}
	return w.Close()
}

// An unknownCell is a value that JSON has no number for. In JSON an unknown value is null and an
// infinite one a text; other formats leave an unknown value empty.
type unknownCell struct{ value float64 }

func (u unknownCell) String() string {
	if math.IsNaN(u.value) {
		return ""
	}
	return strconv.FormatFloat(u.value, 'g', -1, 64)
}

// MarshalJSON writes null, or the text of an infinite value.
func (u unknownCell) MarshalJSON() ([]byte, error) {
	if math.IsNaN(u.value) {
		return []byte("null"), nil
	}
	return []byte(strconv.Quote(u.String())), nil
}
