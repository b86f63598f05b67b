package cli

import (
	"runtime/debug"
	"strings"
)

// Version returns the version of this program, without spaces.
func Version() string { return ThisBuild().Version }

// A buildRecord says from which version and commit a program was built.
type buildRecord struct {
	Version string
	commit  string // empty: not recorded
	Time    string // time of the commit
	changed bool   // the files differed from the commit
}

func ThisBuild() buildRecord {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = new(debug.BuildInfo)
	}
	return buildOf(info)
}

// unversioned is the version of a build for which the Go command has recorded none.
const unversioned = "devel"

// shortCommit is how many digits of a commit a version has, as in the versions that Go makes.
const shortCommit = 12

// buildOf returns the record that the Go command has made.
func buildOf(info *debug.BuildInfo) buildRecord {
	b := buildRecord{Version: info.Main.Version}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.commit = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.changed = s.Value == "true"
		}
	}
	if b.Version != "" && b.Version != "(devel)" {
		return b
	}
	b.Version = unversioned
	if b.commit != "" {
		b.Version += "-" + b.short()
		if b.changed {
			b.Version += "+dirty"
		}
	}
	return b
}

// short returns the first digits of the commit.
func (b buildRecord) short() string { return b.commit[:min(len(b.commit), shortCommit)] }

// More returns what the version does not contain: the commit, or why it is unknown.
func (b buildRecord) More() string {
	if b.commit == "" && b.Version == unversioned {
		return " (built without its commit; go build -buildvcs=true records it)"
	}
	if b.commit == "" {
		return "" // built from a module of a proxy
	}
	text := "commit " + b.commit
	if b.Time != "" {
		text += " of " + b.Time
	}
	if b.changed && !strings.HasSuffix(b.Version, "+dirty") {
		text += ", changed since"
	}
	return " (" + text + ")"
}
