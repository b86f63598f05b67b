package web

import (
	"html"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/rondo-db/rondo/internal/quantity"
	"github.com/rondo-db/rondo/internal/template"
)

// plain returns the contents of pages for readers without script. They are parsed for the first
// reader: commands, which show no pages, should not wait for that when they start.
var plain = sync.OnceValue(func() *template.Template {
	return escaping("plain", homeText+hostText+seriesText+boardText+statusText+alertsText, template.Funcs{
		"host":   func(path string) string { return pathLink("host", path) },
		"series": func(path string) string { return pathLink("series", path) },
		"time":   func(us int64) string { return readableTime(us) },
		"value":  func(v float64) string { return quantity.Text(v, "") },
		"words":  func(s []string) string { return strings.Join(s, "\n") },
		"board":  func(name string) string { return pathLink("dashboard", name) },
		"figure": figure,
		"short":  strings.TrimSuffix,
		"dark":   darkLink,
		"web":    webLink,
	})
})

// escaping returns a template that escapes what it writes, for text and for attributes in quotes.
// Addresses in attributes are made by functions, which escape their parts.
func escaping(name, text string, funcs template.Funcs) *template.Template {
	t := template.Must(template.Parse(name, text, funcs))
	t.Escape = html.EscapeString
	return t
}

// readableTime returns a time in microseconds since 1970 for people.
func readableTime(us int64) string {
	if us == 0 {
		return "never"
	}
	return time.UnixMicro(us).UTC().Format("2006-01-02 15:04:05 UTC")
}

// figure returns a value of the plain table of hosts; it is empty where nothing is sent.
func figure(v *float64, unit string) string {
	if v == nil {
		return ""
	}
	return quantity.Text(*v, unit)
}

// webLink returns a link that a rule has, or nothing if it leads elsewhere than to a page.
func webLink(link string) string {
	if u, err := url.Parse(link); err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	return link
}

const homeText = `
{{define "problem"}}{{if .}}<p class="problem">{{.}}</p>{{end}}{{end}}
{{define "missing"}}<h1>No such page</h1>
<p>There is nothing at <code>{{.}}</code>.</p>
{{end}}
{{define "refused"}}<h1>Not for you</h1>
<p>{{.}}</p>
{{end}}
{{define "nodes"}}{{if .}}<table>
<tr><th>Name</th><th>Series</th><th>Last update</th></tr>
{{range .}}<tr><td>{{if .IsSeries}}<a href="{{series .Path}}">{{.Name}}</a>{{if .IsFolder}} <a href="{{host .Path}}">…</a>{{end}}{{else}}<a href="{{host .Path}}">{{.Path}}</a>{{end}}</td><td>{{.Series}}</td><td>{{time .LastUpdateUs}}</td></tr>
{{end}}</table>{{end}}{{end}}
{{define "home"}}<h1>rondo</h1>
{{template "problem" .Problem}}
{{if .Query}}<h2>Found: {{.Query}}</h2>
<ul>{{range .Hits}}<li>{{if .Folder}}<a href="{{host .Path}}">{{.Path}}</a>{{else}}<a href="{{series .Path}}">{{.Path}}</a>{{end}} {{.Description}} {{.Unit}}</li>{{else}}<li>nothing</li>{{end}}</ul>
{{if .More}}<p>There are more: search for more words.</p>{{end}}
{{else}}<h2>Hosts</h2>
<form action="/" method="get"><p><label>Words or label=value <input name="f" value="{{.Filter}}"></label> <label>Column <input name="pin" value="{{.Pin}}"></label> <button>Show</button></p></form>
{{$pin := .Pin}}{{$domain := .Domain}}<table>
<tr><th>State</th>{{range .Columns}}<th><a href="{{.Link}}">{{if .On}}<b>{{.Name}}</b>{{else}}{{.Name}}{{end}}</a></th>{{end}}</tr>
{{range .Hosts}}<tr><td>{{if .Alerts}}<b>firing</b>{{else}}{{if .Silent}}silent{{end}}{{end}}</td><td><a href="{{host .Node.Path}}" title="{{.Node.Path}}">{{short .Node.Name $domain}}</a></td><td>{{time .Node.LastUpdateUs}}</td><td>{{figure .Cpu "%"}}</td><td>{{figure .Load ""}}</td><td>{{figure .Memory "%"}}</td><td>{{figure .Disk "%"}}</td><td>{{figure .In "bit/s"}}</td><td>{{figure .Out "bit/s"}}</td>{{if $pin}}<td>{{figure .Pin .Node.Unit}}</td>{{end}}<td>{{range .Alerts}}{{.}} {{end}}</td></tr>
{{end}}</table>
{{if .Next}}<p><a href="{{.Next}}">more</a></p>{{end}}
{{end}}{{if .Boards}}<h2>Dashboards</h2>
<ul>{{range .Boards}}<li><a href="{{board .Name}}">{{or .Title .Name}}</a></li>{{end}}</ul>{{end}}
{{end}}`

