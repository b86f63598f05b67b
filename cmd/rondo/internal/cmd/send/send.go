// Package send has the commands that speak a protocol of the receivers: senders, rrdd-publish, and
// mono, which asks agents for counters.
package send

import (
	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
)

const sendHelp = `Send samples in a protocol that rondo receives, to try a receiver or to feed one from a script.

Without an address they go to where ` + "`rondo serve`" + ` listens by default; of Mono's agents, to where they look for an inspector.`

func NewCommand(c *cli.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "send",
		Short: "Send samples in one of the protocols that serve receives",
		Long:  sendHelp,
	}
	for _, make := range senders {
		cmd.AddCommand(make(c))
	}
	return cmd
}

// senders make the commands below `rondo send`, one for each protocol.
var senders = []func(c *cli.Factory) *cobra.Command{
	newSendCollectd,
	newSendGmetric,
	newSendMono,
	newSendSmon,
}
