package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

func newVersion(c *common) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  takes(0, 0),
		RunE: func(*cobra.Command, []string) error {
			b := thisBuild()
			_, err := fmt.Fprintf(c.stdout, "rondo %s %s %s/%s%s\n", b.version, runtime.Version(), runtime.GOOS, runtime.GOARCH, b.more())
			return err
		},
	}
}

// version returns the version of this program, without spaces.
func version() string { return thisBuild().version }

// A buildRecord says from which version and commit a program was built.
type buildRecord struct {
	version string
	commit  string // empty: not recorded
	time    string // time of the commit
	changed bool   // the files differed from the commit
}

func thisBuild() buildRecord {
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
	b := buildRecord{version: info.Main.Version}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.commit = s.Value
		case "vcs.time":
			b.time = s.Value
		case "vcs.modified":
			b.changed = s.Value == "true"
		}
	}
	if b.version != "" && b.version != "(devel)" {
		return b
	}
	b.version = unversioned
	if b.commit != "" {
		b.version += "-" + b.short()
		if b.changed {
			b.version += "+dirty"
		}
	}
	return b
}

// short returns the first digits of the commit.
func (b buildRecord) short() string { return b.commit[:min(len(b.commit), shortCommit)] }

// more returns what the version does not contain: the commit, or why it is unknown.
func (b buildRecord) more() string {
	if b.commit == "" && b.version == unversioned {
		return " (built without its commit; go build -buildvcs=true records it)"
	}
	if b.commit == "" {
		return "" // built from a module of a proxy
	}
	text := "commit " + b.commit
	if b.time != "" {
		text += " of " + b.time
	}
	if b.changed && !strings.HasSuffix(b.version, "+dirty") {
		text += ", changed since"
	}
	return " (" + text + ")"
}
