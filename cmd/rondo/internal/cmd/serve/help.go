package serve

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/cmd/rondo/internal/manual"
)

// A section is a part of the list in serve --help. A flag belongs to the first section that
// contains its name or a prefix of its name.
type section struct {
	title string
	names []string
}

// sections returns the sections in order. Protocols that listen by default come before the others.
func sections() []section {
	all := []section{{"HTTP: RPC, metrics, health, a page", []string{"http", "web"}}}
	var more []section
	for _, p := range Protocols {
		part := section{cmp.Or(p.Title, p.Name), []string{p.Name}}
		if p.Address != "" {
			all = append(all, part)
		} else {
			more = append(more, part)
		}
	}
	all = append(all, section{"rrdcached's protocol: rrdtool --daemon, librrd", []string{"rrdcached"}})
	return append(append(all, more...), []section{
		{"Storage", []string{"db", "config", "socket", "sync", "gather", "reorder", "memory", "backup"}},
		{"Rules and alerts", []string{"rule", "alertmanager", "alert", "external"}},
		{"A node of a cluster", []string{"cluster", "node", "advertise", "zone", "spool"}},
		{"Limits", []string{"max", "sender"}},
		{"Log", []string{"log"}},
	}...)
}

// Columns of the list: where the texts begin, and where lines end.
const (
	helpColumn = 38
	helpWidth  = 110
)

// serveUsage prints the flags of serve by section.
func serveUsage(cmd *cobra.Command) error {
	sections := sections()
	lists := make([][]string, len(sections))
	var rest []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		switch {
		case f.Hidden || f.Name == "help" || f.Name == "daemon" || slices.Contains(cli.CredentialKeys, f.Name):
			return
		}
		for i := range sections {
			for _, name := range sections[i].names {
				if f.Name == name || strings.HasPrefix(f.Name, name+"-") {
					lists[i] = append(lists[i], flagHelp(f))
					return
				}
			}
		}
		rest = append(rest, flagHelp(f))
	})
	var b strings.Builder
	fmt.Fprintf(&b, "Usage:\n  %s\n", cmd.UseLine())
	for i, list := range lists {
		if len(list) == 0 {
			continue // its flags stand with another protocol's
		}
		fmt.Fprintf(&b, "\n%s:\n%s", sections[i].title, strings.Join(list, ""))
	}
	if len(rest) > 0 {
		fmt.Fprintf(&b, "\nOther:\n%s", strings.Join(rest, ""))
	}
	_, err := fmt.Fprint(cmd.OutOrStderr(), b.String())
	return err
}

// flagHelp returns the help of one flag: its name, the name of its value, its effect, its default.
func flagHelp(f *pflag.Flag) string {
	value, text := pflag.UnquoteUsage(f)
	head := "  --" + f.Name
	if value != "" && f.NoOptDefVal == "" && f.Value.Type() != "bool" {
		head += " " + strings.ToUpper(value)
	}
	text = manual.WithDefault(f, text)
	line := fmt.Sprintf("%-*s", helpColumn-1, head)
	if len(head) >= helpColumn-1 {
		line = head + "\n" + strings.Repeat(" ", helpColumn-1)
	}
	width := helpColumn - 1
	for word := range strings.FieldsSeq(text) {
		if width+1+len(word) > helpWidth {
			line += "\n" + strings.Repeat(" ", helpColumn-1)
			width = helpColumn - 1
		}
		line += " " + word
		width += 1 + len(word)
	}
	return line + "\n"
}
