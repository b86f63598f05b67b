package main

import (
	"context"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// The limits of completing a name, which happens whenever somebody presses the tabulator key.
const (
	completeTime = 2 * time.Second
	mostComplete = 1000
)

// completeSeries offers the series, and the folders of series, whose names begin with a word. Names
// mean what they mean to the verbs: "/router", "./router" and, with RONDO_BASE, the full name of a
// file.
func (c *common) completeSeries(cmd *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, completeTime)
	defer cancel()
	o, err := c.target().Open(ctx, core.Options{ReadOnly: true}, false)
	if err != nil || o.Client == nil && o.Store == nil {
		return nil, cobra.ShellCompDirectiveError
	}
	defer func() { _ = o.Close() }() // nothing was written
	p, err := newPicker(c, o, nil)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	typed := word[:strings.LastIndexByte(word, '/')+1] // the folder
	folder, err := p.env.Path(typed + ".")
	if err != nil {
		return above(p.env.Base, word), directive
	}
	out := nextParts(ctx, p.api, folderOf(folder)+word[len(typed):])
	for i := range out {
		out[i] = typed + out[i][len(folderOf(folder)):]
	}
	return out, directive
}

// completeOne is completeSeries for commands that take one name.
func (c *common) completeOne(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return c.completeSeries(cmd, args, word)
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
func nextParts(ctx context.Context, api rpc.API, word string) []cobra.Completion {
	var out []cobra.Completion
	req := &rondov1.ListRequest{Prefix: word, Limit: mostComplete, Brief: true}
	for len(out) < mostComplete {
		answer, err := api.List(ctx, connect.NewRequest(req))
		if err != nil {
			return out
		}
		last := ""
		for _, s := range answer.Msg.GetSeries() {
			path := s.GetPath()
			rest, ok := strings.CutPrefix(path, word)
			if !ok {
				continue
			}
			if i := strings.IndexByte(rest, '/'); i >= 0 {
				path = path[:len(word)+i+1]
			}
			if path != last {
				out = append(out, path)
			}
			last = path
		}
		if answer.Msg.GetNextPage() == "" {
			return out
		}
		if req.Page = answer.Msg.GetNextPage(); strings.HasSuffix(last, "/") {
			req.Page = last + "\xff" // behind all paths of that folder
		}
	}
	return out
}

// functions are the consolidation functions that are offered.
var functions = []string{"AVERAGE", "MIN", "MAX", "LAST"}

// completeFlag offers the values of a flag of cmd.
func completeFlag(cmd *cobra.Command, name string, values []string) {
	err := cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err) // there is no such flag
	}
}

// completeVerb offers the arguments of one of rrdtool's verbs: its long options, names of series,
// and for the second argument of fetch the consolidation functions.
func (c *common) completeVerb(verb string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if strings.HasPrefix(word, "--") {
			var options []cobra.Completion
			for _, name := range rrdtool.OptionsOf(verb) {
				if strings.HasPrefix("--"+name, word) {
					options = append(options, "--"+name)
				}
			}
			return options, cobra.ShellCompDirectiveNoFileComp
		}
		args, owed := rrdtool.Positional(verb, args)
		switch {
		case strings.HasPrefix(word, "-"), verb == "restore" && len(args) == 0, verb == "dump" && len(args) == 1 && !owed:
			return nil, cobra.ShellCompDirectiveDefault
		case verb == "fetch" && len(args) == 1 && !owed:
			return functions, cobra.ShellCompDirectiveNoFileComp
		case owed, len(args) > 1, len(args) == 1 && verb != "restore" && verb != "flushcached":
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return c.completeSeries(cmd, args, word)
	}
}
