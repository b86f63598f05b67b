package web_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/rra"
)

// answers returns what a page has for its script: answers or codes of errors by method and message.
func answers(t *testing.T, body string) map[string]string {
	t.Helper()
	found := scriptData.FindStringSubmatch(body)
	if found == nil {
		t.Fatalf("no answers in\n%s", body)
	}
	var list []struct {
		Method          string
		Message, Answer json.RawMessage
		Error           struct{ Code string }
	}
	if err := json.Unmarshal([]byte(found[1]), &list); err != nil {
		t.Fatal(err)
	}
	all := make(map[string]string)
	for _, a := range list {
		all[a.Method+" "+string(a.Message)] = string(a.Answer) + a.Error.Code
	}
	return all
}

// TestPagesBeginWithAnswers: a page has the answers to the questions of its script, which saves a
// way to the server and back before anything is seen.
func TestPagesBeginWithAnswers(t *testing.T) {
	s, path := newPlain(t)
	quoted, err := json.Marshal(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ at, question, answer string }{
		{"/series/net/eth0", `Info {"path":"net/eth0"}`, `"DS:in:GAUGE:60:U:U"`},
		{"/series/" + segments(path), `Info {"path":` + string(quoted) + `}`, `\u003cscript\u003ealert(1)`},
		{"/series/nosuch", `Info {"path":"nosuch"}`, "not_found"},
		{"/host/net", `Charts {"prefix":"net"}`, `"lines"`},
		{"/host/net/", `Charts {"prefix":"net"}`, `"lines"`},
		{"/host/net", `Tree {"prefix":"net","limit":200}`, `"net/eth0"`},
		{"/host/nosuch", `Charts {"prefix":"nosuch"}`, "not_found"},
		{"/", `Hosts {"limit":60}`, `"net"`},
		{"/?view=cards&sort=-cpu", `Hosts {"sort":"-cpu","limit":60,"sparks":true}`, `"sparkPath":"net/eth0"`},
	} {
		_, body := ask(t, s, "GET", c.at)
		if got, ok := answers(t, body)[c.question]; !ok || !strings.Contains(got, c.answer) {
			t.Errorf("%s: to %s it has %q of %v", c.at, c.question, got, answers(t, body))
		}
	}
}

// TestLongAnswersStayOut: a page does not grow with what is in the database.
func TestLongAnswersStayOut(t *testing.T) {
	s, store := newServer(t)
	d, err := rra.ParseDefinition(10, []string{"DS:value:GAUGE:60:U:U", "RRA:AVERAGE:0.5:1:10"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 49 {
		path := fmt.Sprintf("h/%02d%s", i, strings.Repeat("x", 900))
		if _, err := store.Create(t.Context(), core.Spec{Path: path, Definition: d}); err != nil {
			t.Fatal(err)
		}
		m := core.Metadata{Attributes: []core.Label{{Name: "units", Value: strings.Repeat("u", 9000)}}}
		if _, err := store.SetMetadata(t.Context(), []core.PathMetadata{{Path: path, Metadata: m}}); err != nil {
			t.Fatal(err)
		}
	}
	whole, err := s.RPC.Charts(t.Context(), &rondov1.ChartsRequest{Prefix: "h"})
	if err != nil || len(whole.String()) < 300<<10 {
		t.Fatalf("the charts are too short for this test: %v %v", len(whole.String()), err)
	}
	_, body := ask(t, s, "GET", "/host/h")
	if strings.Contains(body, `"method":"Charts"`) {
		t.Error("a long answer is in the page")
	}
}
