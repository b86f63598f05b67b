package hostile

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/golang/snappy"
	"google.golang.org/protobuf/encoding/protowire"
)

// An entrance is a row of the table of costs.
type entrance struct {
	name     string
	requests []request
}

// A request is meant to cost much more than it is long.
type request struct {
	name   string
	before func(*worst) error // what there must be for it, which does not count
	send   func(*worst) (string, error)
}

// entrances makes all requests, which are large: the test binary is also the rondo that scripts run.
func entrances() []entrance {
	return []entrance{
		{"remote write", []request{
			{"short symbols", nil, remoteWrite2(longSymbols(5000, 40, 1000))},
			{"series", nil, remoteWrite1(bytes.Repeat([]byte("\n\x00"), 16<<20-64))},
			{"metadata", nil, remoteWrite1(bytes.Repeat([]byte("\x1a\x00"), 16<<20-64))},
			{"labels", nil, remoteWrite1(inOne(1, named, bytes.Repeat([]byte("\n\x00"), 16<<20-64)))},
			{"samples", nil, remoteWrite1(inOne(1, named, bytes.Repeat([]byte("\x12\x00"), 16<<20-64)))},
			{"many labels", nil, remoteWrite1(inOne(1, manyLabels(100_000)))},
			{"new series", nil, func(w *worst) (string, error) { return remoteWrite1(newSeries(w.now))(w) }},
			{"symbols", nil, remoteWrite2(bytes.Repeat([]byte("\"\x00"), 16<<20-64))},
			{"series 2.0", nil, remoteWrite2(bytes.Repeat([]byte("*\x00"), 16<<20-64))},
			{"references", nil, remoteWrite2(concat(inOne(4, nil), inOne(4, []byte("__name__")), inOne(4, []byte("x")),
				inOne(5, inOne(1, bytes.Repeat([]byte{1, 2}, 16<<20-64)))))},
			{"long symbols", nil, remoteWrite2(longSymbols(5000, 40, 60_000))},
		}},
		{"remote read", []request{
			{"queries", nil, remoteRead(bytes.Repeat([]byte("\n\x00"), 2<<20-64))},
			{"expressions", nil, remoteRead(inOne(1, readMatchers(20_000)))},
			{"everything", nil, remoteRead(bytes.Repeat(inOne(1, readEverything), 1000))},
		}},
		{"PromQL", []request{
			{"sum", nil, promQL("1" + strings.Repeat("+1", 100_000))},
			{"brackets", nil, promQL(strings.Repeat("(", 100_000) + "1" + strings.Repeat(")", 100_000))},
			{"signs", nil, promQL(strings.Repeat("-", 200_000) + "1")},
			{"functions", nil, promQL(strings.Repeat("abs(", 1_500) + "m_v" + strings.Repeat(")", 1_500))},
			{"matchers", nil, promQL("{" + expressions(10_000, ",") + "}")},
			{"selectors", nil, promQL("{" + expressions(10_000, "} or {") + "}")},
			{"subqueries", nil, promQL("count_over_time(count_over_time(count_over_time(m_v[1h:1s])[1h:1s])[1h:1s])")},
			{"sum of series", nil, promQL("m_v" + strings.Repeat(" or m_v", 2_400))},
			{"joins", nil, promQL("sum(m_v * on() group_right count(m_v) * on() group_right count(m_v))")},
			{"labels", nil, promQL(`label_join(m_v, "x", "` + strings.Repeat("y", 500_000) + `", "host", "host", "host")`)},
			{"labels that double", nil, promQL(strings.Repeat("label_join(", 30) + "m_v" + strings.Repeat(`, "host", "", "host", "host")`, 30))},
			{"format", nil, func(w *worst) (string, error) {
				return w.form("/api/v1/format_query", "query="+strings.Repeat("abs(", 1600)+"m_v"+strings.Repeat(")", 1600))
			}},
			{"match[]", nil, func(w *worst) (string, error) {
				return w.form("/api/v1/series", "match[]="+strings.Repeat("&match[]="+url.QueryEscape("{"+expressions(10, ",")+"}"), 500))
			}},
			{"query_range", nil, func(w *worst) (string, error) {
				return w.form("/api/v1/query_range", url.Values{"query": {"rate(m_v[1d])"}, "start": {"0"}, "end": {"10999"}, "step": {"1"}, "timeout": {"2s"}}.Encode())
			}},
		}},
		{"Influx's line protocol", []request{
			{"gzip", nil, func(w *worst) (string, error) {
				return w.post("/write", "text/plain", packed, gzipped([]byte("a v=1\n"), 512<<20))
			}},
			{"a line without end", nil, func(w *worst) (string, error) {
				return w.post("/write", "text/plain", packed, gzipped([]byte("a"), 256<<20))
			}},
			{"fields", nil, func(w *worst) (string, error) { return w.post("/write", "text/plain", nil, manyFields(4<<20)) }},
			{"new series", nil, func(w *worst) (string, error) { return w.post("/write", "text/plain", nil, newLines(4<<20)) }},
		}},
		{"OTLP", []request{
			{"resources", nil, otlpRequest(bytes.Repeat([]byte("\n\x00"), 8<<20-64))},
			{"points", nil, otlpRequest(inOne(1, inOne(2, inOne(2, inOne(1, []byte("g")), inOne(5, bytes.Repeat([]byte("\n\x00"), 8<<20-128))))))},
			{"JSON", nil, func(w *worst) (string, error) {
				return w.post("/v1/metrics", "application/json", nil, []byte(`{"resourceMetrics":[`+strings.Repeat("{},", 1_300_000)+`{}]}`))
			}},
			{"deep JSON", nil, func(w *worst) (string, error) {
				return w.post("/v1/metrics", "application/json", nil, []byte(`{"resourceMetrics":`+strings.Repeat("[", 4_000_000)))
			}},
			{"histograms", nil, otlpRequest(histograms(600))},
			{"exponential", nil, otlpRequest(inOne(1, inOne(2, inOne(2, inOne(1, []byte("e")), inOne(10, inOne(1, inOne(8, inOne(2, bytes.Repeat([]byte{1}, 2_000_000)))), varint(2, 2))))))},
		}},
		{"RPC", []request{
			{"Write, samples", nil, protoRequest("Write", bytes.Repeat([]byte("\n\x00"), 2_000_000))},
			{"Write, values", nil, protoRequest("Write", inOne(1, bytes.Repeat([]byte("\"\x00"), 2_000_000)))},
			{"Write, deep", nil, protoRequest("Write", bytes.Repeat([]byte{0x0b}, 3_000_000))},
			{"Write, gzip", nil, func(w *worst) (string, error) {
				return w.post("/rondo.v1.Rondo/Write", "application/json", packed, gzipped([]byte(" "), 256<<20))
			}},
			{"Create, labels", nil, callRPC("Create", map[string]any{"path": "l", "labels": manyJSONLabels(30_000), "definition": definition(1000)})},
			{"Create, rows", nil, callRPC("Create", map[string]any{"path": "l", "definition": definition(100_000_000)})},
			{"Tune", bigSeries, callRPC("Tune", map[string]any{"path": "big", "args": repeated(40_000, "--heartbeat", "v:9")})},
			{"FetchMany", bigSeries, callRPC("FetchMany", map[string]any{"select": repeated(200, map[string]any{"path": "big"}), "start": "-1000000", "maxPoints": 20_000})},
			{"Xport", bigSeries, callRPC("Xport", map[string]any{"start": "-1000000", "step": "1", "maxRows": "1000000000", "lines": append([]any{"DEF:a=big:v:AVERAGE"}, manyCDEFs(498)...)})},
			{"Xport, depth", bigSeries, callRPC("Xport", map[string]any{"start": "-1000000", "lines": []any{"DEF:a=big:v:AVERAGE", "CDEF:b=a" + strings.Repeat(",a,+", 50_000), "XPORT:b:x"}})},
			{"List", nil, callRPC("List", map[string]any{"matchers": repeated(32, map[string]any{"name": "host", "op": "=~", "value": "(.*a){60}(.*b){60}(.{1,50}){15}"})})},
			{"Search", nil, callRPC("Search", map[string]any{"text": "m h t v i n s o", "limit": 200})},
			{"Query", nil, callRPC("Query", map[string]any{"query": "1" + strings.Repeat("+1", 100_000)})},
			{"Import", nil, callRPC("Import", map[string]any{"path": "i", "data": base64.StdEncoding.EncodeToString(lyingFile())})},
			{"Import, XML", nil, callRPC("Import", map[string]any{"path": "i", "data": base64.StdEncoding.EncodeToString([]byte("<rrd>" + strings.Repeat("<a>", 900_000)))})},
			{"SaveDashboard", nil, callRPC("SaveDashboard", map[string]any{"name": "d", "text": strings.Repeat("- a\n", 32_000)})},
			{"SetMetadata", nil, protoRequest("SetMetadata", bytes.Repeat([]byte("\n\x00"), 2_000_000))},
		}},
		{"graphs", []request{
			{"large", bigSeries, func(w *worst) (string, error) {
				return w.get("/graph.png?" + url.Values{"arg": {"--start=-900000", "--width=4000", "--height=900", "DEF:a=big:v:AVERAGE", "AREA:a#ff0000", "LINE1:a#00ff00"}}.Encode())
			}},
			{"lines", bigSeries, func(w *worst) (string, error) {
				args := []string{"--start=-900000", "--width=1000", "DEF:a=big:v:AVERAGE"}
				for i := range 120 {
					args = append(args, fmt.Sprintf("CDEF:c%d=a,%d,+", i, i), fmt.Sprintf("LINE1:c%d#00ff00", i))
				}
				return w.get("/graph.svg?" + url.Values{"arg": args}.Encode())
			}},
			{"trend", bigSeries, func(w *worst) (string, error) {
				return w.get("/graph.png?" + url.Values{"arg": {"--start=-900000", "DEF:a=big:v:AVERAGE", "CDEF:b=a,900000,TREND", "LINE1:b#00ff00"}}.Encode())
			}},
		}},
		{"rrdcached's protocol", []request{
			{"BATCH", nil, func(w *worst) (string, error) {
				return w.pour("tcp", "rrdcached", append(rrdcachedHoard(), ".\nQUIT\n"...))
			}},
			{"FETCH", bigSeries, func(w *worst) (string, error) {
				return w.pour("tcp", "rrdcached", []byte("FETCH big AVERAGE -1000000\nQUIT\n"))
			}},
			{"DUMP", bigSeries, func(w *worst) (string, error) { return w.pour("tcp", "rrdcached", []byte("DUMP big\nQUIT\n")) }},
			{"CREATE", nil, func(w *worst) (string, error) {
				return w.pour("tcp", "rrdcached", []byte("CREATE c -s 1 DS:v:GAUGE:9:U:U RRA:HWPREDICT:100000000:0.1:0.1:86400\nQUIT\n"))
			}},
			{"gap", bigSeries, func(w *worst) (string, error) {
				return w.pour("tcp", "rrdcached", fmt.Appendf(nil, "UPDATE big %d:1\nFETCH big AVERAGE -9\nQUIT\n", w.now+3000))
			}},
		}},
		{"Graphite", []request{
			{"pickle", nil, func(w *worst) (string, error) {
				p := append([]byte("\x80\x02]"), bytes.Repeat([]byte("]"), 1<<20-8)...)
				return w.pour("tcp", "graphite-pickle", append(binary.BigEndian.AppendUint32(nil, uint32(len(p))), p...))
			}},
			{"lines", nil, func(w *worst) (string, error) { return w.pour("tcp", "graphite", graphiteLines(4<<20, w.now)) }},
			{"a line without end", nil, func(w *worst) (string, error) { return w.pour("tcp", "graphite", bytes.Repeat([]byte("x"), 16<<20)) }},
			{"pickle, memo", nil, func(w *worst) (string, error) {
				p := append([]byte("\x80\x02"), bytes.Repeat([]byte("(l2"), (1<<20-8)/3)...)
				return w.pour("tcp", "graphite-pickle", append(binary.BigEndian.AppendUint32(nil, uint32(len(p))), p...))
			}},
		}},
		{"StatsD", []request{
			{"sets", nil, func(w *worst) (string, error) { return w.pour("tcp", "statsd", statsdLines(4<<20, "s:%d|s\n")) }},
			{"names", nil, func(w *worst) (string, error) { return w.pour("tcp", "statsd", statsdLines(4<<20, "n%d:1|c\n")) }},
			{"timers", nil, func(w *worst) (string, error) {
				return w.pour("tcp", "statsd", statsdLines(4<<20, "t%[1]d:%[1]d|ms|@0.0000001\n"))
			}},
		}},
		{"mono and smon", []request{
			{"mono", nil, func(w *worst) (string, error) { return w.pour("tcp", "mono", monoHoard()) }},
			{"smon", nil, func(w *worst) (string, error) { return w.pour("tcp", "smon", smonHoard()) }},
		}},
		{"a datagram", []request{
			{"collectd", nil, func(w *worst) (string, error) {
				return w.pour("udp", "collectd", bytes.Repeat([]byte("\x00\x06\x00\x04"), 16_000))
			}},
			{"gmetric", nil, func(w *worst) (string, error) {
				return w.pour("udp", "gmetric", append([]byte("\x00\x00\x00\x80\x7f\xff\xff\xff"), make([]byte, 60_000)...))
			}},
			{"StatsD", nil, func(w *worst) (string, error) { return w.pour("udp", "statsd", statsdLines(60_000, "u%d:1|c\n")) }},
		}},
		{"a command over HTTP", []request{
			{"graph", nil, execute("graph", "-", "--width", "16000", "--height", "1000", "CDEF:a=1", "LINE1:a#ff0000")},
			{"create", nil, execute("create", "x.rrd", "--step", "1", "DS:v:GAUGE:9:U:U", "RRA:AVERAGE:0.5:1:100000000")},
			{"words", nil, execute(strings.Fields("graph - " + strings.Repeat("COMMENT:a ", 9_990))...)},
			{"fetch", bigSeries, execute("fetch", "big", "AVERAGE", "-s", "-1000000")},
		}},
	}
}