const hostText = `
{{define "images"}}{{range .}}<figure>{{with .Title}}<figcaption>{{.}}</figcaption>{{end}}<picture><source media="(prefers-color-scheme: dark)" srcset="{{dark .Link}}"><img src="{{.Link}}" alt="{{.Alt}}" loading="lazy"></picture></figure>
{{end}}{{end}}
{{define "choices"}}<p>{{range .}}{{if .On}}<b>{{.Name}}</b>{{else}}<a href="{{.Link}}">{{.Name}}</a>{{end}} {{end}}</p>{{end}}
{{define "host"}}<h1>{{.Path}}</h1>
{{template "choices" .Choices}}
{{template "problem" .Problem}}
{{range .Charts}}<section><h2>{{.Title}}</h2>
{{template "images" .Images}}</section>
{{end}}{{if .Next}}<p><a href="{{.Next}}">more charts</a></p>{{end}}
<h2>Below</h2>
{{template "nodes" .Nodes}}
{{if .More}}<p>There are more: search for them.</p>{{end}}
{{end}}`

const seriesText = `
{{define "series"}}<h1>{{.Path}}</h1>
{{template "problem" .Problem}}{{if .Info}}
{{template "choices" .Choices}}
{{template "images" .Images}}
<p>{{range .Formats}}<a href="{{.Link}}">{{.Name}}</a> {{end}}</p>
<h2>Newest rows</h2>
<table><tr><th>Time</th>{{range .Columns}}<th>{{.}}</th>{{end}}</tr>
{{range .Rows}}<tr><td>{{time .At}}</td>{{range .Values}}<td>{{.}}</td>{{end}}</tr>
{{end}}</table>
<h2>Definition</h2>
<p>A step of {{.Info.Series.Definition.Step}} s, last update {{time .Info.LastUpdateUs}}.</p>
<pre>{{words .Info.Series.Definition.Ds}}
{{words .Info.Series.Definition.Rra}}</pre>
{{if .Info.Series.Labels}}<h2>Labels</h2>
<table>{{range .Info.Series.Labels}}<tr><td>{{.Name}}</td><td>{{.Value}}</td></tr>{{end}}</table>{{end}}
{{with .Info.Metadata}}<h2>Metadata</h2>
<table>{{range .Attributes}}<tr><td>{{.Name}}</td><td>{{.Value}}</td></tr>{{end}}{{if .Text}}<tr><td>text</td><td>{{.Text}}</td></tr>{{end}}</table>{{end}}
{{if .Notes}}<h2>Notes</h2>
<table>{{range .Notes}}<tr><td>{{time .TimeUs}}</td><td>{{.Severity}}</td><td>{{.Text}}</td></tr>{{end}}</table>{{end}}
<h2>As a graph</h2>
<pre>{{words .Args}}</pre>
{{end}}{{end}}`

const boardText = `
{{define "boards"}}<h1>Dashboards</h1>
{{template "problem" .Problem}}
<ul>{{range .Boards}}<li><a href="{{board .Name}}">{{or .Title .Name}}</a></li>{{else}}<li>none is saved</li>{{end}}</ul>
{{end}}
{{define "board"}}<h1>{{.Title}}</h1>
{{template "choices" .Choices}}
{{template "problem" .Problem}}
{{with .Variables}}<form method="get"><p>{{range .}}{{$v := .Value}}<label>{{.Name}} <select name="{{.Key}}">{{range .Values}}<option{{if eq . $v}} selected{{end}}>{{.}}</option>{{end}}</select></label> {{end}}<button>Show</button></p></form>{{end}}
{{range .Charts}}<section>{{with .Title}}<h2>{{.}}</h2>{{end}}
{{with .Text}}<p>{{.}}</p>{{end}}{{template "images" .Images}}</section>
{{end}}{{if .Text}}<h2>Text</h2>
<pre>{{.Text}}</pre>{{end}}
{{end}}
{{define "workbench"}}<h1>Workbench</h1>
<form action="/workbench" method="get">
<p><label>Options and lines of the graph, each on a line of its own<br><textarea name="g" rows="12" cols="100">{{.Text}}</textarea></label></p>
<p><label>From <input name="from" value="{{.From}}"></label> <label>to <input name="to" value="{{.To}}"></label> <button>Draw</button></p></form>
{{template "problem" .Problem}}
{{template "images" .Images}}
{{end}}`

