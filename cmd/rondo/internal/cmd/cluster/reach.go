package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cluster/copying"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/cmd/rondo/internal/clustered"
	"github.com/rondo-db/rondo/cmd/rondo/internal/clusterflags"
)

// A reaching is a run of a command that reaches a cluster from outside, and works on a database of
// one machine.
type reaching struct {
	*cli.Factory
	clusterflags.Flags
	clusterflags.PeerFlags
	folder string // of the database
	memory cli.ByteSize
}

// complete gives a command its flags and what it runs. The flag of the folder is needed.
func (r *reaching) complete(cmd *cobra.Command, folder, usage, why string, run func(context.Context) error) *cobra.Command {
	f := cmd.Flags()
	f.StringVar(&r.folder, folder, "", usage)
	r.memory = 1 << 30
	f.Var(&r.memory, "memory", "`bytes` of memory for that database")
	r.AddPlace(f, "they are needed")
	r.PeerFlags.AddFlags(f)
	cmd.Args = cli.Takes(0, 0)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if r.folder == "" {
			return cli.Misused("cluster "+cmd.Name(), fmt.Errorf("--%s FOLDER is needed: %s", folder, why))
		}
		if r.Servers.URL == "" {
			return cli.Misused("cluster "+cmd.Name(), errors.New("--cluster nats://HOST:PORT,… is needed: it says which cluster"))
		}
		return run(cmd.Context())
	}
	return cmd
}

// dialTime bounds how long a command waits for the servers of a cluster.
const dialTime = 15 * time.Second

// dial connects to the cluster. The error may say that a node refuses calls from here for good.
func (r *reaching) dial(ctx context.Context) (_ *clustered.Client, err error) {
	var o clustered.DialOptions
	if o.Servers, err = r.Apply(); err != nil {
		return nil, err
	}
	if o.Token, err = r.ReadToken(); err != nil {
		return nil, err
	}
	if o.PeerTLS, err = clusterflags.LoadTLS(r.NodeTLS); err != nil {
		return nil, fmt.Errorf("--cluster-node-tls: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	c, err := clustered.Dial(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := c.CheckAdmitted(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("cluster %s: %w", o.Name, err), c.Close())
	}
	return c, nil
}

// reportCopied prints what was copied.
func reportCopied(c *cli.Process, got copying.Result) error {
	for _, p := range got.Problems {
		if _, err := fmt.Fprintln(c.Stderr, cli.OneLine(p.String())); err != nil {
			return err
		}
	}
	line := []string{fmt.Sprintf("%d of %d series copied", got.Copied+got.Replaced, got.Series)}
	for _, x := range []struct {
		n    int64
		what string
	}{
		{got.Equal, "were there already"},
		{got.Kept, "of the servers themselves were there and stay"},
		{got.Failed, "failed"},
	} {
		if x.n > 0 {
			line = append(line, fmt.Sprintf("%d %s", x.n, x.what))
		}
	}
	_, err := fmt.Fprintf(c.Stdout, "%s; metadata of %d paths, %d notes\n", strings.Join(line, ", "), got.Metadata, got.Notes)
	return err
}