// What follows builds messages.

var (
	named  = inOne(1, inOne(1, []byte("__name__")), inOne(2, []byte("x")))
	packed = http.Header{"Content-Encoding": {"gzip"}}
)

func concat(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// inOne is a field of protobuf with a message of these parts.
func inOne(field protowire.Number, parts ...[]byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, field, protowire.BytesType), concat(parts...))
}

func varint(field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, field, protowire.VarintType), v)
}

func double(field protowire.Number, bits uint64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(nil, field, protowire.Fixed64Type), bits)
}

// gzipped is n bytes of repetitions of unit.
func gzipped(unit []byte, n int) []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // a level that there is
	for block := bytes.Repeat(unit, max(1, 1<<20/len(unit))); n > 0; n -= len(block) {
		_, _ = z.Write(block) // into memory
	}
	_ = z.Close()
	return b.Bytes()
}

func (w *worst) ask(method, path string, header http.Header, body []byte) (string, error) {
	r, err := http.NewRequest(method, w.URL+path, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	maps.Copy(r.Header, header)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 100)) // it may end early
	_, _ = io.Copy(io.Discard, answer.Body)
	if answer.StatusCode < 300 {
		return fmt.Sprint(answer.StatusCode), nil
	}
	return fmt.Sprintf("%d %s", answer.StatusCode, text), nil
}

