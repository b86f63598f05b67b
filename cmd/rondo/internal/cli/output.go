package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cmd/rondo/internal/table"
)

// An outputFormat is the flag --output.
type outputFormat string

func (o *outputFormat) String() string { return string(*o) }

func (o *outputFormat) Type() string { return "format" }

func (o *outputFormat) Set(text string) error {
	if !slices.Contains(table.Formats, text) {
		return fmt.Errorf("want %s", strings.Join(table.Formats, ", "))
	}
	*o = outputFormat(text)
	return nil
}

// AddOutput adds the flag that chooses a format.
func AddOutput(cmd *cobra.Command, format *string) {
	*format = table.Formats[0]
	cmd.Flags().VarP((*outputFormat)(format), "output", "o", "output `format`: "+strings.Join(table.Formats, ", "))
	CompleteFlag(cmd, "output", table.Formats)
}
