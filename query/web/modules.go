package web

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"path"
	"regexp"
	"slices"
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
	"alerts":     "pages/alerts.js",
	"status":     "pages/status.js",
}

// sheetName finds the style sheets that a module loads when it shows its page.
var sheetName = regexp.MustCompile(`styles\(new URL\('([^']+\.css)', import\.meta\.url\)\)`)

// sheets returns the style sheets of this program's pages besides style.css, by the first part of
// a page's address. The shell names them, so that the browser loads them at once.
var sheets = sync.OnceValue(func() map[string][]string {
	all := make(map[string][]string)
	for first := range pageModules {
		all[first] = builtIn().sheets(first)
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

// sheets searches the modules of a page for the sheets that they load.
func (all assets) sheets(first string) (found []string) {
	modules := []string{pageModules[first]}
	for i := 0; i < len(modules); i++ {
		name := modules[i]
		modules = all.named(modules, name, importLine)
		found = all.named(found, name, sheetName)
	}
	return found
}

// named adds to a list the files that a module names and that the list lacks. The last group of the
// expression finds the name.
func (all assets) named(list []string, module string, by *regexp.Regexp) []string {
	for _, match := range by.FindAllSubmatch(all[module].data, -1) {
		name := path.Join(path.Dir(module), string(match[len(match)-1]))
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}
