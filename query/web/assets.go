package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
)

//go:embed assets
var embedded embed.FS

// contentTypes maps the ends of the names of the files below assets to media types.
var contentTypes = map[string]string{
	".css":         "text/css; charset=utf-8",
	".html":        "text/html; charset=utf-8",
	".ico":         "image/x-icon",
	".js":          "text/javascript; charset=utf-8",
	".json":        "application/json",
	".png":         "image/png",
	".svg":         "image/svg+xml",
	".txt":         "text/plain; charset=utf-8",
	".webmanifest": "application/manifest+json",
}

// assets are the files that pages load, by their names below assets/.
type assets map[string]asset

// An asset is a file that pages load, as it is and packed.
type asset struct {
	data, packed []byte // packed is nil if packing does not make the file shorter
	kind, etag   string
}

// readAssets reads the files that are built into the program.
func readAssets() assets {
	all := assets{}
	// Reading files that are built in does not fail.
	_ = fs.WalkDir(embedded, "assets", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := embedded.ReadFile(name)
		if err == nil {
			all[strings.TrimPrefix(name, "assets/")] = newAsset(name, data)
		}
		return err
	})
	joined, _ := all.join("main.js") // a test sees that it has no error
	all[joinedName] = newAsset(joinedName, joined)
	return all
}

func newAsset(name string, data []byte) asset {
	sum := sha256.Sum256(data)
	a := asset{data: data, kind: contentTypes[path.Ext(name)], etag: hex.EncodeToString(sum[:12])}
	if a.kind == "" {
		a.kind = "application/octet-stream"
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(data) // memory takes all
	_ = z.Close()
	if b.Len() < len(data) {
		a.packed = b.Bytes()
	}
	return a
}

// serve answers the request for a file. What the shell names has an address that changes with the
// files: a browser keeps it. Of other addresses it asks each time whether the file has changed.
func (all assets) serve(w http.ResponseWriter, r *http.Request, name string) {
	keep := "no-cache"
	if rest, ok := strings.CutPrefix("/assets/"+name, base()); ok {
		name, keep = rest, "public, max-age=31536000, immutable"
	}
	a, ok := all[name]
	if !ok {
		http.Error(w, "no such file.", http.StatusNotFound)
		return
	}
	h := w.Header()
	h.Set("Content-Type", a.kind)
	h.Set("Cache-Control", keep)
	h.Set("Vary", "Accept-Encoding")
	data, tag := a.data, `"`+a.etag+`"`
	if a.packed != nil && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		data, tag = a.packed, `"`+a.etag+`-gzip"`
	}
	send(w, r, data, tag)
}

// send sends data, or 304 if the client has it already. tag is a quoted ETag.
func send(w http.ResponseWriter, r *http.Request, data []byte, tag string) {
	h := w.Header()
	h.Set("ETag", tag)
	if hasTag(r.Header.Values("If-None-Match"), tag) {
		h.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Length", strconv.Itoa(len(data)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(data) // the client may be gone
	}
}

// hasTag reports whether a header If-None-Match names the tag.
func hasTag(values []string, tag string) bool {
	for _, v := range values {
		for word := range strings.SplitSeq(v, ",") {
			if word = strings.TrimPrefix(strings.TrimSpace(word), "W/"); word == tag || word == "*" {
				return true
			}
		}
	}
	return false
}