func (w *worst) form(path, body string) (string, error) {
	return w.post(path, "application/x-www-form-urlencoded", nil, []byte(body))
}

func remoteWrite1(message []byte) func(*worst) (string, error) {
	return func(w *worst) (string, error) {
		return w.post("/api/v1/write", "application/x-protobuf", http.Header{"Content-Encoding": {"snappy"}}, snappy.Encode(nil, message))
	}
}

func remoteWrite2(message []byte) func(*worst) (string, error) {
	return func(w *worst) (string, error) {
		return w.post("/api/v1/write", "application/x-protobuf;proto=io.prometheus.write.v2.Request", http.Header{"Content-Encoding": {"snappy"}}, snappy.Encode(nil, message))
	}
}

func remoteRead(message []byte) func(*worst) (string, error) {
	return func(w *worst) (string, error) {
		return w.post("/api/v1/read", "application/x-protobuf", http.Header{"Content-Encoding": {"snappy"}}, snappy.Encode(nil, message))
	}
}

func otlpRequest(message []byte) func(*worst) (string, error) {
	return func(w *worst) (string, error) {
		return w.post("/v1/metrics", "application/x-protobuf", packed, gzipped(message, len(message)))
	}
}

func protoRequest(method string, message []byte) func(*worst) (string, error) {
	return func(w *worst) (string, error) {
		return w.post("/rondo.v1.Rondo/"+method, "application/proto", nil, message)
	}
}

