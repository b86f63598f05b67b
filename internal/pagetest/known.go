package pagetest

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// Known says which word of a call is neither a command below root nor a flag of it. Words in upper
// case stand for others, and behind … there may be anything. isFlag is asked about flags of
// commands that parse their arguments themselves.
func Known(root *cobra.Command, args []string, isFlag func(cmd *cobra.Command, name string) bool) error {
	cmd := root
	for i, a := range args {
		a, _, cut := strings.Cut(a, "…")
		a = strings.Trim(a, "[]")
		switch {
		case strings.HasPrefix(a, "--"):
			name, _, _ := strings.Cut(a[2:], "=")
			if !isPlaceholder(name) && name != "help" && cmd.Flag(name) == nil && !(cmd.DisableFlagParsing && isFlag(cmd, name)) {
				return fmt.Errorf("%s has no flag --%s", cmd.CommandPath(), name)
			}
		case strings.HasPrefix(a, "-") || !cmd.HasSubCommands() || isPlaceholder(a):
		case i > 0 && takesValue(cmd, args[i-1]):
		default:
			sub, _, err := cmd.Find([]string{a})
			if err != nil || sub == cmd {
				return fmt.Errorf("%s is no command", a)
			}
			cmd = sub
		}
		if cut || a == "--" {
			return nil
		}
	}
	return nil
}

func isPlaceholder(word string) bool { return strings.ToUpper(word) == word }

// takesValue says whether the word behind a flag is its value.
func takesValue(cmd *cobra.Command, flag string) bool {
	f := cmd.Flag(strings.TrimPrefix(flag, "--"))
	return strings.HasPrefix(flag, "--") && f != nil && f.NoOptDefVal == ""
}
