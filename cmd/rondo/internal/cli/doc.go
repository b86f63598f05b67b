// Package cli is what the commands of rondo share: the process that they run in, the flags that all
// of them have, the configuration file, mistakes of usage, kinds of values, terminal, progress, the
// choice of series, and completion. It knows no command.
package cli
