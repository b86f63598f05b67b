package main

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// limitFolders are the folders of the packages that docs/limits.md names.
var limitFolders = map[string]string{
	"core": "engine/core", "match": "engine/internal/match", "rra": "rra", "server": "cmd/rondo/internal/server",
	"middleware": "cmd/rondo/internal/server/middleware", "rpc": "query/rpc", "graph": "query/graph",
	"web": "query/web", "bound": "query/prom/bound", "api": "query/prom/api", "alerts": "query/prom/alerts",
	"dashboards": "query/dashboards", "search": "query/search", "charts": "query/charts", "rrdcached": "query/rrd/rrdcached",
	"receivers": "receivers", "graphite": "receivers/graphite", "statsd": "receivers/statsd", "influx": "receivers/influx",
	"otlp": "receivers/otlp", "remotewrite": "receivers/remotewrite",
}

// limitUnits are the units that docs/limits.md uses, and the units of package time.
var limitUnits = map[string]int64{
	"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "s": 1e9, "minutes": 60e9, "hour": 3600e9, "Second": 1e9, "Minute": 60e9, "Hour": 3600e9,
}

// TestLimitsPage: each figure of docs/limits.md that stands beside a constant is that constant.
func TestLimitsPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.ReplaceAll(string(page), "\n  ", " ") // an item of a list may take two
	known := make(map[string]map[string]ast.Expr)
	rows := regexp.MustCompile("(?m)^- .+: \\*\\*([0-9,]+) ?(KiB|MiB|s|minutes|hour)?\\b[^*]*\\*\\* \\(`([a-z]+)\\.([A-Za-z]+)`").FindAllStringSubmatch(lines, -1)
	if len(rows) < 100 {
		t.Errorf("docs/limits.md has %d rows with a constant", len(rows))
	}
	for _, m := range rows {
		folder, ok := limitFolders[m[3]]
		if !ok {
			t.Errorf("docs/limits.md names the package %s, which this test does not know", m[3])
			continue
		}
		if m[4] == "DefaultBounds" { // a function
			continue
		}
		if known[m[3]] == nil {
			known[m[3]] = constantsIn(t, "../../"+folder)
		}
		e, ok := known[m[3]][m[4]]
		if !ok {
			t.Errorf("docs/limits.md names %s.%s, which is no constant", m[3], m[4])
			continue
		}
		n, err := strconv.ParseInt(strings.ReplaceAll(m[1], ",", ""), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := n*limitUnits[m[2]], constantOf(t, known[m[3]], e); got != want {
			t.Errorf("docs/limits.md says %s.%s is %d, it is %d", m[3], m[4], got, want)
		}
	}
}

// constantsIn returns the constants of a package by their names.
func constantsIn(t *testing.T, folder string) map[string]ast.Expr {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]ast.Expr)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				continue
			}
			for _, s := range g.Specs {
				v := s.(*ast.ValueSpec)
				for i := range v.Values {
					all[v.Names[i].Name] = v.Values[i]
				}
			}
		}
	}
	return all
}

// constantOf returns the value of a constant: a number, a product or shift of numbers, other constants
// of the package, units of package time.
func constantOf(t *testing.T, known map[string]ast.Expr, e ast.Expr) int64 {
	t.Helper()
	switch e := e.(type) {
	case *ast.BasicLit:
		n, _ := constant.Int64Val(constant.MakeFromLiteral(e.Value, e.Kind, 0))
		return n
	case *ast.ParenExpr:
		return constantOf(t, known, e.X)
	case *ast.Ident:
		if x, ok := known[e.Name]; ok {
			return constantOf(t, known, x)
		}
	case *ast.SelectorExpr:
		if n, ok := limitUnits[e.Sel.Name]; ok {
			return n
		}
		if x, ok := e.X.(*ast.Ident); ok && limitFolders[x.Name] != "" {
			of := constantsIn(t, "../../"+limitFolders[x.Name])
			return constantOf(t, of, of[e.Sel.Name])
		}
	case *ast.BinaryExpr:
		x, y := constantOf(t, known, e.X), constantOf(t, known, e.Y)
		switch e.Op {
		case token.SHL:
			return x << y
		case token.MUL:
			return x * y
		case token.ADD:
			return x + y
		case token.SUB:
			return x - y
		}
	}
	t.Fatalf("%T is no expression that this test computes", e)
	return 0
}