func callRPC(method string, arguments map[string]any) func(*worst) (string, error) {
	return func(w *worst) (string, error) {
		body, err := json.Marshal(arguments)
		if err != nil {
			return "", err
		}
		return w.rpc(method, string(body))
	}
}

func execute(words ...string) func(*worst) (string, error) {
	return func(w *worst) (string, error) {
		body, err := json.Marshal(map[string]any{"argv": words})
		if err != nil {
			return "", err
		}
		message := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body))), body...)
		return w.post("/rondo.v1.Rondo/Exec", "application/connect+json", nil, message)
	}
}

func promQL(query string) func(*worst) (string, error) {
	return func(w *worst) (string, error) {
		return w.form("/api/v1/query", url.Values{"query": {query}, "timeout": {"2s"}}.Encode())
	}
}

// expressions are n costly matchers.
func expressions(n int, between string) string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf(`host=~"(.*a){90}(.*b){90}(.{1,90}){10}%d"`, i)
	}
	s := strings.Join(out, between)
	return s[:strings.LastIndex(s[:min(len(s), 200_000)], `"`)+1]
}

func manyLabels(n int) []byte {
	out := bytes.Clone(named)
	for i := range n {
		out = append(out, inOne(1, inOne(1, fmt.Appendf(nil, "l%d", i)), inOne(2, []byte("v")))...)
	}
	return out
}

