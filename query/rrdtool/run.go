package rrdtool

import "context"

// Run runs one command: args[0] is the verb. It returns the exit code that
// rrdtool would have returned, 0 or 1; what it has to say is on Stdout and Stderr.
func Run(ctx context.Context, env *Env, args []string) int { return 1 }

// Verbs returns the verbs that Run knows, in rrdtool's order.
func Verbs() []string {
	return []string{"create", "update", "updatev", "last", "lastupdate", "first", "info", "list", "fetch"}
}
