package cli

import (
	"runtime/debug"
	"testing"
)

// TestVersionNamesTheCommit: a build from a clone called itself devel, whatever it was built from.
func TestVersionNamesTheCommit(t *testing.T) {
	const commit = "1a4942385a152ee29f08259cb09ec688dc790307"
	vcs := func(changed string) []debug.BuildSetting {
		return []debug.BuildSetting{
			{Key: "vcs", Value: "git"},
			{Key: "vcs.revision", Value: commit},
			{Key: "vcs.time", Value: "2026-11-22T10:29:10Z"},
			{Key: "vcs.modified", Value: changed},
		}
	}
	for _, tt := range []struct {
		name, main    string
		settings      []debug.BuildSetting
		version, more string
	}{
		{
			"go install of a version", "v0.2.0", nil,
			"v0.2.0", "",
		},
		{
			"a clone at a tag", "v0.2.0", vcs("false"),
			"v0.2.0", " (commit " + commit + " of 2026-11-22T10:29:10Z)",
		},
		{
			"a clone behind a tag, with changes", "v0.2.1-0.20261122102910-1a4942385a15+dirty", vcs("true"),
			"v0.2.1-0.20261122102910-1a4942385a15+dirty", " (commit " + commit + " of 2026-11-22T10:29:10Z)",
		},
		{
			"a clone whose version is not known", "(devel)", vcs("false"),
			"devel-1a4942385a15", " (commit " + commit + " of 2026-11-22T10:29:10Z)",
		},
		{
			"the same with changes", "(devel)", vcs("true"),
			"devel-1a4942385a15+dirty", " (commit " + commit + " of 2026-11-22T10:29:10Z)",
		},
		{
			"go run", "(devel)", nil,
			"devel", " (built without its commit; go build -buildvcs=true records it)",
		},
		{
			"no record at all", "", nil,
			"devel", " (built without its commit; go build -buildvcs=true records it)",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := buildOf(&debug.BuildInfo{Main: debug.Module{Version: tt.main}, Settings: tt.settings})
			if b.Version != tt.version || b.More() != tt.more {
				t.Errorf("got %q and %q\nwant %q and %q", b.Version, b.More(), tt.version, tt.more)
			}
		})
	}
}
