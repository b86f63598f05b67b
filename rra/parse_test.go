package rra_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/rra"
)

func TestParseDuration(t *testing.T) {
	for _, test := range []struct {
		text    string
		divisor int64
		want    int64
		err     string
	}{
		{"1", 1, 1, ""},
		{"007", 1, 7, ""},
		{"90", 60, 90, ""}, // a bare number is a count
		{"10m", 1, 600, ""},
		{"10m", 60, 10, ""},
		{"1h", 1, 3600, ""},
		{"2d", 86400, 2, ""},
		{"1w", 1, 604800, ""},
		{"1M", 1, 2678400, ""},
		{"1y", 1, 31622400, ""},
		{"10ss", 1, 10, ""}, // what follows a suffix is not looked at
		{"15s", 10, 0, "value would truncate when scaled"},
		{"0", 1, 0, "value must be positive"},
		{"0s", 1, 0, "value must be positive"},
		{"0x10", 1, 0, "value has trailing garbage"},
		{"1S", 1, 0, "value has trailing garbage"},
		{"1.5m", 1, 0, "value has trailing garbage"},
		{"", 1, 0, "value must be (suffixed) positive number"},
		{"-1", 1, 0, "value must be (suffixed) positive number"},
		{"+1", 1, 0, "value must be (suffixed) positive number"},
		{" 1", 1, 0, "value must be (suffixed) positive number"},
		{"9223372036854775807", 1, math.MaxInt64, ""},
		{"9223372036854775808", 1, 0, "duration: value is too large"},
		{"99999999999999999999999", 1, 0, "duration: value is too large"},
		{"99999999999999999y", 1, 0, "duration: value is too large"},
	} {
		got, err := rra.ParseScaled(test.text, test.divisor)
		if got != test.want || text(err) != test.err {
			t.Errorf("%q by %d: got %d, %v, want %d, %q", test.text, test.divisor, got, err, test.want, test.err)
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestParseDefinitionErrors holds texts that rrdtool 1.7.2 gave; [rondo] marks
// what rondo refuses and rrdtool takes.
func TestParseDefinitionErrors(t *testing.T) {
	const ds, rra1 = "DS:a:GAUGE:10:0:1", "RRA:AVERAGE:0.5:1:10"
	for _, test := range []struct{ args, want string }{
		{"", "you must define at least one Round Robin Archive"},
		{ds, "you must define at least one Round Robin Archive"},
		{rra1, "you must define at least one Data Source"},
		{"FOO " + rra1, "can't parse argument 'FOO'"},
		{"DS: " + rra1, "invalid DS format"},
		{"DS::GAUGE:10:0:1", "invalid DS format"},
		{"DS:a.b:GAUGE:10:0:1", "invalid DS format"},
		{"DS:abcdefghijklmnopqrst:GAUGE:10:0:1", "invalid DS format"},
		{"DS:a:gauge:10:0:1", "invalid DS format"},
		{"DS:a:GAUG:10:0:1", "invalid DS type specified (GAUG)"},
		{ds + " " + ds, "Duplicate DS name: a"},
		{"DS:a:GAUGE:10", "failed to parse data source 10: missing separator"},
		{"DS:a:GAUGE:x:0:1", "failed to parse data source x:0:1: value must be (suffixed) positive number"},
		{"DS:a:GAUGE:0:0:1", "failed to parse data source 0:0:1: value must be positive"},
		{"DS:a:GAUGE:10:0", "failed to parse data source 10:0: failed to extract min:max"},
		{"DS:a:GAUGE:10:u:1", "parsing min val - Cannot convert 'u' to float"},
		{"DS:a:GAUGE:10:0:1x", "parsing max val - Converted '1x' to 1.000000, but cannot convert 'x'"},
		{"DS:a:GAUGE:10:1:1", "failed to parse data source 10:1:1: min must be less than max in DS definition"},
		{"DS:a:COMPUTE:b,1,+", "failed to parse computed data source"},
		{ds + " DS:c:COMPUTE:a,1.5,+", "constants must be integers in the interval (-32768, 32767)"},
		{ds + " DS:c:COMPUTE:a,TIME,+", "operators TIME LTIME STEPWIDTH PREV NEW* COUNT TREND TRENDNAN PREDICT PREDICTSIGMA PREDICTPERC are not supported with DS COMPUTE"},
		{ds + " DS:c:COMPUTE:a" + strings.Repeat(",ABS", 19), "Maximum 19 RPN nodes permitted. Got 20 RPN nodes at present."},
		{ds + " DS:c:COMPUTE:a,NOW,+", "expr: operator NOW is not supported with DS COMPUTE: what is stored may not depend on a clock"}, // [rondo]
		{ds + " RRA:", "Expected at least 4 arguments for RRA but got 0"},
		{ds + " RRA:MAX:0.5:1", "Expected at least 4 arguments for RRA but got 3"},
		{ds + " RRA:AVG:0.5:1:1", "Unrecognized consolidation function AVG"},
		{ds + " RRA:MAX:1:1:1", "Invalid xff: must be between 0 and 1"},
		{ds + " RRA:MAX:nan:1:1", "rra[0].xff: NaN is not in [0,1)"}, // [rondo]
		{ds + " RRA:MAX:0.5:0:1", "Invalid step 0: value must be positive"},
		{ds + " RRA:MAX:0.5:15s:1", "Invalid step 15s: value would truncate when scaled"},
		{ds + " RRA:MAX:0.5:1:1x", "Invalid row count 1x: value has trailing garbage"},
		{ds + " RRA:MAX:0.5:1:1:1", "Unexpected extra argument for consolidation function MAX"},
		{ds + " RRA:HWPREDICT:10:0:0.1:5", "Invalid alpha: must be between 0 and 1"},
		{ds + " RRA:HWPREDICT:10:0.1:2:5", "Invalid beta: must be between 0 and 1"},
		{ds + " RRA:HWPREDICT:10:0.1:0.1:11", "Length of seasonal cycle exceeds length of HW prediction array"},
		{ds + " RRA:HWPREDICT:10:0.1:0.1:5:1:1", "Unknown error"},
		{ds + " RRA:HWPREDICT:10:0.1:0.1:0", "rra[0].period: must be positive"},            // [rondo]: rrdtool crashes
		{ds + " RRA:HWPREDICT:10:0.1:0.1:5:7", "rra[0].partner: 6 is not another archive"}, // [rondo]
		{ds + " RRA:SEASONAL:5:0.1:1:foo=1", "Invalid option foo=1"},                       // as rrdtool
		{ds + " RRA:SEASONAL:5:1:1", "Invalid gamma: must be between 0 and 1"},             // as rrdtool
		{ds + " RRA:SEASONAL:5:0.1:1:smoothing-window=2", "Invalid smoothing-window 2.000000: must be between 0 and 1"},
		{ds + " RRA:DEVPREDICT:5:1:2", "Unexpected extra argument for consolidation function DEVPREDICT"},
		{ds + " RRA:FAILURES:5:0:5:1", "Failure threshold is out of range 1, 28"},
		{ds + " RRA:FAILURES:5:7:5:1", "Window length is shorter than the failure threshold"},
		{ds + " RRA:FAILURES:5:7:29:1", "Window length is out of range 1, 28"},
	} {
		d, err := rra.ParseDefinition(10, strings.Fields(test.args))
		if text(err) != test.want || d != nil {
			t.Errorf("%s: got %+v, %q, want %q", test.args, d, text(err), test.want)
		}
	}
}

// TestParseDefinition shows what short forms stand for.
func TestParseDefinition(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{
			"DS:a:GAUGE:10m:U:1e5 RRA:AVERAGE:0.5:5m:1w RRA:MAX:.5:1h:1y",
			"DS:a:GAUGE:600:U:100000 RRA:AVERAGE:0.5:30:2016 RRA:MAX:0.5:360:8784",
		},
		{
			"DS:a=b[2]:COUNTER:20:-inf:1e300 DS:c:COMPUTE:a,8,* RRA:LAST::0:1:10:",
			"DS:a:COUNTER:20:-inf:1e+300 DS:c:COMPUTE:a,8,* RRA:LAST:0:1:10",
		},
		{
			"DS:a:GAUGE:10:U:U RRA:MIN:0.1:1:5 RRA:MHWPREDICT:100:0.1:0.2:50",
			"DS:a:GAUGE:10:U:U RRA:MIN:0.1:1:5 RRA:MHWPREDICT:100:0.1:0.2:100:3 RRA:SEASONAL:50:0.1:2:smoothing-window=0 " +
				"RRA:DEVSEASONAL:50:0.1:2:smoothing-window=0 RRA:DEVPREDICT:100:4 RRA:FAILURES:50:7:9:4",
		},
		{
			"DS:a:GAUGE:10:U:U RRA:HWPREDICT:100:0.1:0.2:50:2 RRA:SEASONAL:50:0.3:1:smoothing-window=0.25",
			"DS:a:GAUGE:10:U:U RRA:HWPREDICT:100:0.1:0.2:100:2 RRA:SEASONAL:50:0.3:1:smoothing-window=0.25",
		},
	} {
		d, err := rra.ParseDefinition(10, strings.Fields(test.args))
		if err != nil {
			t.Errorf("%s: %v", test.args, err)
			continue
		}
		if got := strings.Join(d.Args(), " "); got != test.want {
			t.Errorf("%s:\ngot  %s\nwant %s", test.args, got, test.want)
		}
	}
}

func TestParseMapping(t *testing.T) {
	for _, test := range []struct {
		arg  string
		want rra.Mapping
		ok   bool
	}{
		{"DS:a=b[2]:GAUGE:10:U:U", rra.Mapping{Name: "b", Source: 2}, true},
		{"DS:a=b:GAUGE:10:U:U", rra.Mapping{Name: "b"}, true},
		{"DS:a:GAUGE:10:U:U", rra.Mapping{}, false},
		{"DS:a=b[0]:GAUGE:10:U:U", rra.Mapping{Name: "b", Source: -1}, true},
		{"DS:a=b[99999999999999999999]:GAUGE:10:U:U", rra.Mapping{Name: "b", Source: -1}, true},
		{"nonsense", rra.Mapping{}, false},
	} {
		if got, ok := rra.ParseMapping(test.arg); got != test.want || ok != test.ok {
			t.Errorf("%s: got %+v, %v, want %+v, %v", test.arg, got, ok, test.want, test.ok)
		}
	}
}

// TestPrintExact checks that limits come back that rrdtool could not have read.
func TestPrintExact(t *testing.T) {
	for _, v := range []float64{1.0 / 3, math.Nextafter(1e20, 0), -math.Nextafter(1, 2), math.Nextafter(0.1, 1), math.SmallestNonzeroFloat64, -1.234567890123456e24} {
		s := rra.DataSource{Name: "a", Kind: rra.Gauge, Heartbeat: 10, Min: v, Max: math.NaN()}
		got, err := rra.ParseDataSource(s.String(), 10)
		if err != nil || !sameText(got, s) {
			t.Errorf("%v: printed %s, read back %+v, %v", v, s, got, err)
		}
	}
}

// TestSmoothingWindow holds what scanf makes of the option.
func TestSmoothingWindow(t *testing.T) {
	for _, test := range []struct {
		option string
		want   float64
		err    string
	}{
		{"smoothing-window=0.5", 0.5, ""},
		{"smoothing-window= 0.30000000000000004", 0.30000000000000004, ""},
		{"smoothing-window=0.5e+x", 0.5, ""},
		{"smoothing-window=1e", 1, ""},
		{"smoothing-window=.5", 0.5, ""},
		{"smoothing-window=0x.8", 0.5, ""},
		{"smoothing-window=0x1p-2", 0.25, ""},
		{"smoothing-window=1e-400", 0, ""},
		{"smoothing-window=", math.NaN(), ""},
		{"smoothing", math.NaN(), ""},
		{"smoothing-window=nan", 0, "smoothing-window: is not a number"}, // rrdtool takes it
		{"smoothing-window=-", 0, "Invalid option smoothing-window=-"},
		{"smoothing-window=0xg", 0, "Invalid option smoothing-window=0xg"},
		{"smoothing-window=infinit", 0, "Invalid option smoothing-window=infinit"},
		{"smoothing-window=infx", 0, "Invalid smoothing-window inf: must be between 0 and 1"},
		{"smoothing-windowx", 0, "Invalid option smoothing-windowx"},
	} {
		a, err := rra.ParseArchive("RRA:SEASONAL:5:0.1:1:"+test.option, 10)
		if text(err) != test.err || err == nil && !sameValue(a.SmoothingWindow, test.want) {
			t.Errorf("%s: got %v, %v, want %v, %q", test.option, a.SmoothingWindow, err, test.want, test.err)
		}
	}
}

// FuzzParseDefinition checks that no text does harm and that what is printed is
// read back.
func FuzzParseDefinition(f *testing.F) {
	for _, s := range []string{
		"DS:a:GAUGE:10m:U:1e5 RRA:AVERAGE:0.5:5m:1w",
		"DS:a:GAUGE:10:0:0x1.8p-3 RRA:AVERAGE:0.1e:1:1",                       // rondo's own notation
		"DS:a:DERIVE:1y:-4.759e+18:1.20662e-17 RRA:MAX:0:1:1",                 // a minimum that only fits without a point
		"DS:a:GAUGE:1:U:U DS:c:COMPUTE:a,PREV(a),+ RRA:LAST:0:1:1",            // passes in rrdtool
		"DS:a:GAUGE:1:U:U RRA:HWPREDICT:10:0.1:0.1:5 RRA:MHWPREDICT:9:.2:1:9", // implied archives
		"DS:a:GAUGE:1:U:U RRA:DEVSEASONAL:3:0.1 RRA:SEASONAL:3:0.1:1:smoothing-window=",
		"DS:a:GAUGE:99999999999999999999y:U:U RRA:MAX:0.5:99999999999y:1",
		"RRA:::: DS:a=b[:GAUGE",
	} {
		f.Add(int64(10), s)
	}
	f.Add(int64(0), "DS:a:GAUGE:1:U:U RRA:MAX:0.5:1s:1") // divided by zero
	f.Fuzz(func(t *testing.T, step int64, args string) {
		d, err := rra.ParseDefinition(step, strings.Split(args, " "))
		if err != nil {
			if d != nil {
				t.Errorf("both %+v and %v", d, err)
			}
			return
		}
		var field *rra.FieldError
		if err := d.Validate(); errors.As(err, &field) || err != nil {
			t.Errorf("%+v: %v", d, err)
		}
		again, err := rra.ParseDefinition(step, d.Args())
		if err != nil || !sameText(again, d) {
			t.Errorf("%q: printed %q, read back %+v, %v", args, d.Args(), again, err)
		}
	})
}
