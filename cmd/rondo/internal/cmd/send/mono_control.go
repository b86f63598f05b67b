package send

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/cmd/rondo/internal/table"
	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

const monoHelp = `Ask the agents of Mono runtimes that are connected to the running server (--mono of serve) for their counters.

Requests are written in the dialect that the server was given (--mono-dialect): a real agent of 2014 wants agent.`

func NewMono(c *cli.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mono",
		Short: "Ask connected Mono counters agents for more counters, or fewer",
		Long:  monoHelp,
	}
	cmd.AddCommand(
		newMonoCommand(c, "peers", "", "Print the agents that are connected"),
		newMonoCommand(c, "list", "", "Print the counters that an agent has, and of those that it samples the last value"),
		newMonoCommand(c, "add", "CATEGORY/NAME", "Have an agent sample one more counter"),
		newMonoCommand(c, "remove", "CATEGORY/NAME|INDEX", "Have an agent sample a counter no more"),
	)
	return cmd
}

func newMonoCommand(c *cli.Factory, name, arg, short string) *cobra.Command {
	var format, peer string
	cmd := &cobra.Command{
		Use:   name,
		Short: short,
		Args:  cli.Takes(0, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			words := []string{name}
			if name != "peers" {
				words = append(words, peer)
			}
			return c.Target().Ask(cmd.Context(), func(server *rpc.Client) error {
				return control(cmd.Context(), server, c, format, "mono", append(words, args...))
			})
		},
	}
	if arg != "" {
		cmd.Use += " " + arg
		cmd.Args = cli.Takes(1, 1)
	}
	if name != "peers" {
		cmd.Flags().StringVar(&peer, "peer", "", "the agent, by its `name` in peers (default: the only one)")
	}
	cli.AddOutput(cmd, &format)
	return cmd
}

// control sends a command to a receiver of the running server, and prints the answer.
func control(ctx context.Context, server *rpc.Client, c *cli.Factory, format, receiver string, args []string) error {
	answer, err := server.Control(ctx, &rondov1.ControlRequest{Receiver: receiver, Args: args})
	if err != nil {
		return cli.WithoutPrefix(err)
	}
	w := table.New(c.Stdout, format, answer.GetColumns()...)
	for _, r := range answer.GetRows() {
		cells := make([]any, len(r.GetCells()))
		for i, cell := range r.GetCells() {
			cells[i] = cell
		}
		w.Row(cells...)
	}
	return w.Close()
}
