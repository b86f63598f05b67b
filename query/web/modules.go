package web

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// builtIn are the files of this program.
var builtIn = sync.OnceValue(readAssets)

// pageModules are the modules that show pages, by the first part of a page's address.
var pageModules = map[string]string{
	"":           "pages/home.js",
	"host":       "pages/host.js",
	"series":     "pages/series.js",
	"workbench":  "pages/workbench.js",
	"dashboard":  "pages/dashboard.js",
	"dashboards": "pages/dashboard.js",
	"status":     "pages/status.js",
}

// importLine finds what a module imports before it runs. An import by the function import, which
// loads a page when it is first shown, does not match.
var importLine = regexp.MustCompile(`(?m)^(?:import|export)\s(?:[^'"();]*\sfrom\s)?'(\.[^']+)'`)

// sheetName finds the style sheets that a module loads when it shows its page.
var sheetName = regexp.MustCompile(`styles\(new URL\('([^']+\.css)', import\.meta\.url\)\)`)

// A frame names the files that a page needs. The shell names them all, so that the browser loads
// them at once instead of one after the other.
type frame struct {
	modules []string // main.js first, then what it and the page's own module import, directly or not
	sheets  []string // style sheets besides style.css
}

// frames returns the frames of this program's pages, by the first part of a page's address. They
// are worked out once.
var frames = sync.OnceValue(func() map[string]frame {
	all := make(map[string]frame)
	for first := range pageModules {
		all[first] = builtIn().frame("/" + first)
	}
	return all
})

// base returns the folder of the files in addresses. It changes with each of them, so a browser
// may keep for good what it has loaded.
var base = sync.OnceValue(func() string {
	all := builtIn()
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		sum.Write([]byte(name + "\x00" + all[name].etag + "\x00"))
	}
	return "/assets/" + hex.EncodeToString(sum.Sum(nil)[:6]) + "/"
})

// frame searches the files for those that the page of an address needs.
func (all assets) frame(target string) frame {
	first, _, _ := strings.Cut(strings.TrimPrefix(target, "/"), "/")
	f := frame{modules: []string{"main.js"}}
	if name, ok := pageModules[first]; ok {
		f.modules = append(f.modules, name)
	}
	for i := 0; i < len(f.modules); i++ {
		name := f.modules[i]
		f.modules = all.named(f.modules, name, importLine)
		f.sheets = all.named(f.sheets, name, sheetName)
	}
	return f
}

// named adds to a list the files that a module names and that the list lacks.
func (all assets) named(list []string, module string, by *regexp.Regexp) []string {
	for _, match := range by.FindAllSubmatch(all[module].data, -1) {
		name := path.Join(path.Dir(module), string(match[1]))
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}
