package remotewrite

import "strings"

// A kind is the type of a metric, with its number in both messages.
type kind uint8

const (
	kindUnknown kind = iota
	kindCounter
	kindGauge
	kindHistogram
	kindGaugeHistogram
	kindSummary
	kindInfo
	kindStateset
	kinds
)

// kindOf returns the type with a number, which may be none that is known.
func kindOf(number uint64) kind { return kind(min(number, uint64(kinds))) }

// String returns the type as it stands in metadata.
func (k kind) String() string {
	if k >= kinds {
		return "unknown"
	}
	return [...]string{"unknown", "counter", "gauge", "histogram", "gaugehistogram", "summary", "info", "stateset"}[k]
}

// counts reports whether the series name counts. k is the type of its family.
func (k kind) counts(name string) bool {
	switch k {
	case kindCounter:
		return true
	case kindGauge, kindGaugeHistogram, kindInfo, kindStateset:
		return false
	case kindHistogram:
		return hasSuffix(name, "_bucket", "_count", "_sum")
	case kindSummary:
		return hasSuffix(name, "_count", "_sum")
	}
	return hasSuffix(name, "_total", "_sum", "_count", "_bucket")
}

func hasSuffix(name string, suffixes ...string) bool {
	for _, s := range suffixes {
		if strings.HasSuffix(name, s) {
			return true
		}
	}
	return false
}

// familySuffixes are what names of series have behind the name of their family, by its type.
var familySuffixes = []struct {
	text  string
	kinds []kind
}{
	{"", nil}, // all
	{"_total", []kind{kindCounter}},
	{"_bucket", []kind{kindHistogram, kindGaugeHistogram}},
	{"_count", []kind{kindHistogram, kindSummary}},
	{"_sum", []kind{kindHistogram, kindSummary}},
	{"_gcount", []kind{kindGaugeHistogram}},
	{"_gsum", []kind{kindGaugeHistogram}},
	{"_info", []kind{kindInfo}},
}
