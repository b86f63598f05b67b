package rpc

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/engine/enginetest"
)

// TestEverySentinelHasItsCode: errors that nobody had thought of were answered with internal, as
// faults of the server. An exported error of the store, the log or the queries has a code, or
// stands here with the reason why no request meets it.
func TestEverySentinelHasItsCode(t *testing.T) {
	elsewhere := map[string]string{
		"core.ErrLocked":       "met when a store is opened",
		"core.ErrVersion":      "met when a store is opened",
		"core.ErrNewer":        "it wraps core.ErrVersion",
		"core.ErrOtherLog":     "met when a store follows a log",
		"core.ErrForgotten":    "it wraps core.ErrUnavailable",
		"core.ErrUnanswered":   "it wraps core.ErrUnavailable",
		"core.ErrWhole":        "met by SalvageLog, which the RPC does not have",
		"core.ErrNoRoom":       "met by Compact, which the RPC does not have",
		"core.ErrNothingReads": "met by Salvage, which the RPC does not have",
		"core.ErrRestoring":    "met when a database is opened",
		"wal.ErrLocked":        "met when a log is opened",
		"wal.ErrClosed":        "core.ErrLogClosed",
		"wal.ErrTruncated":     "met when a log is read",
		"wal.ErrHole":          "met when a log is read",
		"wal.ErrNewer":         "met when a log is read",
		"wal.ErrLost":          "met when a log is read, or with ErrSealed or ErrRetry",
	}
	coded := make(map[string]bool)
	file, err := parser.ParseFile(token.NewFileSet(), "errors.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok {
				coded[x.Name+"."+s.Sel.Name] = true
			}
		}
		return true
	})
	found := 0
	for _, dir := range []string{"../../engine/core", "../../wal", ".."} {
		for _, name := range enginetest.Sentinels(t, dir) {
			found++
			if _, short, _ := strings.Cut(name, "."); !coded[name] && !coded["core."+short] && elsewhere[name] == "" {
				t.Errorf("%s has no code: give it one in errors.go, or say here why no request meets it", name)
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d errors found: do they stand elsewhere now?", found)
	}
	for _, c := range codes {
		err := fail(fmt.Errorf("beneath: %w", c.err), "above")
		if got := connect.CodeOf(err); got != c.code || !errors.Is(err, c.err) {
			t.Errorf("%v: got %v, want %v", c.err, got, c.code)
		}
	}
}

func TestErrorsAreCut(t *testing.T) {
	long := errors.New(strings.Repeat("[", 900_000) + "ä")
	for name, err := range map[string]error{"fail": fail(long, "x"), "invalid": invalid("%w", long)} {
		if n := len(err.Error()); n > 2*maxError || !errors.Is(err, long) {
			t.Errorf("%s: %d bytes, or not the same error", name, n)
		}
	}
}
