package main

import (
	"strings"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backend"
	"github.com/rondo-db/rondo/cmd/rondo/internal/config"
)

// The flags that say who a command is to a server at --daemon. They are keys of the configuration
// file and, as RONDO_DAEMON_…, variables, too.
const (
	passwordFileFlag = "daemon-password-file"
	tokenFileFlag    = "daemon-token-file"
	caFlag           = "daemon-ca"
	pairFlag         = "daemon-tls"
)

// credentialKeys are these flags.
var credentialKeys = []string{passwordFileFlag, tokenFileFlag, caFlag, pairFlag}

// The variables that hold a password or a token themselves.
const (
	passwordVariable = "RONDO_DAEMON_PASSWORD"
	tokenVariable    = "RONDO_DAEMON_TOKEN"
)

// targetFlags are the values of the flags of every command: which database or server it works on.
type targetFlags struct {
	db, daemon, sync, config          string
	passwordFile, tokenFile, ca, pair string
}

// A targetFlag is a flag of every command.
type targetFlag struct {
	name  string
	value *string
	usage string
}

func (f *targetFlags) list() []targetFlag {
	return []targetFlag{
		{"db", &f.db, "the database's `folder` (default: RONDO_DB, db: in the configuration file, ./rondo.db)"},
		{"daemon", &f.daemon, "the `address` of a server to ask instead: http://HOST:PORT, https://USER@HOST, unix:PATH (default: RONDO_DAEMON, daemon: in the configuration file)"},
		{passwordFileFlag, &f.passwordFile, "the `file` with the password of the user in --daemon (or RONDO_DAEMON_PASSWORD_FILE)"},
		{tokenFileFlag, &f.tokenFile, "the `file` with a token for that server (or RONDO_DAEMON_TOKEN_FILE)"},
		{caFlag, &f.ca, "the `file` with the authority of the certificate of that server (or RONDO_DAEMON_CA; default: those of this machine)"},
		{pairFlag, &f.pair, "the files of a certificate for that server and its key, as `CERT,KEY` (or RONDO_DAEMON_TLS)"},
		{"sync", &f.sync, "the sync `mode` if no server runs: always, interval or none (default: RONDO_SYNC, sync: in the configuration file, always)"},
		{"config", &f.config, "the configuration `file` (default: RONDO_CONFIG, ~/.config/rondo/rondo.yaml, /etc/rondo/rondo.yaml)"},
	}
}

// credentials returns what says who a command is to the server at addr. What the configuration file
// says is for the server that the file names, and goes to no other.
func (p *process) credentials(f targetFlags, addr string) backend.Credentials {
	value := func(flag, key string) string {
		if flag != "" {
			return flag
		}
		return p.getenv(config.Variable(key))
	}
	c := backend.Credentials{
		PasswordFile: value(f.passwordFile, passwordFileFlag), TokenFile: value(f.tokenFile, tokenFileFlag),
		CA: value(f.ca, caFlag), Pair: value(f.pair, pairFlag),
	}
	if c.PasswordFile == "" || f.passwordFile == "" && p.getenv(passwordVariable) != "" {
		c.Password = p.getenv(passwordVariable)
	}
	if c.TokenFile == "" || f.tokenFile == "" && p.getenv(tokenVariable) != "" {
		c.Token = p.getenv(tokenVariable)
	}
	of := p.settings.values
	if addr != of["daemon"] && !backend.SameServer(addr, of["daemon"]) {
		return c
	}
	return c.Or(backend.Credentials{PasswordFile: of[passwordFileFlag], TokenFile: of[tokenFileFlag], CA: of[caFlag], Pair: p.besidePair(of[pairFlag])})
}

// besidePair returns the names of two files in the configuration file, as seen from here.
func (p *process) besidePair(pair string) string {
	cert, key, ok := strings.Cut(pair, ",")
	if !ok {
		return pair
	}
	return config.Beside(p.settings.file, strings.TrimSpace(cert)) + "," + config.Beside(p.settings.file, strings.TrimSpace(key))
}
