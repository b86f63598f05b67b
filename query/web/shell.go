package web

import (
	"sync"

	"github.com/rondo-db/rondo/internal/template"
)

// shell returns the frame of every page. The script fills the element page. It is parsed for the
// first reader, as plain is.
var shell = sync.OnceValue(func() *template.Template { return escaping("shell", shellText, nil) })

const shellText = `<!DOCTYPE html>
<html lang="en"{{with .Theme}} data-theme="{{.}}"{{end}}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{{.Title}}</title>
<link rel="icon" href="{{.Base}}icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="{{.Base}}style.css">
{{with .Sheet}}<link rel="stylesheet" href="{{$.Base}}{{.}}">
{{end}}{{with .Answers}}<script id="answers" type="application/json">{{.}}</script>
{{end}}<script type="module" src="{{.Base}}{{.Script}}"></script>
</head>
<body>
<a class="skip" href="#page">Skip to the content</a>
<header id="top">
<a class="brand" href="/"><img src="{{.Base}}icon.svg" alt="" width="22" height="22"><span>rondo</span></a>
<form id="search" role="search" action="/">
<label class="unseen" for="q">Search hosts and series</label>
<input id="q" name="q" type="search" placeholder="Search hosts and series" autocomplete="off" autocapitalize="off" spellcheck="false">
<kbd aria-hidden="true">/</kbd>
</form>
<nav id="nav" aria-label="Pages">
<a href="/">Home</a>
<a href="/workbench">Workbench</a>
<a href="/dashboards">Dashboards</a>
<a href="/alerts">Alerts<b id="firing" hidden></b></a>
<a href="/status">Status</a>
</nav>
<div id="tools"></div>
</header>
<main id="page" tabindex="-1"></main>
<noscript><main class="plain">
{{.Plain}}</main></noscript>
<div id="said" class="unseen" role="status" aria-live="polite"></div>
</body>
</html>
`
