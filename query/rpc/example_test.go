package rpc_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// Example is the program of docs/rpc.md: it shows the lines between the two marks.
func Example() {
	url, stop := exampleServer()
	defer stop()
	ctx := context.Background()
	// docs/rpc.md: client
	c := rondov1.NewRondoClient(http.DefaultClient, url)
	_, err := c.Create(ctx, &rondov1.CreateRequest{
		Path: "web1/load", Start: "1700000000",
		Definition: &rondov1.Definition{Step: 10, Ds: []string{"DS:load:GAUGE:20:0:U"}, Rra: []string{"10s for 1d"}},
	})
	if err != nil && connect.CodeOf(err) != connect.CodeAlreadyExists {
		log.Fatal(err)
	}
	w, err := c.Write(ctx, &rondov1.WriteRequest{Samples: []*rondov1.Sample{{
		Path: "web1/load", TimeUs: 1700000010_000000, Values: []*rondov1.Value{{Value: &rondov1.Value_Float{Float: 0.5}}},
	}}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(w.GetAccepted(), "stored,", w.GetLate(), "late,", w.GetRefused(), "refused", w.GetRejections())
	// docs/rpc.md: end

	// Output: 1 stored, 0 late, 0 refused []
}

// exampleServer serves a store of its own.
func exampleServer() (url string, stop func()) {
	dir, err := os.MkdirTemp("", "rondo")
	if err != nil {
		log.Fatal(err)
	}
	store, err := core.Open(filepath.Join(dir, "db"), core.Options{})
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle((&rpc.Server{Store: store}).Handler(nil))
	s := httptest.NewServer(mux)
	return s.URL, func() {
		s.Close()
		if err := store.Close(); err != nil {
			log.Fatal(err)
		}
		_ = os.RemoveAll(dir)
	}
}

// TestThePageShowsTheExample: the lines of Example equal the page docs/rpc.md.
func TestThePageShowsTheExample(t *testing.T) {
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/rpc.md")
	if err != nil {
		t.Fatal(err)
	}
	_, lines, _ := strings.Cut(string(source), "\t// docs/rpc.md: client\n")
	lines, _, ok := strings.Cut(lines, "\t// docs/rpc.md: end\n")
	if want := strings.ReplaceAll("\n"+lines, "\n\t", "\n"); !ok || !strings.Contains(string(page), "```go"+want+"```") {
		t.Errorf("docs/rpc.md has no block of Go with these lines:%s", want)
	}
}
