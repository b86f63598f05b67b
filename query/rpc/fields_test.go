package rpc

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// TestErrorsNameFieldsAsTheFile: a field has two names, max_points and maxPoints. Texts of this
// package, such as errors, have the first, which is rondo.proto's.
func TestErrorsNameFieldsAsTheFile(t *testing.T) {
	other := make(map[string]string) // the name in rondo.proto, by that in JSON
	var visit func(ms protoreflect.MessageDescriptors)
	visit = func(ms protoreflect.MessageDescriptors) {
		for i := range ms.Len() {
			for k := range ms.Get(i).Fields().Len() {
				if f := ms.Get(i).Fields().Get(k); f.JSONName() != string(f.Name()) {
					other[f.JSONName()] = string(f.Name())
				}
			}
			visit(ms.Get(i).Messages())
		}
	}
	visit(rondov1.File_rondo_proto.Messages())
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
	words := regexp.MustCompile(`\w+`)
	texts := 0
	for _, name := range names {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			l, ok := n.(*ast.BasicLit)
			if !ok || l.Kind != token.STRING {
				return true
			}
			texts++
			for _, w := range words.FindAllString(l.Value, -1) {
				if want, ok := other[w]; ok {
					t.Errorf("%v: %s is called %s in texts", fset.Position(l.Pos()), w, want)
				}
			}
			return true
		})
	}
	if len(other) < 50 || texts < 200 {
		t.Errorf("only %d fields and %d texts were compared", len(other), texts)
	}
}
