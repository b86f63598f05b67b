package otlp_test

import (
	"strings"
	"testing"

	"github.com/rondo-db/rondo/receivers/receivertest"
)

// TestNamesThatDiffer: names of metrics without a letter of ASCII became one series, and attributes
// of such names were left out, so that values mixed.
func TestNamesThatDiffer(t *testing.T) {
	rec := new(receivertest.Recorder)
	r := receivertest.Start(t, suite(t), rec, nil)
	n := 0
	for _, name := range []string{"温度", "湿度", "a.温度", "a.湿度", "a", "Größe", "Gräße", "___", "--", "R\u00e4u"} {
		for _, unit := range []string{"s", ""} {
			taken(t, r, gaugeOf(name, unit, 10, 1))
			n++
		}
	}
	for _, as := range [][]string{{"键", "1"}, {"键", "2"}, {"值", "1"}, {"größe", "1"}, {"gräße", "1"}, {"gr_e", "1"}, {"键", "1", "值", "1"}, {"--", "1"}, {`a="1",键`, "1"}} {
		taken(t, r, gaugeOf("with.attributes", "", 10, 1, as...))
		n++
	}
	seen := make(map[string]bool)
	for _, s := range rec.Series() {
		var labels strings.Builder
		for _, l := range s.Labels {
			labels.WriteString(l.Name + "=" + l.Value + ";")
		}
		t.Log(s.Path, labels.String())
		if seen[s.Path] {
			t.Errorf("%s is there twice", s.Path)
		}
		seen[s.Path] = true
	}
	if len(seen) != n {
		t.Errorf("%d names have become %d series", n, len(seen))
	}
}
