package web_test

import (
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// TestCommandsOfThePage asks what the curl commands of docs/web.md ask.
func TestCommandsOfThePage(t *testing.T) {
	s, store := newServer(t)
	d, err := rra.ParseDefinition(10, []string{"DS:value:GAUGE:60:U:U", "RRA:AVERAGE:0.5:1:1000"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Create(t.Context(), core.Spec{Path: "rondo/samples", Definition: d}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../docs/web.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := 0
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		for command := range strings.SplitSeq(strings.ReplaceAll(block[1], "\\\n", " "), "\n") {
			if !strings.HasPrefix(command, "curl ") {
				continue
			}
			commands++
			target, header := curl(t, command)
			r, body := ask(t, s, "GET", target, header...)
			if r.StatusCode != http.StatusOK || body == "" {
				t.Errorf("%s\n%s %s", command, r.Status, body)
			}
		}
	}
	if commands < 2 {
		t.Errorf("%d commands found", commands)
	}
}

var curlWord = regexp.MustCompile(`'([^']*)'|\S+`)

// curl returns the address that a command asks for, without the server, and its headers.
func curl(t *testing.T, command string) (target string, header []string) {
	t.Helper()
	var words []string
	for _, m := range curlWord.FindAllStringSubmatch(command, -1) {
		if m[1] != "" {
			m[0] = m[1]
		}
		words = append(words, m[0])
	}
	query := url.Values{}
	for i := 1; i < len(words); i++ {
		switch w := words[i]; w {
		case "-G":
		case "-o":
			i++
		case "-H":
			i++
			name, value, _ := strings.Cut(words[i], ": ")
			header = append(header, name, value)
		case "--data-urlencode":
			i++
			key, value, _ := strings.Cut(words[i], "=")
			query.Add(key, value)
		default:
			var ok bool
			if target, ok = strings.CutPrefix(w, "http://127.0.0.1:9180"); !ok {
				t.Fatalf("%q of %s", w, command)
			}
		}
	}
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	return target, header
}
