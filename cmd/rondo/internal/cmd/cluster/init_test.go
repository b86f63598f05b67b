package cluster

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/rondo-db/rondo/cluster/copying"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/cmd/rondo/internal/clustered"
)

// TestEndOfInit: a run that was interrupted has failed in nothing, and that it goes on where it was
// is said only if that helps.
func TestEndOfInit(t *testing.T) {
	got := copying.Result{Series: 20, Copied: 10, Equal: 5, Failed: 5, Problems: []copying.Problem{{Path: "a", Err: errors.New("bad")}}}
	interrupted, stop := context.WithCancel(t.Context())
	stop()
	for _, x := range []struct {
		name                  string
		ctx                   context.Context
		err                   error
		stdout, stderr, error string
	}{
		{
			"interrupted", interrupted, context.Canceled,
			"", "stopped: 10 of 30 series copied, 5 were there already; run again, it goes on where it was\n", "exit code 130",
		},
		{"of another database", t.Context(), new(clustered.UnfitError), "", "", ""},
		{
			"failed", t.Context(), errors.New("5 series failed"),
			"10 of 20 series copied, 5 were there already, 5 failed; metadata of 0 paths, 0 notes\n", "a: bad\n",
			"5 series failed; when that is mended, the same command goes on where it was",
		},
	} {
		var stdout, stderr bytes.Buffer
		i := &clusterFilling{reaching{Factory: &cli.Factory{Process: &cli.Process{Stdout: &stdout, Stderr: &stderr}}}}
		err := i.tellEnd(x.ctx, got, 30, x.err)
		if err == nil || err.Error() != x.error || stdout.String() != x.stdout || stderr.String() != x.stderr {
			t.Errorf("%s: %v, %q, %q", x.name, err, stdout.String(), stderr.String())
		}
	}
}
