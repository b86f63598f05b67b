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

// A frame is what the shell of a page names.
type frame struct {
	base    string
	modules map[string][]string // by the first part of a page's address
}

// frames returns the frame of this program's pages. It is worked out once.
var frames = sync.OnceValue(func() frame {
	f := frame{builtIn().base(), make(map[string][]string)}
	for first := range pageModules {
		f.modules[first] = builtIn().modules("/" + first)
	}
	return f
})

// base returns the folder of the files in addresses. It changes with each of them, so a browser
// may keep for good what it has loaded.
func (all assets) base() string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		sum.Write([]byte(name + "\x00" + all[name].etag + "\x00"))
	}
	return "/assets/" + hex.EncodeToString(sum.Sum(nil)[:6]) + "/"
}

// modules returns the modules that a page needs, main.js first, then what it and the page's own
// module import, directly or not. The shell names them all, so that the browser loads them at once
// instead of one after the other.
func (all assets) modules(target string) []string {
	first, _, _ := strings.Cut(strings.TrimPrefix(target, "/"), "/")
	wanted := []string{"main.js"}
	if name, ok := pageModules[first]; ok {
		wanted = append(wanted, name)
	}
	for i := 0; i < len(wanted); i++ {
		for _, match := range importLine.FindAllSubmatch(all[wanted[i]].data, -1) {
			name := path.Join(path.Dir(wanted[i]), string(match[1]))
			if !slices.Contains(wanted, name) {
				wanted = append(wanted, name)
			}
		}
	}
	return wanted
}
