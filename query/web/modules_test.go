package web

import (
	"net/http/httptest"
	"path"
	"regexp"
	"strings"
	"testing"
)

// TestModulesAreJoined: the file that the browser loads has every module once, behind those that it
// imports.
func TestModulesAreJoined(t *testing.T) {
	all := builtIn()
	joined, err := all.join("main.js")
	if err != nil {
		t.Fatal(err)
	}
	places := map[string]int{}
	for _, m := range regexp.MustCompile(`(?m)^// (\S+)\nconst \$`).FindAllSubmatchIndex(joined, -1) {
		name := string(joined[m[2]:m[3]])
		if places[name] > 0 {
			t.Errorf("%s is there twice", name)
		}
		places[name] = m[0] + 1
	}
	for name, file := range all {
		if !strings.HasSuffix(name, ".js") || name == joinedName {
			continue
		}
		if places[name] == 0 {
			t.Errorf("%s is missing", name)
		}
		for _, m := range importLine.FindAllStringSubmatch(string(file.data), -1) {
			if other := path.Join(path.Dir(name), m[3]); places[other] == 0 || places[other] > places[name] {
				t.Errorf("%s stands before %s", name, other)
			}
		}
		if n := strings.Count(string(file.data), "\nexport "); n > 0 && strings.Contains(string(joined), "\nexport ") {
			t.Errorf("%s still exports", name)
		}
	}
	for _, name := range pageModules {
		if places[name] == 0 || !strings.Contains(string(joined), "Promise.resolve($"+strings.NewReplacer("/", "$", ".js", "").Replace(name)+")") {
			t.Errorf("the page %s is not shown", name)
		}
	}
}

// TestModulesThatCannotBeJoined: what the joined file would do otherwise than the modules is an error.
func TestModulesThatCannotBeJoined(t *testing.T) {
	for source, want := range map[string]string{
		"import { a } from './nosuch.js';":     "there is no module nosuch.js",
		"import { a } from './main.js';":       "main.js imports itself",
		"import a from './b.js';":              "another form",
		"import './b.js';":                     "another form",
		"export default function f() {}":       "another form",
		"export let a = 1;":                    "another form",
		"export { a };":                        "another form",
		"const a = await import('./b.js');":    "another form",
		"import { a } from './b.js';\nuse(a);": "",
		"const load = () => import('./b.js');": "",
	} {
		all := assets{"main.js": newAsset("main.js", []byte(source+"\n")), "b.js": newAsset("b.js", []byte("export const a = 1;\n"))}
		_, err := all.join("main.js")
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", source, err)
		}
	}
}

// TestShellNamesSheets: the shell of a page names the style sheet that its module loads, and no
// module loads another one.
func TestShellNamesSheets(t *testing.T) {
	sheet := regexp.MustCompile(`styles\(new URL\('([^']+\.css)', import\.meta\.url\)\)`)
	loaded := map[string]string{}
	for name, file := range builtIn() {
		if m := sheet.FindAllSubmatch(file.data, -1); len(m) == 1 && name != joinedName {
			loaded[name] = path.Join(path.Dir(name), string(m[0][1]))
		} else if len(m) > 1 && name != joinedName {
			t.Errorf("%s loads %d sheets", name, len(m))
		}
	}
	named := map[string]bool{}
	for first, module := range pageModules {
		address := "/"
		if first != "" {
			address = "/" + first + "/any/thing"
		}
		w := httptest.NewRecorder()
		New(Config{}).ServeHTTP(w, httptest.NewRequest("GET", address, nil))
		for _, m := range regexp.MustCompile(`rel="stylesheet" href="`+base()+`([^"]+)"`).FindAllStringSubmatch(w.Body.String(), -1) {
			if m[1] != "style.css" && m[1] != loaded[module] {
				t.Errorf("/%s names %s, and its module loads %q", first, m[1], loaded[module])
			}
			named[m[1]] = true
		}
	}
	for module, name := range loaded {
		if !named[name] {
			t.Errorf("no shell names %s, which %s loads", name, module)
		}
	}
}

// TestThemeComesWithThePage: the server's page has the theme that the reader has chosen, so that it
// is not drawn in the other one first.
func TestThemeComesWithThePage(t *testing.T) {
	for value, want := range map[string]string{"dark": `<html lang="en" data-theme="dark">`, "light": `<html lang="en" data-theme="light">`, "": `<html lang="en">`, `"><script>`: `<html lang="en">`} {
		r := httptest.NewRequest("GET", "/", nil)
		if value != "" {
			r.Header.Set("Cookie", "theme="+value)
		}
		w := httptest.NewRecorder()
		New(Config{}).ServeHTTP(w, r)
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("theme %q: %.100s", value, w.Body)
		}
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
	for _, name := range []string{"/" + joinedName, "/style.css", "/icon.svg"} {
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
