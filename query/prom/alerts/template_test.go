package alerts

import (
	"context"
	"fmt"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/timestamp"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/template"
)

// found answers the queries of templates with n samples.
func found(_ context.Context, expr string, _ time.Time) (promql.Vector, error) {
	n := 3
	if _, err := fmt.Sscan(expr, &n); err != nil {
		n = 3
	}
	var v promql.Vector
	for i := range n {
		v = append(v, promql.Sample{F: float64(i) / 3, Metric: labels.FromStrings("host", fmt.Sprint("h", i), "__value__", "x")})
	}
	return v, nil
}

var templateSample = promql.Sample{F: 1234.5, Metric: labels.FromStrings("__name__", "m", "host", `a"<b>&c`, "instance", "x.example.com:9100")}

// TestTemplatesAreBounded: a text that is doubled or a loop without end took all memory, or all time.
func TestTemplatesAreBounded(t *testing.T) {
	long := `{{ $x := printf "%60000d" 1 }}`
	for name, c := range map[string]struct{ text, want string }{
		"doubled":             {long + strings.Repeat(`{{ $x = printf "%s%s" $x $x }}`, 30) + "{{ $x }}", "more than 65536 bytes"},
		"doubled by print":    {long + strings.Repeat(`{{ $x = print $x $x }}`, 30), "more than 65536 bytes"},
		"doubled by println":  {long + strings.Repeat(`{{ $x = println $x $x }}`, 30), "more than 65536 bytes"},
		"doubled by an index": {`{{ $x := "ab" }}` + strings.Repeat(`{{ $x = printf "%[1]s%[1]s" $x }}`, 40), "more than 65536 bytes"},
		"escaped":             {`{{ $x := "\\\\" }}` + strings.Repeat(`{{ $x = js $x }}`, 60), "more than 65536 bytes"},
		"escaped for an URL":  {`{{ $x := "%%%" }}` + strings.Repeat(`{{ $x = printf "%s%s" (urlquery $x) (urlQueryEscape $x) }}`, 60), "more than 65536 bytes"},
		"upper case":          {long + strings.Repeat(`{{ $x = print (toUpper $x) (toLower $x) }}`, 30), "more than 65536 bytes"},
		"replaced":            {`{{ $x := "aaaaaaaaaa" }}` + strings.Repeat(`{{ $x = reReplaceAll "a" "aaaaaaaaaa" $x }}`, 30), "more than 65536 bytes"},
		"a slow expression":   {`{{ $x := printf "%60000d" 1 }}{{ reReplaceAll "(.*a){900}" "" $x }}`, "takes too long"},
		"a large expression":  {`{{ reReplaceAll "((abcdefghijklmnopqrstuvwxyz){31}){32}(abcdefghijklmnopqrstuvwxyz){999}((abcdefghijklmnopqrstuvwxyz){31}){32}((abcdefghijklmnopqrstuvwxyz){31}){32}" "" "x" }}`, "instructions, at most"},
		"wide":                {`{{ printf "%999999d" 1 }}`, "more than 65536 bytes"},
		"many wide ones":      {`{{ printf "` + strings.Repeat("%9999d", 3000) + `" 1 }}`, "more than 65536 bytes"},
		"a width as argument": {`{{ printf "%*d" 900000 1 }}`, "no width"},
		"many verbs":          {long + `{{ printf "` + strings.Repeat("%[1]s", 5000) + `" $x }}`, "more than 65536 bytes"},
		"a loop of nothing":   {`{{ range 9000000000000000000 }}{{ end }}`, "more than 50000 steps"},
		"loops in loops":      {`{{ range query "1000" }}{{ range query "1000" }}{{ range query "1000" }}{{ end }}{{ end }}{{ end }}`, "more than 50000 steps"},
		"a loop of text":      {`{{ range 60000 }}some text of some length{{ end }}`, "more than 65536 bytes"},
		"a loop of values":    {long + `{{ range 60000 }}{{ $x }}{{ end }}`, "more than 65536 bytes"},
		"a recursion":         {`{{ define "a" }}{{ template "a" }}{{ end }}{{ template "a" }}`, "inside of each other"},
		"a large answer":      {`{{ query "20000" | len }}`, "20000 samples, a template may have 10000"},
	} {
		e := &expander{query: found, at: time.Now()}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got := e.expand(t.Context(), "A", c.text, templateSample)
		runtime.ReadMemStats(&after)
		if !strings.HasPrefix(got, "<error expanding template: ") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %.300s, want %q", name, got, c.want)
		}
		if made := after.TotalAlloc - before.TotalAlloc; made > 256<<20 {
			t.Errorf("%s: %d MB were allocated", name, made>>20)
		}
	}
}

