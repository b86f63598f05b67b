package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// The limits of completing a name, which happens whenever somebody presses the tabulator key.
const (
	CompleteTime  = 2 * time.Second
	MostCompleted = 1000
)

// CompleteSeries offers the series, and the folders of series, whose names begin with a word. Names
// mean what they mean to the verbs: "/router", "./router" and, with RONDO_BASE, the full name of a
// file.
func (c *Factory) CompleteSeries(cmd *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	ctx, cancel := context.WithTimeout(cmd.Context(), CompleteTime)
	defer cancel()
	o, err := c.Target().Open(ctx, core.Options{ReadOnly: true}, false)
	if err != nil || o.Client == nil && o.Store == nil {
		return nil, cobra.ShellCompDirectiveError
	}
	defer func() { _ = o.Close() }() // nothing was written
	p, err := NewPicker(c, o)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	typed := word[:strings.LastIndexByte(word, '/')+1] // the folder
	folder, err := p.Env.Path(typed + ".")
	if err != nil {
		return above(p.Env.Base, word), directive
	}
	out := nextParts(ctx, p.API, FolderOf(folder)+word[len(typed):])
	for i := range out {
		out[i] = typed + out[i][len(FolderOf(folder)):]
	}
	return out, directive
}

// CompleteOne is completeSeries for commands that take one name.
func (c *Factory) CompleteOne(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return c.CompleteSeries(cmd, args, word)
}

// above offers the base as the completion of a word that names a folder above it, because the base
// is the only part of that folder that the database knows.
func above(base, word string) []cobra.Completion {
	if base == "" || !strings.HasPrefix(base, word) {
		return nil
	}
	return []cobra.Completion{base + "/"}
}

// nextParts returns the paths that begin with word, each up to its next slash. Each page of the
// list begins behind the folder that the last one ended in, so that a folder of a million series
// costs one page.
func nextParts(ctx context.Context, api rondov1.RondoCalls, word string) []cobra.Completion {
	var out []cobra.Completion
	req := &rondov1.ListRequest{Prefix: word, Limit: MostCompleted, Brief: true}
	for len(out) < MostCompleted {
		answer, err := api.List(ctx, req)
		if err != nil {
			return out
		}
		last := ""
		for _, s := range answer.GetSeries() {
			path := s.GetPath()
			if i := strings.IndexByte(strings.TrimPrefix(path, word), '/'); i >= 0 {
				path = path[:len(word)+i+1]
			}
			if path != last {
				out = append(out, path)
			}
			last = path
		}
		if answer.GetNextPage() == "" {
			return out
		}
		if req.Page = answer.GetNextPage(); strings.HasSuffix(last, "/") {
			req.Page = last + "\xff" // behind all paths of that folder
		}
	}
	return out
}

// Functions are the consolidation functions that are offered.
var Functions = []string{"AVERAGE", "MIN", "MAX", "LAST"}

// AddFunction adds the flag that chooses one of them.
func AddFunction(cmd *cobra.Command, cf *string) {
	AddChoice(cmd, cf, "", "cf", "", Functions, "consolidation `function` of the rows: AVERAGE, MIN, MAX or LAST (default: AVERAGE, else the first archive's)")
}

// CompleteFlag offers the values of a flag of cmd.
func CompleteFlag(cmd *cobra.Command, name string, values []string) {
	err := cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err) // there is no such flag
	}
}
