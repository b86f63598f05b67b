package server

import (
	"html/template"
	"net/http"
	"time"
)

// index serves a plain page with links to everything that the port serves. The page loads nothing
// from other sites.
func (s *server) index(w http.ResponseWriter, _ *http.Request) {
	type way struct{ Name, Addr string }
	page := struct {
		Version, DB string
		Series      int64
		Samples     uint64
		Up          time.Duration
		Ways        []way
	}{
		Version: s.Version,
		DB:      absolute(s.DB),
		Series:  s.store.Stats().Series,
		Samples: s.store.Stats().SamplesAccepted,
		Up:      time.Since(s.started).Round(time.Second),
	}
	for _, r := range s.receivers.all() {
		page.Ways = append(page.Ways, way{r.settings.Protocol.Name, r.receiver.Addr().String()})
	}
	if s.daemon != nil {
		for _, a := range s.daemon.addrs {
			page.Ways = append(page.Ways, way{"rrdcached", a.String()})
		}
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_ = indexPage.Execute(w, page) // the client may be gone
}

var indexPage = template.Must(template.New("index").Parse(`<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>rondo</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:46em;margin:2em auto;padding:0 1em}pre{background:#8882;padding:.7em;overflow-x:auto}</style>
<h1>rondo</h1>
<p>{{.Version}}, up {{.Up}}, writes to <code>{{.DB}}</code>: <b>{{.Series}}</b> series, {{.Samples}} samples since the start.</p>
<h2>Ways in</h2>
<ul>{{range .Ways}}<li>{{.Name}} at <code>{{.Addr}}</code></li>{{else}}<li>none is open</li>{{end}}</ul>
<h2>Ways out</h2>
<ul>
<li><a href="/metrics">/metrics</a>: counters for Prometheus</li>
<li><a href="/-/healthy">/-/healthy</a>, <a href="/-/ready">/-/ready</a></li>
<li><code>/rondo.v1.Rondo/</code>: Write, Create, Drop, Rename, Fetch, List, Labels, Info, Stats, Notes, Metadata, Checkpoint by Connect, gRPC, gRPC-Web or JSON (<a href="/rondo.proto">/rondo.proto</a>):</li>
</ul>
<pre>curl -H 'Content-Type: application/json' -d '{"path":"rondo/samples","start":"-10m"}' \
     http://HOST/rondo.v1.Rondo/Fetch</pre>
<p>On the command line: <code>rondo list</code>, <code>rondo show NAME</code>, <code>rondo info NAME</code>, <code>rondo fetch NAME AVERAGE -s -10m</code>.</p>
</html>
`))
