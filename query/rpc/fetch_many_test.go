package rpc_test

import (
	"fmt"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// A page that draws eight charts asked for each series by itself, and for every row of its archive.
func TestFetchManyAnswersEachSelection(t *testing.T) {
	_, url := serve(t)
	c := client(t, url, false)
	create(t, c, "a")
	create(t, c, "b")
	for i := range int64(60) {
		update := fmt.Sprintf("%d:%d:%d", 1699999010+10*i, 100*i, i)
		write(t, c, &rondov1.Sample{Path: "a", Update: update}, &rondov1.Sample{Path: "b", Update: update})
	}
	r, err := c.FetchMany(t.Context(), &rondov1.FetchManyRequest{
		Select: []*rondov1.Selection{
			{Path: "a", Ds: []string{"level"}},
			{Path: "nosuch"},
			{Path: "b", Cf: "MAX"},
			{Path: "a", Cf: "MIDDLE"},
			{Path: "a", Cf: "FAILURES"},
			{Path: "a", Ds: []string{"volume"}},
			{Path: "a", Ds: []string{"level", "in"}},
		},
		Start: "1699999000", End: "1699999600", MaxPoints: 12,
	})
	if err != nil {
		t.Fatal(err)
	}
	got := r.GetResults()
	codes := make([]string, len(got))
	for i, x := range got {
		codes[i] = x.GetCode()
		if (x.GetError() == "") != (x.GetCode() == "") || (x.GetRows() == nil) != (x.GetCode() != "") {
			t.Errorf("result %d: %v", i, x)
		}
	}
	if diff := cmp.Diff([]string{"", "not_found", "", "invalid_argument", "not_found", "not_found", ""}, codes); diff != "" {
		t.Fatalf("codes (-want +got):\n%s", diff)
	}
	if e := got[5].GetError(); e != `"a" has no data source "volume"` {
		t.Errorf("error %q", e)
	}
	level, peak, both := got[0].GetRows(), got[2].GetRows(), got[6].GetRows()
	if len(level.GetColumns()) != 1 || level.GetStep() != 60 || level.GetColumns()[0].GetValues()[1] != 4.5 {
		t.Errorf("means of 6 rows each: %v", level)
	}
	if peak.GetStep() != 60 || len(peak.GetColumns()) != 2 {
		t.Errorf("the archive of a minute: %v", peak)
	}
	if both.GetColumns()[0].GetDs() != "level" || both.GetColumns()[1].GetDs() != "in" {
		t.Errorf("columns in the order asked: %v", both)
	}
	all, err := c.FetchMany(t.Context(), &rondov1.FetchManyRequest{
		Select: []*rondov1.Selection{{Path: "a"}}, Start: "1699999000", End: "1699999599",
	})
	if err != nil {
		t.Fatal(err)
	}
	one, err := c.Fetch(t.Context(), &rondov1.FetchRequest{Path: "a", Start: "1699999000", End: "1699999599"})
	if err != nil {
		t.Fatal(err)
	}
	if rows := all.GetResults()[0].GetRows(); rows.GetStep() != 10 || fmt.Sprint(rows) != fmt.Sprint(one) {
		t.Errorf("without points: %v\nFetch gives %v", rows, one)
	}
}

func TestFetchManyIsBounded(t *testing.T) {
	_, url := serve(t)
	c := client(t, url, false)
	create(t, c, "a")
	many := make([]*rondov1.Selection, 201)
	for i := range many {
		many[i] = &rondov1.Selection{Path: "a"}
	}
	one := many[:1]
	for _, tt := range []struct {
		name string
		m    *rondov1.FetchManyRequest
		want string
	}{
		{"nothing", &rondov1.FetchManyRequest{}, "0 selections, 1 to 200 are possible"},
		{"too many", &rondov1.FetchManyRequest{Select: many}, "201 selections"},
		{"points", &rondov1.FetchManyRequest{Select: one, MaxPoints: 20_001}, "max_points 20001 is not in 0..20000"},
		{"negative points", &rondov1.FetchManyRequest{Select: one, MaxPoints: -1}, "max_points -1"},
		{"resolution", &rondov1.FetchManyRequest{Select: one, Resolution: -1}, "resolution -1 is negative"},
		{"after", &rondov1.FetchManyRequest{Select: one, After: -1}, "after -1 is negative"},
		{"time", &rondov1.FetchManyRequest{Select: one, Start: "soon"}, "start time"},
		{"order", &rondov1.FetchManyRequest{Select: one, Start: "now", End: "-1d"}, "is not before end"},
	} {
		_, err := c.FetchMany(t.Context(), tt.m)
		if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
	r, err := c.FetchMany(t.Context(), &rondov1.FetchManyRequest{Select: one, Start: "1980-01-01", End: "1700000000"})
	if err != nil {
		t.Fatal(err)
	}
	if x := r.GetResults()[0]; x.GetCode() != "resource_exhausted" || !strings.Contains(x.GetError(), "at most 20000 are given of a series") {
		t.Errorf("many years of rows: %.200s", x.String())
	}
	r, err = c.FetchMany(t.Context(), &rondov1.FetchManyRequest{Select: one, Start: "1980-01-01", End: "1700000000", MaxPoints: 10})
	if err != nil {
		t.Fatal(err)
	}
	if x := r.GetResults()[0]; x.GetCode() != "resource_exhausted" || !strings.Contains(x.GetError(), "would be read") {
		t.Errorf("ten rows of many years of rows: %.200s", x.String())
	}
}

// TestFetchManyGivesTheRowsAfterATime: a client that has the rows up to a time is given the others,
// which are the same as in the whole range, rows that are put together included.
func TestFetchManyGivesTheRowsAfterATime(t *testing.T) {
	_, url := serve(t)
	c := client(t, url, false)
	create(t, c, "a")
	var samples []*rondov1.Sample
	for at := int64(1_700_000_010); at <= 1_700_000_600; at += 10 {
		samples = append(samples, &rondov1.Sample{Path: "a", Update: fmt.Sprintf("%d:%d:%d", at, at%70, at/10)})
	}
	if _, err := c.Write(t.Context(), &rondov1.WriteRequest{Samples: samples}); err != nil {
		t.Fatal(err)
	}
	for _, points := range []int32{0, 100, 12} {
		m := &rondov1.FetchManyRequest{Select: []*rondov1.Selection{{Path: "a"}}, Start: "1699999990", End: "1700000600", MaxPoints: points}
		rows := func(after int64) *rondov1.FetchResponse {
			m.After = after
			r, err := c.FetchMany(t.Context(), m)
			if err != nil || r.GetResults()[0].GetError() != "" {
				t.Fatal(err, r.GetResults())
			}
			return r.GetResults()[0].GetRows()
		}
		whole := rows(0)
		n := int64(len(whole.GetColumns()[0].GetValues()))
		for have := range n + 1 {
			at := whole.GetStart() + have*whole.GetStep()
			for _, after := range []int64{at, at + whole.GetStep()/2} {
				got := rows(after)
				if have < n && (got.GetStart() != at || got.GetEnd() != whole.GetEnd()) || got.GetStep() != whole.GetStep() {
					t.Fatalf("%d points after %d: %v", points, after, got)
				}
				for i, column := range got.GetColumns() {
					if want := whole.GetColumns()[i].GetValues()[have:]; fmt.Sprint(column.GetValues()) != fmt.Sprint(want) {
						t.Errorf("%d points after %d: %v, want %v", points, after, column.GetValues(), want)
					}
				}
			}
		}
	}
}
