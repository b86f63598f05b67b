package charts

import (
	"cmp"
	"strings"

	"github.com/rondo-db/rondo/internal/quantity"
)

// A unit is the unit of the values that a line shows, and how stored values become them.
type unit struct {
	text   string
	base   int
	factor float64
	known  bool // the sender gives it, or the name does
}

// suffix returns what is appended to the key of a chart, so that each unit has a chart of its own.
func (u *unit) suffix() string {
	if u.text == "" {
		return ""
	}
	return "@" + strings.ReplaceAll(u.text, "/", " per ")
}

// typeUnits maps collectd's types to their units.
var typeUnits = map[string]string{
	"temperature": "°C", "voltage": "V", "fanspeed": "rpm", "power": "W", "current": "A", "humidity": "%", "percent": "%", "frequency": "Hz",
	"bytes": "B", "duration": "s", "latency": "s", "response_time": "s", "delay": "s", "total_bytes": "B", "cache_size": "B", "file_size": "B",
	"pressure": "hPa", "if_octets": "B", "disk_octets": "B", "total_time_in_ms": "ms", "memory": "B", "df_complex": "B",
}

// UnitOf returns the unit of the rows of a data source, or nothing if it is not known.
func UnitOf(s *Series, ds Source) string {
	_, stem, _ := names(s)
	if s.Metric != "" {
		stem = s.Metric
	}
	u := unitOf(s, stem, ds)
	if u.factor != 1 {
		return s.Unit
	}
	return u.text
}

// unitOf returns the unit of a data source: as its sender says, or by collectd's type.
func unitOf(s *Series, stem string, ds Source) unit {
	u := unit{text: s.Unit, base: 1000, factor: 1, known: s.Unit != ""}
	if !u.known {
		u.text = cmp.Or(typeUnits[stem], quantity.UnitOf(stem))
	}
	switch strings.ToLower(strings.Trim(u.text, " ()")) {
	case "":
		u.text = ""
	case "b", "byte", "bytes":
		u.text, u.base = "B", 1024
	case "kb", "kib", "kbytes":
		u.text, u.base, u.factor = "B", 1024, 1024
	case "mb", "mib", "mbytes":
		u.text, u.base, u.factor = "B", 1024, 1<<20
	case "gb", "gib", "gbytes":
		u.text, u.base, u.factor = "B", 1024, 1<<30
	case "bytes/sec", "bytes/s", "b/s":
		u.text = "B/s"
	case "packets/sec", "packets/s", "/s", "per second":
		u.text = "1/s"
	case "fraction":
		u.text, u.factor = "%", 100
	case "percentage", "percent":
		u.text = "%"
	case "100ns":
		u.text, u.factor = "s", 1e-7
		if ds.Rate { // seconds of each second
			u.text, u.factor = "%", 1e-5
		}
	case "degc":
		u.text = "°C"
	case "none", "config", "events", "count":
		u.text = ""
	}
	if ds.Rate && u.text != "%" && !strings.HasSuffix(u.text, "/s") {
		if u.text == "" {
			u.text = "1"
		}
		u.text += "/s"
		u.base = 1000
	}
	return u
}
