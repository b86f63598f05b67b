package rpc_test

import (
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

func TestXport(t *testing.T) {
	_, url := serve(t)
	c := client(t, url, false)
	create(t, c, "a")
	write(t, c, &rondov1.Sample{Path: "a", Update: "1699999010:100:1.5"}, &rondov1.Sample{Path: "a", Update: "1699999020:200:2.5"})
	r, err := c.Xport(t.Context(), &rondov1.XportRequest{
		Lines: []string{"DEF:l=a:level:AVERAGE", "CDEF:two=l,2,*", "XPORT:l:plain", `XPORT:two:twice\: it`},
		Start: "1699999000", End: "1699999020", Step: 10,
	})
	if err != nil {
		t.Fatal(err)
	}
	m := r
	if m.GetStart() != 1699999000 || m.GetEnd() != 1699999020 || m.GetStep() != 10 || len(m.GetColumns()) != 2 {
		t.Fatalf("%v", m)
	}
	for i, want := range []*rondov1.XportColumn{{Legend: "plain", Values: []float64{1.5, 2.5}}, {Legend: "twice: it", Values: []float64{3, 5}}} {
		if got := m.GetColumns()[i]; got.GetLegend() != want.GetLegend() || !cmp.Equal(got.GetValues(), want.GetValues(), cmpopts.EquateNaNs()) {
			t.Errorf("column %v, want %v", got, want)
		}
	}
}

func TestXportRefuses(t *testing.T) {
	_, url := serve(t)
	c := client(t, url, false)
	create(t, c, "a")
	line := []string{"DEF:l=a:level:AVERAGE", "XPORT:l"}
	for _, tt := range []struct {
		m    *rondov1.XportRequest
		code connect.Code
		text string
	}{
		{&rondov1.XportRequest{}, connect.CodeInvalidArgument, "0 lines"},
		{&rondov1.XportRequest{Lines: make([]string, 1001)}, connect.CodeInvalidArgument, "1001 lines"},
		{&rondov1.XportRequest{Lines: line[:1]}, connect.CodeInvalidArgument, "no XPORT"},
		{&rondov1.XportRequest{Lines: []string{"DEF:l=a:level:AVERAGE", "CDEF:x=y"}}, connect.CodeInvalidArgument, "lines[1]"},
		{&rondov1.XportRequest{Lines: []string{"DEF:l=nosuch:level:AVERAGE", "XPORT:l"}}, connect.CodeNotFound, "nosuch"},
		{&rondov1.XportRequest{Lines: []string{"DEF:l=a:nosuch:AVERAGE", "XPORT:l"}}, connect.CodeInvalidArgument, "nosuch"},
		{&rondov1.XportRequest{Lines: []string{"DEF:l=/etc/passwd:x:AVERAGE", "XPORT:l"}}, connect.CodeNotFound, "passwd"},
		{&rondov1.XportRequest{Lines: []string{"DEF:l=a:level:AVERAGE:daemon=127.0.0.1\\:1", "XPORT:l"}}, connect.CodeInvalidArgument, "daemon="},
		{&rondov1.XportRequest{Lines: line, MaxRows: 9}, connect.CodeInvalidArgument, "max_rows 9"},
		{&rondov1.XportRequest{Lines: line, Step: -1}, connect.CodeInvalidArgument, "step -1"},
		{&rondov1.XportRequest{Lines: line, Start: "x"}, connect.CodeInvalidArgument, "start"},
		{&rondov1.XportRequest{Lines: line, Start: "0", End: "1000000000"}, connect.CodeInvalidArgument, "start and end"},
		{&rondov1.XportRequest{Lines: line, Start: "400000000", MaxRows: 1 << 40}, connect.CodeResourceExhausted, "at most"},
	} {
		_, err := c.Xport(t.Context(), tt.m)
		if connect.CodeOf(err) != tt.code || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%.100v: %v, want %v with %q", tt.m, err, tt.code, tt.text)
		}
	}
}