// newSeries are as many series with many labels as a request may have.
func newSeries(now int64) (out []byte) {
	for i := 0; len(out) < 16<<20; i++ {
		series := inOne(1, inOne(1, []byte("__name__")), inOne(2, fmt.Appendf(nil, "y%d", i)))
		for k := range 250 {
			series = append(series, inOne(1, inOne(1, fmt.Appendf(nil, "l%d", k)), inOne(2, []byte("v")))...)
		}
		series = append(series, inOne(2, double(1, 1), varint(2, uint64(now*1000)))...)
		out = append(out, inOne(1, series)...)
	}
	return out
}

// longSymbols are series of 2.0 with 200 labels made of few symbols.
func longSymbols(series, symbols, size int) []byte {
	out := concat(inOne(4, nil), inOne(4, []byte("__name__")), inOne(4, []byte("z")))
	for range symbols {
		out = append(out, inOne(4, bytes.Repeat([]byte("s"), size))...)
	}
	refs := []byte{1, 2}
	for i := range 200 {
		refs = append(refs, byte(3+i%symbols))
	}
	return append(out, bytes.Repeat(inOne(5, inOne(1, refs), inOne(2, double(1, 1), varint(2, 1_700_000_000_000))), series)...)
}

var readEverything = concat(varint(1, 0), varint(2, 4_000_000_000_000), inOne(3, varint(1, 2), inOne(2, []byte("__name__")), inOne(3, []byte(".+"))))