const statusText = `
{{define "status"}}<h1>Status</h1>
<p>{{.Version}}, up {{.Up}}, writes to <code>{{.DB}}</code>: <b>{{.Series}}</b> series, {{.Samples}} samples since the start.</p>
{{with .Report}}<h2>What is wrong</h2>
<ul>{{range .Problems}}<li><b>{{.Severity}}</b>: {{.Text}} {{.Advice}}</li>{{else}}<li>nothing</li>{{end}}</ul>
<h2>Receivers</h2>
<table><tr><th>Receiver</th><th>Samples</th><th>a second</th><th>Dropped</th></tr>
{{range .Receivers}}<tr><td>{{.Name}}</td><td>{{.Samples}}</td><td>{{printf "%.1f" .SampleRate}}</td><td>{{range .Dropped}}{{.Reason}} {{.Count}} {{end}}</td></tr>
{{end}}</table>
{{with .Cluster}}<h2>Cluster {{.Name}}</h2>
<table><tr><th>Node</th><th>State</th><th>Leads</th><th>Replicas</th><th>Behind</th><th>Address</th><th>Version</th></tr>
{{range .Nodes}}<tr><td>{{.Name}}</td><td>{{.State}}</td><td>{{.Leads}}</td><td>{{.Replicas}}</td><td>{{.Lag}}</td><td>{{.Address}}</td><td>{{.Version}}</td></tr>
{{end}}</table>
<table><tr><th>Partition</th><th>Leader</th><th>Replicas</th><th>Remark</th></tr>
{{range .Partitions}}<tr><td>{{.Number}}</td><td>{{.Leader}}</td><td>{{range .Replicas}}{{.Node}} {{.State}} at {{.Position}} {{end}}</td><td>{{.Problem}}{{if .MoveTo}} moves to {{.MoveTo}}{{end}}{{if .Held}} held{{end}}</td></tr>
{{end}}</table>{{end}}
{{if .Senders}}<h2>Senders</h2>
<table><tr><th>Sender</th><th>Receiver</th><th>Samples</th><th>Series</th><th>Last</th></tr>
{{range .Senders}}<tr><td>{{.Name}}</td><td>{{.Receiver}}</td><td>{{.Samples}}</td><td>{{.Series}}</td><td>{{time .LastUs}}</td></tr>
{{end}}</table>{{end}}{{end}}
<h2>Ways in</h2>
<ul>{{range .Ways}}<li>{{.Name}} at <code>{{.Addr}}</code></li>{{else}}<li>none is open</li>{{end}}</ul>
<h2>Ways out</h2>
<ul>
<li><a href="/metrics">/metrics</a>: counters for Prometheus</li>
<li><a href="/-/healthy">/-/healthy</a>, <a href="/-/ready">/-/ready</a></li>
<li><a href="/rondo.proto">/rondo.proto</a>: the methods below <code>/rondo.v1.Rondo/</code>, by Connect, gRPC, gRPC-Web or JSON</li>
</ul>
{{end}}`

const alertsText = `
{{define "alerts"}}<h1>Alerts</h1>
{{template "problem" .Problem}}
{{range .Alerts}}<section><h2>{{.State}}: {{.Name}}</h2>
<p>since {{time .SinceUs}}, value {{value .Value}}{{range .Labels}}, {{.Name}}={{.Value}}{{end}}</p>
{{range .Annotations}}<p>{{.Name}}: {{if web .Value}}<a href="{{web .Value}}" rel="noopener noreferrer">{{.Value}}</a>{{else}}{{.Value}}{{end}}</p>
{{end}}</section>
{{else}}<p>nothing fires, is pending, or was resolved in the last day</p>
{{end}}{{end}}`
