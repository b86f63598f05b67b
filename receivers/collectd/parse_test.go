package collectd

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/rra"
)

const captures = "../../testdata/captures/collectd"

// manifest is testdata/captures/collectd/manifest.json.
type manifest struct {
	Files []struct {
		File, Sender, Level, Auth string
		Expected                  struct {
			Packets []struct {
				Values        []wantList
				Notifications []wantNote
				Errors        []string
			}
			Series map[string]struct {
				DS, Kinds       []string
				Step, Heartbeat int64
				Samples         int
			}
		}
	}
}

type wantList struct {
	Series, Host, Plugin, Type string
	PluginInstance             string  `json:"plugin_instance"`
	TypeInstance               string  `json:"type_instance"`
	TimeRaw                    string  `json:"time_raw"`
	Interval                   float64 // 0: absent
	DS                         []struct {
		Name, Kind string
		Value      any
	}
}

type wantNote struct {
	Severity, Host, Plugin, Type, Message string
	PluginInstance                        string `json:"plugin_instance"`
	TypeInstance                          string `json:"type_instance"`
	Time                                  float64
}

// TestCaptures decodes every capture at its security level and compares all of it, to the bit.
func TestCaptures(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(captures, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	var m manifest
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	types := StandardTypes()
	for _, f := range m.Files {
		t.Run(fmt.Sprintf("%s/%s/auth=%t", f.File, f.Level, f.Auth != ""), func(t *testing.T) {
			level, err := ParseLevel(f.Level)
			if err != nil {
				t.Fatal(err)
			}
			dec := Decoder{Level: level}
			if f.Auth != "" {
				dec.Users = captureUsers(t)
			}
			samples := make(map[string]int)
			packets := receivertest.Hex(t, filepath.Join(captures, f.File))
			if len(packets) != len(f.Expected.Packets) {
				t.Fatalf("%d packets, want %d", len(packets), len(f.Expected.Packets))
			}
			for i, b := range packets {
				want := f.Expected.Packets[i]
				before := slices.Clone(b)
				var got Packet
				err := dec.Parse(&got, b)
				if !slices.Equal(b, before) {
					t.Fatalf("packet %d: the packet was changed", i)
				}
				var notes []wantNote
				for _, n := range got.Notes {
					notes = append(notes, gotNote(&n))
				}
				if diff := cmp.Diff(noneIfEmpty(want.Notifications), notes); diff != "" {
					t.Errorf("packet %d: notifications (-want +got):\n%s", i, diff)
				}
				if diff := cmp.Diff(noneIfEmpty(want.Errors), classes(got.Dropped, err)); diff != "" {
					t.Errorf("packet %d: errors (-want +got):\n%s%v", i, diff, err)
				}
				if len(got.Lists) != len(want.Values) {
					t.Fatalf("packet %d: %d value lists, want %d (%v)", i, len(got.Lists), len(want.Values), err)
				}
				for j := range got.Lists {
					l := &got.Lists[j]
					checkList(t, fmt.Sprintf("packet %d, list %d", i, j), l, want.Values[j], types)
					path := Identify(&l.Names).Path
					samples[path]++
					if s := f.Expected.Series[path]; samples[path] == 1 && (s.Step != 0) {
						checkDefinition(t, path, types.Define(string(l.Type), l.Kinds, l.Interval, 0), s.DS, s.Kinds, s.Step, s.Heartbeat)
					}
				}
			}
			for path, s := range f.Expected.Series {
				if samples[path] != s.Samples {
					t.Errorf("series %s: %d samples, want %d", path, samples[path], s.Samples)
				}
			}
		})
	}
}

func noneIfEmpty[T any](s []T) []T {
	if len(s) == 0 {
		return nil
	}
	return s
}

func captureUsers(t testing.TB) *Users {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(captures, "auth"))
	if err != nil {
		t.Fatal(err)
	}
	return ParseUsers(string(b))
}

// classes returns the classes of error once each, in order.
func classes(dropped []receivers.Reason, err error) []string {
	if err != nil {
		dropped = append(dropped, receivers.ReasonOf(err))
	}
	var cs []string
	for _, r := range dropped {
		if !slices.Contains(cs, r.String()) {
			cs = append(cs, r.String())
		}
	}
	return cs
}

func gotNote(n *Notification) wantNote {
	severity := map[Severity]string{Failure: "FAILURE", Warning: "WARNING", Okay: "OKAY"}[n.Severity]
	return wantNote{
		Severity: severity, Host: string(n.Host), Plugin: string(n.Plugin), Type: string(n.Type), Message: string(n.Message),
		PluginInstance: string(n.PluginInstance), TypeInstance: string(n.TypeInstance),
		Time: float64(n.Time) / (1 << 30),
	}
}

