// Package manual writes the help of commands as manual pages, in the man macros of roff.
package manual

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A Book is the manual of a program.
type Book struct {
	Version string    // of the program
	Date    time.Time // stands in the foot of each page; the zero time is left out
	// Tail is added to each page: the body of a section in plain text, by its title.
	Tail []Section
}

// A Section is a section of plain text. A paragraph with an indented line is printed as it stands;
// other paragraphs are filled.
type Section struct{ Title, Text string }

// section is the chapter of commands.
const section = "1"

// Write writes a page for cmd and for each command below it into the folder dir, which it makes if
// it is missing: rondo.1, rondo-serve.1, rondo-config-check.1. It returns how many pages it wrote.
// Hidden commands have no page.
func (b *Book) Write(dir string, cmd *cobra.Command) (n int, err error) {
	if cmd.Hidden {
		return 0, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, err
	}
	if err := os.WriteFile(filepath.Join(dir, name(cmd)+"."+section), b.Page(cmd), 0o644); err != nil {
		return 0, err
	}
	pages := 1
	for _, c := range cmd.Commands() {
		n, err := b.Write(dir, c)
		if pages += n; err != nil {
			return pages, err
		}
	}
	return pages, nil
}

// name returns the name of a command's page, such as rondo-config-check.
func name(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// Page returns the page of one command.
func (b *Book) Page(cmd *cobra.Command) []byte {
	cmd.InitDefaultHelpFlag()
	p := new(page)
	date := ""
	if !b.Date.IsZero() {
		date = b.Date.UTC().Format(time.DateOnly)
	}
	p.line(".TH %s %s %s %s %s", argument(strings.ToUpper(name(cmd))), section, argument(date), argument("rondo "+b.Version), argument("rondo's manual"))
	p.line(".nh") // no hyphens in names
	p.line(".ad l")
	p.section("NAME")
	p.line(`%s \- %s`, text(name(cmd)), text(cmp.Or(cmd.Short, name(cmd))))
	p.section("SYNOPSIS")
	p.line(".B %s", argument(cmd.UseLine()))
	p.section("DESCRIPTION")
	p.prose(cmp.Or(cmd.Long, cmd.Short+"."))
	p.commands(cmd)
	p.options("OPTIONS", cmd.NonInheritedFlags())
	p.options("OPTIONS OF EVERY COMMAND", cmd.InheritedFlags())
	if cmd.Example != "" {
		p.section("EXAMPLES")
		p.asIs(cmd.Example)
	}
	for _, s := range b.Tail {
		p.section(s.Title)
		p.prose(s.Text)
	}
	p.seeAlso(cmd)
	return p.Bytes()
}

// A page is a page that is being written.
type page struct{ bytes.Buffer }

func (p *page) line(format string, args ...any) {
	_, _ = fmt.Fprintf(p, format+"\n", args...) // a buffer takes everything
}

func (p *page) section(title string) { p.line(".SH %s", argument(title)) }

// prose writes paragraphs. Empty lines stand between them.
func (p *page) prose(s string) {
	for i, para := range strings.Split(strings.Trim(s, "\n"), "\n\n") {
		lines := strings.Split(strings.Trim(para, "\n"), "\n")
		indented := slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, " ") })
		switch {
		case indented:
			p.asIs(para)
		default:
			if i > 0 {
				p.line(".PP")
			}
			for _, l := range lines {
				p.line("%s", text(l))
			}
		}
	}
}

// asIs writes lines as they are.
func (p *page) asIs(s string) {
	p.line(".PP")
	p.line(".nf")
	for l := range strings.SplitSeq(strings.Trim(s, "\n"), "\n") {
		p.line("%s", text(l))
	}
	p.line(".fi")
}

// commands lists the commands below cmd.
func (p *page) commands(cmd *cobra.Command) {
	title := false
	for _, c := range cmd.Commands() {
		if c.Hidden {
			continue
		}
		if !title {
			p.section("COMMANDS")
			title = true
		}
		p.line(".TP")
		p.line(".BR %s (%s)", text(name(c)), section)
		p.line("%s", text(c.Short))
	}
}

// options lists flags.
func (p *page) options(title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	p.section(title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		head := `\fB` + text("--"+f.Name) + `\fR`
		if f.Shorthand != "" {
			head = `\fB` + text("-"+f.Shorthand) + `\fR, ` + head
		}
		if value != "" && f.NoOptDefVal == "" && f.Value.Type() != "bool" {
			head += ` \fI` + text(value) + `\fR`
		}
		usage = withDefault(f, usage)
		p.line(".TP")
		p.line("%s", head)
		p.line("%s", text(usage))
	})
}

// withDefault returns the help text of a flag with its default behind it, unless the default is to
// do nothing or the text says it itself.
func withDefault(f *pflag.Flag, usage string) string {
	d := strings.Trim(f.DefValue, "[]")
	switch {
	case strings.Contains(usage, "(default"), d == "", d == "false", d == "0s", d == "0":
		return usage
	}
	return usage + " (default " + d + ")"
}

// seeAlso names the pages of the command above and beside cmd.
func (p *page) seeAlso(cmd *cobra.Command) {
	var names []string
	if parent := cmd.Parent(); parent != nil {
		names = append(names, name(parent))
		for _, c := range parent.Commands() {
			if c != cmd && !c.Hidden && c.GroupID == cmd.GroupID && parent.HasParent() {
				names = append(names, name(c))
			}
		}
	}
	if len(names) == 0 {
		return
	}
	p.section("SEE ALSO")
	for i, n := range names {
		comma := ","
		if i == len(names)-1 {
			comma = ""
		}
		p.line(".BR %s (%s)%s", text(n), section, comma)
	}
}

// text writes a line so that roff prints it: it has commands that begin with a backslash, a dot or
// an apostrophe.
func text(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "^", `\(ha`, "~", `\(ti`, "`", `\(ga`).Replace(strings.ReplaceAll(s, "\n", " "))
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	var b strings.Builder
	for _, r := range s {
		if r < 0x80 {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\[u%04X]`, r) // whatever encoding the reader's roff expects
		}
	}
	return b.String()
}

// argument writes an argument of a roff command, with its quotes.
func argument(s string) string { return `"` + strings.ReplaceAll(text(s), `"`, `\(dq`) + `"` }
