package web

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
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
	"alerts":     "pages/alerts.js",
	"status":     "pages/status.js",
}

// sheetOf returns the style sheet that a page has besides style.css, by the first part of the
// page's address, and nothing if it has none. The sheet has the name of the module that shows the
// page. The shell names it, so that the browser loads it at once.
func sheetOf(first string) string {
	name := strings.TrimSuffix(pageModules[first], ".js") + ".css"
	if _, ok := builtIn()[name]; !ok {
		return ""
	}
	return name
}

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
