package cli

import (
	"cmp"

	"github.com/spf13/pflag"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backend"
	"github.com/rondo-db/rondo/cmd/rondo/internal/config"
)

// The flags that say who a command is to a server at --daemon. They are keys of the configuration
// file and, as RONDO_DAEMON_…, variables, too.
const (
	PasswordFileFlag = "daemon-password-file"
	TokenFileFlag    = "daemon-token-file"
	CAFlag           = "daemon-ca"
	PairFlag         = "daemon-tls"
)

// CredentialKeys are these flags.
var CredentialKeys = []string{PasswordFileFlag, TokenFileFlag, CAFlag, PairFlag}

// The variables that hold a password or a token themselves.
const (
	passwordVariable = "RONDO_DAEMON_PASSWORD"
	tokenVariable    = "RONDO_DAEMON_TOKEN"
)

// TargetFlags are the values of the flags of every command: which database or server it works on.
type TargetFlags struct {
	DB, Daemon, sync, ConfigFile      string
	passwordFile, tokenFile, CA, pair string
}

func (f *TargetFlags) addTo(set *pflag.FlagSet) {
	set.StringVar(&f.DB, "db", "", "the database's `folder` (default: RONDO_DB, db: in the configuration file, ./rondo.db)")
	set.StringVar(&f.Daemon, "daemon", "", "the `address` of a server to ask instead: http://HOST:PORT, https://USER@HOST, unix:PATH (default: RONDO_DAEMON, daemon: in the configuration file)")
	set.StringVar(&f.passwordFile, PasswordFileFlag, "", "the `file` with the password of the user in --daemon (or RONDO_DAEMON_PASSWORD_FILE)")
	set.StringVar(&f.tokenFile, TokenFileFlag, "", "the `file` with a token for that server (or RONDO_DAEMON_TOKEN_FILE)")
	set.StringVar(&f.CA, CAFlag, "", "the `file` with the authority that signed the server's certificate (or RONDO_DAEMON_CA; default: the authorities of this machine)")
	set.StringVar(&f.pair, PairFlag, "", "the files of a certificate for that server and its key, as `CERT,KEY` (or RONDO_DAEMON_TLS)")
	set.StringVar(&f.sync, "sync", "", "the sync `mode` if no server runs: always, interval or none (default: RONDO_SYNC, sync: in the configuration file, always)")
	set.StringVar(&f.ConfigFile, "config", "", "the configuration `file` (default: RONDO_CONFIG, ~/.config/rondo/rondo.yaml, /etc/rondo/rondo.yaml)")
}

// credentials returns what says who a command is to the server at addr. What the configuration file
// says is for the server that the file names, and goes to no other.
func (p *Process) credentials(f TargetFlags, addr string) backend.Credentials {
	of := p.Settings.values
	if addr != of["daemon"] && !backend.SameServer(addr, of["daemon"]) {
		of = nil
	}
	value := func(flag, key string) string { return cmp.Or(flag, p.Getenv(config.Variable(key)), of[key]) }
	c := backend.Credentials{
		PasswordFile: value(f.passwordFile, PasswordFileFlag), TokenFile: value(f.tokenFile, TokenFileFlag),
		CA: value(f.CA, CAFlag), Pair: value(f.pair, PairFlag),
	}
	if f.passwordFile == "" {
		c.Password = p.Getenv(passwordVariable)
	}
	if f.tokenFile == "" {
		c.Token = p.Getenv(tokenVariable)
	}
	return c
}
