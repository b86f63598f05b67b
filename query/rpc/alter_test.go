package rpc_test

import (
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// TestAlterKeepsTheHistory: a series could be altered and tuned by commands on its machine only.
func TestAlterKeepsTheHistory(t *testing.T) {
	_, url := serve(t)
	c := client(t, url, false)
	create(t, c, "a")
	write(t, c, &rondov1.Sample{Path: "a", Update: "1699999010:100:1.5"}, &rondov1.Sample{Path: "a", Update: "1699999020:200:2.5"})
	request := &rondov1.AlterRequest{
		Path: "a", AddRra: []string{"RRA:MIN:0.5:1:50"}, DropRra: []int32{1}, DropDs: []string{"in"}, Ds: []string{"DS:new:GAUGE:60:0:100"},
		Rename: []*rondov1.AlterRequest_NewName{{Ds: "level", To: "height"}}, DryRun: true,
	}
	want := &rondov1.Definition{
		Step: 10,
		Ds:   []string{"DS:height:GAUGE:20:U:U", "DS:new:GAUGE:60:0:100"},
		Rra:  []string{"RRA:AVERAGE:0.5:1:100", "RRA:MIN:0.5:1:50"},
	}
	for _, dry := range []bool{true, false} {
		request.DryRun = dry
		r, err := c.Alter(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		if !equalText(r.GetDefinition(), want) || !cmp.Equal(r.GetKnownRows(), []int64{2, 2}) {
			t.Errorf("dry run %v: %v", dry, r)
		}
		info, err := c.Info(t.Context(), &rondov1.InfoRequest{Path: "a"})
		if err != nil {
			t.Fatal(err)
		}
		if changed := equalText(info.GetSeries().GetDefinition(), want); changed == dry {
			t.Errorf("dry run %v: the series is %v", dry, info.GetSeries())
		}
	}
	rows, err := c.Fetch(t.Context(), &rondov1.FetchRequest{Path: "a", Start: "1699999000", End: "1699999019"})
	if err != nil {
		t.Fatal(err)
	}
	if got := rows.GetColumns()[0]; got.GetDs() != "height" || !cmp.Equal(got.GetValues(), []float64{1.5, 2.5}) {
		t.Errorf("the history is %v", got)
	}
}

func equalText(a, b interface{ String() string }) bool {
	spaceless := strings.NewReplacer(" ", "")
	return spaceless.Replace(a.String()) == spaceless.Replace(b.String())
}

// TestTuneIsAllOrNothing: of rrdtool's tune the options before a wrong one are applied. A request
// whose answer is an error changes nothing.
func TestTuneIsAllOrNothing(t *testing.T) {
	_, url := serve(t)
	c := client(t, url, false)
	create(t, c, "-a") // a name that looks like an option
	tune := func(args ...string) (*rondov1.Definition, error) {
		r, err := c.Tune(t.Context(), &rondov1.TuneRequest{Path: "-a", Args: args})
		if err != nil {
			return nil, err
		}
		return r.GetDefinition(), nil
	}
	d, err := tune("--heartbeat", "in:60", "-i", "level:-5", "RRA#0:=50", "DEL:level")
	if err != nil {
		t.Fatal(err)
	}
	want := &rondov1.Definition{Step: 10, Ds: []string{"DS:in:COUNTER:60:0:U"}, Rra: []string{"RRA:AVERAGE:0.5:1:50", "RRA:MAX:0.5:6:60"}}
	if !equalText(d, want) {
		t.Errorf("tuned to %v", d)
	}
	for _, args := range [][]string{
		nil,
		{"--heartbeat", "in:90", "--heartbeat", "nosuch:5"},
		{"--heartbeat", "in:90", "DEL:in"},
		{"-h"},
		{"--nosuch"},
		{"--daemon", "localhost:1"},
		{"--heartbeat", "in:90", "RRA#x:+1"},
	} {
		if _, err := tune(args...); connect.CodeOf(err) != connect.CodeInvalidArgument {
			t.Errorf("%q: %v", args, err)
		}
	}
	info, err := c.Info(t.Context(), &rondov1.InfoRequest{Path: "-a"})
	if err != nil {
		t.Fatal(err)
	}
	if !equalText(info.GetSeries().GetDefinition(), want) {
		t.Errorf("after mistakes: %v", info.GetSeries())
	}
}

// TestTuneTakesNoMemoryForWhatIsTooLarge: rows were made before anything had looked at how many
// there would be: one request took 8 GB for each data source.
func TestTuneTakesNoMemoryForWhatIsTooLarge(t *testing.T) {
	_, url := serve(t)
	c := client(t, url, false)
	create(t, c, "a")
	for _, args := range [][]string{
		{"RRA#0:+1000000000"}, {"RRA#0:=1000000000"}, {"RRA#0:=1000000000", "DELRRA:0"}, {"RRA:LAST:0.5:1:100000000"}, {"RRA#0:+99999999999999999"},
	} {
		_, err := c.Tune(t.Context(), &rondov1.TuneRequest{Path: "a", Args: args})
		if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), "values, at most") {
			t.Errorf("%q: %v", args, err)
		}
	}
}

func TestAlterRefuses(t *testing.T) {
	_, url := serve(t)
	c := client(t, url, false)
	create(t, c, "a")
	for _, tt := range []struct {
		request *rondov1.AlterRequest
		code    connect.Code
		text    string
	}{
		{&rondov1.AlterRequest{}, connect.CodeInvalidArgument, "no path"},
		{&rondov1.AlterRequest{Path: "b"}, connect.CodeNotFound, "no such series"},
		{&rondov1.AlterRequest{Path: "b", DryRun: true}, connect.CodeNotFound, "no such series"},
		{&rondov1.AlterRequest{Path: "a", Step: -1}, connect.CodeInvalidArgument, "step -1"},
		{&rondov1.AlterRequest{Path: "a", Rra: []string{"RRA:LAST:0.5:1:1"}, AddRra: []string{"RRA:MIN:0.5:1:1"}}, connect.CodeInvalidArgument, "add_rra"},
		{&rondov1.AlterRequest{Path: "a", DropRra: []int32{-1}}, connect.CodeInvalidArgument, "drop_rra -1"},
		{&rondov1.AlterRequest{Path: "a", DropRra: []int32{7}}, connect.CodeInvalidArgument, "no archive 7"},
		{&rondov1.AlterRequest{Path: "a", DropDs: []string{"x"}}, connect.CodeInvalidArgument, "'x'"},
		{&rondov1.AlterRequest{Path: "a", Rename: []*rondov1.AlterRequest_NewName{{Ds: "in", To: "a b"}}}, connect.CodeInvalidArgument, "'a b'"},
		{&rondov1.AlterRequest{Path: "a", AddRra: []string{"RRA:MIN:0.5:1:2000000000"}}, connect.CodeInvalidArgument, "at most"},
	} {
		_, err := c.Alter(t.Context(), tt.request)
		if connect.CodeOf(err) != tt.code || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%v: %v, want %v with %q", tt.request, err, tt.code, tt.text)
		}
	}
}