// TestTemplatesOfARuleHaveABudget: so do all texts of one evaluation together.
func TestTemplatesOfARuleHaveABudget(t *testing.T) {
	e := &expander{query: found, at: time.Now()}
	got := ""
	for range 300 {
		got = e.expand(t.Context(), "A", `{{ printf "%60000d" 1 }}`, templateSample)
	}
	if !strings.Contains(got, "more than 16777216 bytes") || e.texts > maxTexts+1<<20 {
		t.Errorf("%.100s, %d bytes", got, e.texts)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := (&expander{query: found}).expand(ctx, "A", "{{ $value }}", templateSample); !strings.Contains(got, "take longer than 30s") {
		t.Error(got)
	}
}

// TestTemplatesAreExpandedAsByPrometheus compares texts with Prometheus' own.
func TestTemplatesAreExpandedAsByPrometheus(t *testing.T) {
	external, err := url.Parse("http://me:9090/rondo")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Unix(1_700_000_000, 0)
	for _, text := range []string{
		"", "plain", "{{ $value }}", "{ {{- $value -}} }", "a {{/* remark */}} b", "{{ \"{{\" }}", "per cent 100% 5000000",
		"{{ $labels.host }} is {{ $value | humanize }} of {{ .Labels.instance | stripPort }} {{ $labels.absent }}.",
		`{{ with query "3" }}{{ . | first | value | humanizePercentage }}{{ end }}`, `{{ query "3" | first | label "host" }}`,
		`{{ range $i, $x := query "3" }}{{ if $i }}, {{ end }}{{ .Labels.host }}={{ .Value }}{{ else }}none{{ end }}`,
		`{{ range query "0" }}x{{ else }}none{{ end }}`, `{{ range sortByLabel "host" (query "12") }}{{ if eq .Labels.host "h3" }}{{ continue }}{{ end }}{{ if eq .Labels.host "h7" }}{{ break }}{{ end }}{{ .Labels.host }} {{ end }}`,
		`{{ define "t" }}<{{ .arg0 }}|{{ .arg1 }}>{{ end }}{{ template "t" (args 1 "b") }}{{ template "t" (args 2 nil) }}`,
		`{{ define "t" }}{{ .arg7 }}{{ end }}{{ template "t" (args 1) }}`, `{{ block "b" $value }}[{{ . }}]{{ end }}`,
		`{{ if and (gt $value 5.0) (not false) }}big{{ else if true }}x{{ else }}small{{ end }}`, `{{ with $x := 3 }}{{ $x }}{{ else }}{{ end }}`,
		`{{ $x := 1 }}{{ $x = 2 }}{{ $x }}`, "{{ printf \"%5.2f|%-8s|%q|%v|100%%\" $value \"a\" `b` true }}", `{{ print 1 2 "a" "b" }}`, `{{ println "a" }}`,
		`{{ html $labels.host }} {{ js $labels.host }} {{ urlquery $labels.host }} {{ $labels.host | safeHtml }}`,
		`{{ toUpper "a" }}{{ toLower "B" }}{{ title "c d" }}{{ urlQueryEscape "a b&" }}`, `{{ reReplaceAll "(.*)\\.com:.*" "$1/$1" $labels.instance }}{{ match "a.c" "abc" }}`,
		`{{ graphLink "up" }} {{ tableLink "up" }} {{ externalURL }} {{ pathPrefix }}`, `{{ humanizeDuration 3601 }} {{ humanize1024 2048.0 }} {{ humanizeTimestamp 1 }}`,
		`{{ toTime 1700000000 }} {{ (toTime 1700000000).Year }} {{ toDuration 3 }} {{ now }} {{ parseDuration "1m" }}`, `{{ $labels }} {{ len $labels }} {{ index $labels "host" }} {{ .Value }}`,
		`{{ query "2" }}`[:0], `{{ range $k, $v := $labels }}{{ $k }}={{ $v }};{{ end }}`, `{{ range 3 }}{{ . }}{{ end }}`, "{{ `a\nb` }}\n\t{{ 'x' }} {{ 0x10 }} {{ 1.5e3 }}", `{{ true | not }}{{ (index (query "3") 1).Value }}`,
		`{{ range $i, $x := query "40" }}{{ $v := .Value }}{{ humanize $v }} {{ humanize1024 $v }} {{ humanizeDuration $v }}{{ end }}{{ humanize "1e9" }}`,
		`{{ humanize 0.0 }} {{ humanize -0.00012 }} {{ humanize 1e30 }} {{ humanize 1e-30 }} {{ humanize "NaN" }} {{ humanize "-Inf" }} {{ humanize1024 "NaN" }} {{ humanize1024 "Inf" }} {{ humanize1024 -5e6 }} {{ humanize1024 1e30 }} {{ humanize1024 1 }}`,
		`{{ stripDomain "a.b.c:80" }} {{ stripDomain "a.b" }} {{ stripDomain "1.2.3.4:5" }} {{ stripDomain "[::1]:5" }} {{ stripPort "a" }} {{ stripPort "[::1]:80" }} {{ title "don't stop o_o x.y" }}`,
		`{{ strvalue (query "1" | first) }} {{ (toDuration 90).Minutes }} {{ (toTime 1700000000).Format "2006-01-02" }} {{ safeHtml "<b>" }} {{ args 1 | len }} {{ parseDuration "-1h" }} {{ toTime "12.5" }}`,
	} {
		const begin = "{{$labels := .Labels}}{{$externalLabels := .ExternalLabels}}{{$externalURL := .ExternalURL}}{{$value := .Value}}"
		data := template.AlertTemplateData(templateSample.Metric.Map(), nil, external.String(), templateSample)
		want, err := template.NewTemplateExpander(t.Context(), begin+text, "A", data, model.Time(timestamp.FromTime(at)), found, external, nil).Expand()
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		e := &expander{query: found, external: external, at: at}
		if got := e.expand(t.Context(), "A", text, templateSample); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
