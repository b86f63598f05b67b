// Package webconfig reads the file of --web-config: how the HTTP port speaks TLS, and who may do
// what. The file has the format that Prometheus and its exporters share, and a section rondo: of
// its own for roles, tokens, certificates and listeners.
//
// A [Keeper] keeps the newest configuration that could be read, and reads the file again when it or
// a file that it names has changed. [Keeper.Identify] returns the user of a request, [Keeper.Token]
// the user of a token, and [Keeper.TLS] the configuration for a listener.
package webconfig
