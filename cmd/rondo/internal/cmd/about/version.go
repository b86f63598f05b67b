package about

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
)

func NewVersion(c *cli.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cli.Takes(0, 0),
		RunE: func(*cobra.Command, []string) error {
			b := cli.ThisBuild()
			_, err := fmt.Fprintf(c.Stdout, "rondo %s %s %s/%s%s\n", b.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH, b.More())
			return err
		},
	}
}
