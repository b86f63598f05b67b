package web

import (
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

func TestModulesOfEachPageAreThere(t *testing.T) {
	all := builtIn()
	for first, name := range pageModules {
		got := all.frame("/" + first + "/x").modules
		if got[0] != "main.js" || got[1] != name {
			t.Errorf("/%s begins with %v", first, got[:2])
		}
		for _, module := range got {
			if _, ok := all[module]; !ok {
				t.Errorf("/%s: a module imports %s, which is not there", first, module)
			}
		}
	}
	if got := all.frame("/nosuch").modules; got[0] != "main.js" || len(got) < 2 {
		t.Errorf("an unknown page needs %v", got)
	}
}

// TestPagesDoNotSearchModules: the shell takes what it names from a search that was done once.
func TestPagesDoNotSearchModules(t *testing.T) {
	frames()["nosuch"] = frame{modules: []string{"only-this.js"}}
	defer delete(frames(), "nosuch")
	w := httptest.NewRecorder()
	New(Config{}).ServeHTTP(w, httptest.NewRequest("GET", "/nosuch", nil))
	if n := strings.Count(w.Body.String(), "modulepreload"); n != 1 || !strings.Contains(w.Body.String(), base()+"only-this.js") {
		t.Errorf("the shell names %d modules", n)
	}
}

func TestShellLoadsFilesThatMayBeKept(t *testing.T) {
	h := New(Config{})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/host/web1", nil))
	links := regexp.MustCompile(`(?:href|src)="(/assets/[^"]+)"`).FindAllStringSubmatch(w.Body.String(), -1)
	var found strings.Builder
	for _, link := range links {
		found.WriteString(link[1] + "\n")
		file := httptest.NewRecorder()
		h.ServeHTTP(file, httptest.NewRequest("GET", link[1], nil))
		if file.Code != 200 || !strings.Contains(file.Header().Get("Cache-Control"), "immutable") {
			t.Errorf("%s: %d %v", link[1], file.Code, file.Header())
		}
	}
	for _, name := range []string{"/main.js", "/style.css", "/boot.js", "/pages/host.js", "/chart/draw.js"} {
		if !strings.Contains(found.String(), name) {
			t.Errorf("the shell does not name %s", name)
		}
	}
	former := httptest.NewRecorder()
	h.ServeHTTP(former, httptest.NewRequest("GET", "/assets/000000000000/main.js", nil))
	if former.Code != 404 {
		t.Errorf("a file of another version: %d", former.Code)
	}
}
