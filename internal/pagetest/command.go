package pagetest

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// Commands returns the calls of a program that the page shows: in blocks of shell, in blocks
// without a language, and in backquotes. A call is its words, without the program's name, up to the
// first | > ; & or #. "go run ./cmd/NAME" is a call of the program, too.
func (p *Page) Commands(program string) []Call {
	var calls []Call
	joined := Piece{}
	for _, c := range p.Code {
		line := c.Text
		switch c.Lang {
		case "console":
			var ok bool
			if line, ok = strings.CutPrefix(line, "$ "); !ok && joined.Text == "" {
				continue
			}
		case "sh", "bash", "":
		default:
			continue
		}
		if joined.Text == "" {
			joined.Line = c.Line
		}
		joined.Text += line
		if more, ok := strings.CutSuffix(joined.Text, "\\"); ok {
			joined.Text = more
			continue
		}
		calls = append(calls, callsIn(joined, program)...)
		joined = Piece{}
	}
	for _, s := range p.Spans {
		if strings.HasPrefix(s.Text, program+" ") {
			calls = append(calls, callsIn(s, program)...)
		}
	}
	return calls
}

// A Call is the arguments of a program.
type Call struct {
	Line int // of the page
	Args []string
}

// callsIn finds the calls of a program in a line of shell.
func callsIn(p Piece, program string) (calls []Call) {
	words := Words(strings.ReplaceAll(p.Text, "go run ./cmd/"+program, program))
	for i, w := range words {
		if w != program || i > 0 && !begins(words[i-1]) {
			continue
		}
		c := Call{Line: p.Line}
		for _, a := range words[i+1:] {
			if ends(a) {
				break
			}
			c.Args = append(c.Args, a)
		}
		calls = append(calls, c)
	}
	return calls
}

// begins says whether a command may stand behind a word.
func begins(word string) bool {
	name, _, set := strings.Cut(word, "=")
	return ends(word) || set && strings.ToUpper(name) == name || word == "sudo" || word == "!" || word == "exec"
}

func ends(word string) bool {
	return strings.Trim(word, "|&;()<>") == "" || strings.HasPrefix(word, "#")
}

// Words splits a line as a shell does, but for everything that $ and backquotes do.
func Words(line string) (words []string) {
	var word strings.Builder
	has := false
	end := func() {
		if has {
			words = append(words, word.String())
			word.Reset()
			has = false
		}
	}
	quote := rune(0)
	for _, r := range line {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			} else {
				word.WriteRune(r)
			}
		case r == '\'' || r == '"':
			quote, has = r, true
		case r == ' ' || r == '\t':
			end()
		case strings.ContainsRune("|&;()", r):
			end()
			words = append(words, string(r))
		default:
			word.WriteRune(r)
			has = true
		}
	}
	end()
	return words
}

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
