package influx_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers/influx"
)

// TestIdentify: paths are made of measurement, tags and field, and labels as Prometheus has them.
func TestIdentify(t *testing.T) {
	for _, tt := range []struct {
		key, field, path string
		labels           []core.Label
	}{
		{"a", "b", "influx/a/b", []core.Label{{Name: "__name__", Value: "a_b"}}},
		{"a", "value", "influx/a/value", []core.Label{{Name: "__name__", Value: "a"}}},
		{"a,z=1,b=2", "c", "influx/a/b=2,z=1/c", []core.Label{
			{Name: "__name__", Value: "a_c"}, {Name: "b", Value: "2"}, {Name: "z", Value: "1"},
		}},
		{`my\ m,a-b=1,a.b=2,__name__=x,1=y`, "c d", `influx/my m/1=y,__name__=x,a-b=1,a.b=2/c d`, []core.Label{
			{Name: "__name__", Value: "my_m_c_d"}, {Name: "_1", Value: "y"}, {Name: "tag__name__", Value: "x"}, {Name: "a_b", Value: "1;2"},
		}},
		{`a,b=c\,d\=e`, "f", `influx/a/b=c\,d\=e/f`, []core.Label{{Name: "__name__", Value: "a_f"}, {Name: "b", Value: "c,d=e"}}},
	} {
		k, err := influx.ParseKey([]byte(tt.key))
		if err != nil {
			t.Errorf("%s: %v", tt.key, err)
			continue
		}
		id := influx.Identify(k, tt.field)
		if diff := cmp.Diff(tt.labels, id.Labels); diff != "" || id.Path != tt.path {
			t.Errorf("%s: path %s, want %s; labels (-want +got):\n%s", tt.key, id.Path, tt.path, diff)
		}
	}
}

// TestPathsDiffer: series that differ have different paths, whatever is in their names, and no path
// is long.
func TestPathsDiffer(t *testing.T) {
	long := strings.Repeat("x", 1000)
	seen := make(map[string]string)
	for _, tt := range [][2]string{
		{"a", "b"},
		{"a/b", "c"},
		{"a_b", "c"},
		{"a,b=c", "d"},
		{"a", "b=c/d"},
		{"a", "b=c_d"},
		{`a,b=c\,d\=e`, "f"},
		{"a,b=c,d=e", "f"},
		{"a", "b.rrd"},
		{"a", "."},
		{"a", ".."},
		{"a", "_"},
		{".", "b"},
		{"_", "b"},
		{"a", "b\xff"},
		{"a,host=\xff", "b"},
		{"a,host=\xfe", "b"},
		{"a\xff", "b"},
		{"a", "b\uFFFD"},
		{"a", "b\x01"},
		{"a,b=" + long, "c"},
		{"a,b=" + long, "d"},
		{"a,b=" + long + "x", "c"},
		{"a,b=" + long + ",c=" + long, "c"},
		{"a", strings.Repeat("µ", 600)},
	} {
		k, err := influx.ParseKey([]byte(tt[0]))
		if err != nil {
			t.Fatal(err)
		}
		path := influx.Identify(k, tt[1]).Path
		if other := seen[path]; other != "" {
			t.Errorf("%.40q and %.40q have the path %s", tt, other, path)
		}
		seen[path] = tt[0] + " " + tt[1]
		if len(path) > 1024 {
			t.Errorf("%.40q: a path of %d bytes", tt, len(path))
		}
	}
}

// TestParseKey: what is wrong with a key is reported in InfluxDB's words.
func TestParseKey(t *testing.T) {
	for key, want := range map[string]string{
		",a=b": "missing measurement", "a,": "missing tag key", "a,b": "missing tag value", "a,=b": "missing tag key", "a,b=": "missing tag value",
		"a,b=c,b=d": "duplicate tags", "a,b=c=d": "invalid tag format", "a,b=c,": "missing tag key",
		"a" + strings.Repeat(",b=c", influx.MaxTags+1):         "too many tags",
		strings.Repeat("a", influx.MaxName+1):                  "measurement is too long",
		"a,b=" + strings.Repeat("c", influx.MaxTagValue+1):     "tag is too long",
		"a," + strings.Repeat("b", influx.MaxTagName+1) + "=c": "tag is too long",
	} {
		if _, err := influx.ParseKey([]byte(key)); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%.40q: %v, want %s", key, err, want)
		}
	}
}
