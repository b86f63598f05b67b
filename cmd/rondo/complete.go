package main

import (
	"context"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// What completion of a name may cost: it runs whenever somebody presses the tabulator.
const (
	completeTime = 2 * time.Second
	mostComplete = 1000
)

// completeSeries offers the series, and the folders of series, whose paths begin with a word.
func (c *common) completeSeries(cmd *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, completeTime)
	defer cancel()
	o, err := c.target().open(ctx, core.Options{ReadOnly: true}, false)
	if err != nil || o.client == nil && o.store == nil {
		return nil, cobra.ShellCompDirectiveError
	}
	defer func() { _ = o.close() }() // nothing was written
	return nextParts(ctx, o.api(), word), directive
}

// nextParts returns the continuations of word up to the next slash. Each page of the list begins
// behind the folder that the last one ended in, so that a folder of a million series costs one page.
func nextParts(ctx context.Context, api rondov1.RondoClient, word string) []cobra.Completion {
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
			if i := strings.IndexByte(path[len(word):], '/'); i >= 0 {
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

// functions are the consolidation functions that verbs read.
var functions = []string{"AVERAGE", "MIN", "MAX", "LAST"}

// completeFlag offers the values that a flag of cmd has.
func completeFlag(cmd *cobra.Command, name string, values []string) {
	err := cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err) // there is no such flag
	}
}

// completeVerb offers what the arguments of one of rrdtool's verbs may be: names of series, and behind
// the name that fetch reads a consolidation function.
func (c *common) completeVerb(verb string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		switch {
		case strings.HasPrefix(word, "-"), verb == "restore" && len(args) == 0:
			return nil, cobra.ShellCompDirectiveDefault
		case verb == "fetch" && len(args) == 1:
			return functions, cobra.ShellCompDirectiveNoFileComp
		}
		return c.completeSeries(cmd, args, word)
	}
}
