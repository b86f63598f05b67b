package web

import "html/template"

// shell is the frame of every page. The script fills the element app.
var shell = template.Must(template.New("shell").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{{.Title}}</title>
<link rel="icon" href="/assets/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/assets/style.css">
<script type="module" src="/assets/main.js"></script>
</head>
<body>
<div id="app"></div>
<noscript>
<nav class="plain"><a href="/">rondo</a> <a href="/dashboards">dashboards</a> <a href="/status">status</a></nav>
<main class="plain">
{{.Plain}}</main>
</noscript>
</body>
</html>
`))

// plain are the contents of pages for readers without script.
var plain = template.Must(template.New("plain").Parse(`
{{define "home"}}<h1>rondo</h1>
{{end}}
{{define "missing"}}<h1>No such page</h1>
<p>There is nothing at <code>{{.}}</code>.</p>
{{end}}
{{define "status"}}<h1>Status</h1>
<p>{{.Version}}, up {{.Up}}, writes to <code>{{.DB}}</code>: <b>{{.Series}}</b> series, {{.Samples}} samples since the start.</p>
<h2>Ways in</h2>
<ul>{{range .Ways}}<li>{{.Name}} at <code>{{.Addr}}</code></li>{{else}}<li>none is open</li>{{end}}</ul>
<h2>Ways out</h2>
<ul>
<li><a href="/metrics">/metrics</a>: counters for Prometheus</li>
<li><a href="/-/healthy">/-/healthy</a>, <a href="/-/ready">/-/ready</a></li>
<li><a href="/rondo.proto">/rondo.proto</a>: the methods below <code>/rondo.v1.Rondo/</code>, by Connect, gRPC, gRPC-Web or JSON</li>
</ul>
{{end}}
`))