func readMatchers(n int) []byte {
	out := concat(varint(1, 1), varint(2, 4_000_000_000_000))
	for i := range n {
		out = append(out, inOne(3, varint(1, 2), inOne(2, []byte("host")), inOne(3, fmt.Appendf(nil, "(.*a){90}(.*b){90}(.{1,90}){10}%d", i)))...)
	}
	return out
}

func manyFields(size int) (out []byte) {
	var fields []byte
	for i := range 4000 {
		fields = fmt.Appendf(fields, "f%d=1,", i)
	}
	for i := 0; len(out) < size-len(fields)-100; i++ {
		out = fmt.Appendf(out, "q%d %s\n", i, fields[:len(fields)-1])
	}
	return out
}

func newLines(size int) (out []byte) {
	for i := 0; len(out) < size; i++ {
		out = fmt.Appendf(out, "q%d v=1\n", i)
	}
	return out
}

func graphiteLines(size int, now int64) (out []byte) {
	for i := 0; len(out) < size; i++ {
		out = fmt.Appendf(out, "q%d 1 %d\n", i, now)
	}
	return out
}

func statsdLines(size int, format string) (out []byte) {
	for i := 0; len(out) < size; i++ {
		out = fmt.Appendf(out, format, i)
	}
	return out
}

// histograms are histograms with as many buckets as there may be.
func histograms(n int) []byte {
	var bounds, counts []byte
	for i := range 1023 {
		bounds = binary.LittleEndian.AppendUint64(bounds, uint64(i)<<52)
	}
	for range 1024 {
		counts = binary.LittleEndian.AppendUint64(counts, 1)
	}
	var metrics []byte
	for i := range n {
		metrics = append(metrics, inOne(2, inOne(1, fmt.Appendf(nil, "h%d", i)), inOne(9, inOne(1, double(3, 1_700_000_000_000_000_000), double(4, 5), inOne(6, counts), inOne(7, bounds)), varint(2, 2)))...)
	}
	return inOne(1, inOne(2, metrics))
}

func manyJSONLabels(n int) (out []any) {
	for i := range n {
		out = append(out, map[string]any{"name": fmt.Sprint("n", i), "value": "v"})
	}
	return out
}

func manyCDEFs(n int) (out []any) {
	for i := range n {
		out = append(out, fmt.Sprintf("CDEF:b%d=a,%d,+", i, i))
	}
	for i := range n {
		out = append(out, fmt.Sprintf("XPORT:b%d:x", i))
	}
	return out
}

func repeated(n int, what ...any) (out []any) {
	for range n {
		out = append(out, what...)
	}
	return out
}

func definition(rows int) map[string]any {
	return map[string]any{"step": "1", "ds": []string{"DS:v:GAUGE:1000000:U:U"}, "rra": []string{fmt.Sprintf("RRA:AVERAGE:0.5:1:%d", rows)}}
}

// bigSeries makes the series "big", with a row a second for a million seconds.
func bigSeries(w *worst) error {
	samples := make([]any, 900)
	for i := range samples {
		samples[i] = map[string]any{"path": "big", "update": fmt.Sprintf("%d:%d", w.now-900_000+int64(i)*1000, i)}
	}
	answer, err := callRPC("Write", map[string]any{"create": true, "definition": definition(1_000_000), "samples": samples})(w)
	if err == nil && answer != "200" {
		err = fmt.Errorf("big: %s", answer)
	}
	return err
}

// lyingFile is the head of a native file whose counts are far beyond its length.
func lyingFile() []byte {
	b := append([]byte("RRD\x000003\x00"), make([]byte, 7)...)
	b = append(b, 0x2f, 0x25, 0xc0, 0xc7, 0x43, 0x2b, 0x1f, 0x5b) // the number that shows the order of bytes
	for _, n := range []uint64{1 << 40, 1 << 40, 300} {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	return append(b, make([]byte, 800)...)
}