func checkList(t *testing.T, where string, l *ValueList, want wantList, types Types) {
	t.Helper()
	got := wantList{
		Series: Identify(&l.Names).Path, Host: string(l.Host), Plugin: string(l.Plugin), Type: string(l.Type),
		PluginInstance: string(l.PluginInstance), TypeInstance: string(l.TypeInstance),
		TimeRaw: strconv.FormatUint(uint64(l.Time), 10), Interval: float64(l.Interval) / (1 << 30),
	}
	ds := want.DS
	want.DS = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", where, diff)
	}
	if len(ds) != l.Len() {
		t.Fatalf("%s: %d values, want %d", where, l.Len(), len(ds))
	}
	d := types.Define(string(l.Type), l.Kinds, l.Interval, 0)
	for i, w := range ds {
		var want rra.Value
		switch v := w.Value.(type) {
		case float64:
			want = rra.Float(v)
		case string:
			switch w.Kind {
			case "GAUGE": // NaN, Infinity, -Infinity
				want = rra.Unknown
			case "DERIVE":
				x, err := strconv.ParseInt(v, 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				want = rra.Int(x)
			default:
				x, err := strconv.ParseUint(v, 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				want = rra.Uint(x)
			}
		}
		if got := l.Value(i); got != want {
			t.Errorf("%s: %s value %d is %+v, want %+v (%v)", where, Identify(&l.Names).Path, i, got, want, w.Value)
		}
		if d.Sources[i].Name != w.Name || d.Sources[i].Kind.String() != w.Kind {
			t.Errorf("%s: data source %d is %s %s, want %s %s", where, i, d.Sources[i].Name, d.Sources[i].Kind.String(), w.Name, w.Kind)
		}
	}
}

func checkDefinition(t *testing.T, path string, d *rra.Definition, names, kinds []string, step, heartbeat int64) {
	t.Helper()
	if d.Step != step {
		t.Errorf("%s: step %d, want %d", path, d.Step, step)
	}
	if len(d.Sources) != len(names) {
		t.Fatalf("%s: %d data sources, want %d", path, len(d.Sources), len(names))
	}
	for i, ds := range d.Sources {
		if ds.Name != names[i] || ds.Kind.String() != kinds[i] || ds.Heartbeat != heartbeat {
			t.Errorf("%s: data source %d is %+v, want %s %s, heartbeat %d", path, i, ds, names[i], kinds[i], heartbeat)
		}
	}
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestDecodeErrors(t *testing.T) {
	name := func(part, text string) string {
		return part + fmt.Sprintf("%04x", len(text)+5) + hex.EncodeToString([]byte(text)) + "00"
	}
	ready := name("0000", "h") + name("0002", "p") + name("0004", "gauge") + "0008000c1954fc4000000000"
	value := "0006000f000101" + "000000000000f03f"
	long := func(n int) string { return strings.Repeat("x", n) }
	for _, test := range []struct {
		name   string
		packet string
		lists  int
		want   []string
		offset int
	}{
		{"nothing", "", 0, nil, 0},
		{"padding alone is no packet", "00000000", 0, []string{"malformed"}, 0},
		{"one to three zeros pad", ready + value + "000000", 1, nil, 0},
		{"three bytes that are not zero", ready + value + "000001", 1, []string{"truncated"}, 49},
		{"zeros, then something", ready + value + "0000000001", 1, []string{"malformed"}, 49},
		{"string of no bytes", "00000004", 0, []string{"malformed"}, 0},
		{"text ends at the first NUL", "0000000968003233" + "00" + ready[12:] + value, 1, nil, 0},
		{"name of 127 bytes", ready + name("0005", long(127)) + value, 1, nil, 0},
		{"name of 128 bytes", ready + name("0005", long(128)) + value, 0, []string{"limit"}, 34},
		{"message of 255 bytes", ready + "0101000c0000000000000004" + name("0100", long(255)), 0, nil, 0},
		{"message of 256 bytes", ready + "0101000c0000000000000004" + name("0100", long(256)), 0, []string{"limit"}, 46},
		{"empty message", ready + "0101000c0000000000000004" + name("0100", "") + value, 1, []string{"state"}, 0},
		{"message without time", name("0000", "h") + "0101000c0000000000000004" + name("0100", "x"), 0, []string{"state"}, 0},
		{"seconds of 2^34-1", ready + "0001000c00000003ffffffff" + value, 1, nil, 0},
		{"seconds of 2^34", ready + "0001000c0000000400000000" + value, 0, []string{"malformed"}, 34},
		{"number of 11 bytes", ready + "0008000b1954fc40000000" + value, 0, []string{"malformed"}, 34},
		{"values part without a count", ready + "00060004", 0, []string{"malformed"}, 34},
		{"7282 values in 16 bits are 2 bytes", ready + "00060008" + "1c72" + "0000", 0, []string{"malformed"}, 34},
		{"no host", name("0002", "p") + name("0004", "gauge") + "0008000c1954fc4000000000" + value, 0, []string{"state"}, 0},
		{"no plugin", name("0000", "h") + name("0004", "gauge") + "0008000c1954fc4000000000" + value, 0, []string{"state"}, 0},
		{"no type", name("0000", "h") + name("0002", "p") + "0008000c1954fc4000000000" + value, 0, []string{"state"}, 0},
		{"emptied type, then a good one", ready + name("0004", "") + value + name("0004", "x") + value, 1, []string{"state"}, 0},
		{"signature as short as encryption", "02000010" + "00000000" + "00000000" + "00000000", 0, []string{"malformed"}, 0},
		{"encryption of nothing", "02100004", 0, []string{"malformed"}, 0},
		{"encryption with a user of no bytes", "0210002b0000" + fmt.Sprintf("%074d", 0), 0, []string{"malformed"}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got Packet
			err := new(Decoder).Parse(&got, unhex(t, test.packet))
			if len(got.Lists) != test.lists {
				t.Errorf("%d value lists, want %d", len(got.Lists), test.lists)
			}
			if diff := cmp.Diff(test.want, classes(got.Dropped, err)); diff != "" {
				t.Errorf("errors (-want +got):\n%s%v", diff, err)
			}
			if e, ok := err.(*receivers.Error); ok && e.Offset != test.offset {
				t.Errorf("error at byte %d, want %d: %v", e.Offset, test.offset, err)
			}
		})
	}
}

func TestStamp(t *testing.T) {
	for _, test := range []struct {
		stamp   Stamp
		time    rra.Time
		seconds int64
	}{
		{0, 0, 0},
		{0x1954fc4010000000, 1_700_000_000_250_000, 1_700_000_000},
		{0x1954fc4020000000, 1_700_000_000_500_000, 1_700_000_001},
		{0x1954fc401fffffff, 1_700_000_000_499_999, 1_700_000_000},
		{0x1954fc403fffffff, 1_700_000_000_999_999, 1_700_000_001},
		{math.MaxUint64, 17_179_869_183_999_999, 17_179_869_184},
		{1<<63 | 1<<30 - 1, 8_589_934_592_999_999, 8_589_934_593}, // a float64 makes 593.000000 of it
	} {
		if got := test.stamp.Time(); got != test.time {
			t.Errorf("%#x is %d µs, want %d", uint64(test.stamp), got, test.time)
		}
		if got := test.stamp.Seconds(); got != test.seconds {
			t.Errorf("%#x is %d s, want %d", uint64(test.stamp), got, test.seconds)
		}
	}
	for at := rra.Time(1_700_000_000_000_000); at < 1_700_000_000_002_000; at++ {
		if got := StampOf(at).Time(); got != at {
			t.Fatalf("StampOf(%d) is %d", at, got)
		}
	}
}

func TestDefine(t *testing.T) {
	types := StandardTypes()
	for _, test := range []struct {
		interval        Stamp
		step, heartbeat int64
	}{
		{0, 10, 20},
		{1, 1, 2},
		{1 << 30 / 10, 1, 2},
		{1 << 29, 1, 2},
		{1 << 30, 1, 2},
		{3 << 29, 2, 3},
		{5 << 29, 3, 5},
		{10 << 30, 10, 20},
		{300 << 30, 300, 600},
		{math.MaxUint64, 1 << 34, 1 << 35},
	} {
		d := types.Define("gauge", []byte{KindGauge}, test.interval, 0)
		if d.Step != test.step || d.Sources[0].Heartbeat != test.heartbeat {
			t.Errorf("interval %#x: step %d, heartbeat %d, want %d, %d", uint64(test.interval), d.Step, d.Sources[0].Heartbeat, test.step, test.heartbeat)
		}
	}
	// Seen with collectd 5.12's rrdtool plugin, by interval: rows and PDPs a row.
	for step, want := range map[int64][5][2]int64{
		1:      {{3600, 1}, {1200, 72}, {1200, 504}, {1200, 2232}, {1200, 26352}},
		2:      {{1800, 1}, {1200, 36}, {1200, 252}, {1200, 1116}, {1200, 13176}},
		3:      {{1200, 1}, {1200, 24}, {1200, 168}, {1200, 744}, {1200, 8784}},
		10:     {{1200, 1}, {1235, 7}, {1210, 50}, {1202, 223}, {1201, 2635}},
		60:     {{1200, 1}, {1440, 1}, {1260, 8}, {1207, 37}, {1201, 439}},
		300:    {{1200, 1}, {1200, 1}, {2016, 1}, {1276, 7}, {1212, 87}},
		3600:   {{1200, 1}, {1200, 1}, {1200, 1}, {1200, 1}, {1255, 7}},
		100000: {{1200, 1}, {1200, 1}, {1200, 1}, {1200, 1}, {1200, 1}},
	} {
		as := types.Define("gauge", []byte{KindGauge}, Stamp(step)<<30, 0).Archives
		if len(as) != 15 {
			t.Fatalf("step %d: %d archives, want 15", step, len(as))
		}
		for i, a := range as {
			w := rra.Archive{CF: []rra.CF{rra.Average, rra.Min, rra.Max}[i%3], XFF: 0.1, Rows: want[i/3][0], PDPs: want[i/3][1]}
			if a != w {
				t.Errorf("step %d: archive %d is %+v, want %+v", step, i, a, w)
			}
		}
	}
}
