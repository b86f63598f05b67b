package clusterbench

import (
	"strings"
	"testing"
)

func TestReadLogs(t *testing.T) {
	read := func(last0, messages0, bytes0, last1 string) logStates {
		t.Helper()
		all, err := readLogs(strings.NewReader(`{"account_details":[{"name":"$G","stream_detail":[
			{"name":"rondo-bench-p0","state":{"messages":` + messages0 + `,"bytes":` + bytes0 + `,"first_seq":1,"last_seq":` + last0 + `}},
			{"name":"KV_rondo-bench","state":{"messages":9,"bytes":900,"first_seq":1,"last_seq":` + last0 + `000}},
			{"name":"rondo-bench-p1","state":{"messages":2,"bytes":200,"first_seq":1,"last_seq":` + last1 + `}}]}]}`))
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	before := read("10", "10", "1000", "2")
	if len(before) != 2 {
		t.Fatalf("%d logs, want 2: %v", len(before), before)
	}
	// The first 20 messages were truncated: those that came have the mean size of those kept.
	messages, bytes := read("50", "30", "6000", "2").since(before)
	if messages != 40 || bytes != 8000 {
		t.Errorf("%d messages of %d bytes, want 40 of 8000", messages, bytes)
	}
	if messages, bytes := read("15", "15", "1100", "2").since(before); messages != 5 || bytes != 100 {
		t.Errorf("%d messages of %d bytes, want 5 of 100", messages, bytes)
	}
	for _, page := range []string{"", "{}", `{"account_details":[{"stream_detail":[{"name":"KV_a"}]}]}`, "no JSON"} {
		if all, err := readLogs(strings.NewReader(page)); err == nil {
			t.Errorf("%q was read as %v", page, all)
		}
	}
}
