package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backend"
	"github.com/rondo-db/rondo/cmd/rondo/internal/config"
	"github.com/rondo-db/rondo/internal/conffile"
	"github.com/rondo-db/rondo/internal/text"
)

// configVariable names the configuration file.
const configVariable = "RONDO_CONFIG"

// BaseKey is the key of the configuration file that stands for RONDO_BASE.
const BaseKey = "base"

// settingKeys are the keys that every command reads. All others are the server's.
var settingKeys = append([]string{"db", "daemon", "sync", BaseKey}, CredentialKeys...)

// FindConfig returns the name of the configuration file. The flag names it, or else RONDO_CONFIG.
// If neither is set, the user's own file is read, or else the machine's. The name is "" if no file
// is to be read. A user's own file that cannot be opened is another user's, whose HOME setpriv or
// runuser has kept: it is passed over with a warning.
func (p *Process) FindConfig(flag string) string {
	if flag != "" {
		return flag
	}
	if v, ok := p.LookupEnv(configVariable); ok { // an empty value means: read no file
		return v
	}
	for _, name := range []string{p.userConfig(), backend.SystemConfig} {
		if name == "" {
			continue
		}
		_, err := conffile.Read(name, 1)
		switch {
		case err == nil, name == backend.SystemConfig && !errors.Is(err, fs.ErrNotExist), errors.Is(err, conffile.ErrKind), errors.Is(err, conffile.ErrLong):
			return name
		case !errors.Is(err, fs.ErrNotExist) && p.passedOver != name:
			p.passedOver = name
			p.waits(fmt.Sprintf("the configuration file is passed over: %v", err))
		}
	}
	return ""
}

// userConfig returns the name of the user's own configuration file, or "" if the user has no home.
func (p *Process) userConfig() string {
	dir := p.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		home := p.Getenv("HOME")
		if !filepath.IsAbs(home) {
			return ""
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "rondo", "rondo.yaml")
}

// configure reads the configuration file.
func (p *Process) configure(flag string) error {
	file := p.FindConfig(flag)
	if file == "" {
		p.Settings = fileSettings{}
		return nil
	}
	values, err := config.Values(file, settingKeys)
	if err != nil {
		return err
	}
	for _, key := range []string{"db", BaseKey, PasswordFileFlag, TokenFileFlag, CAFlag} {
		if v := values[key]; v != "" {
			values[key] = config.Beside(file, v)
		}
	}
	if cert, key, ok := strings.Cut(values[PairFlag], ","); ok {
		values[PairFlag] = config.Beside(file, strings.TrimSpace(cert)) + "," + config.Beside(file, strings.TrimSpace(key))
	}
	p.Settings = fileSettings{File: file, values: values}
	return nil
}

// choose returns the first value that is set: of a flag, of an environment variable, or of a key of
// the configuration file. It returns "" if none is set.
func (p *Process) choose(flag, variable, key string) string {
	return cmp.Or(flag, p.Getenv(variable), p.Settings.values[key])
}

// baseVariable names the folder of files that the database stands for.
const baseVariable = "RONDO_BASE"

// Base returns the folder of files that the database stands for, or "" if it stands for none.
func (p *Process) Base() string { return p.choose("", baseVariable, BaseKey) }

// HidesFiles reports whether RONDO_FILES is 0, which means that no files are made where programs
// look for files of series.
func (p *Process) HidesFiles() bool { return p.Getenv("RONDO_FILES") == "0" }

// Place returns what file names mean in the working folder.
func (p *Process) Place() (backend.Place, error) { return backend.PlaceOf(p.Base(), p.HidesFiles()) }

// waits prints what the command waits for, or does without.
func (p *Process) waits(line string) {
	_, _ = fmt.Fprintf(p.Stderr, "rondo: %s\n", text.EscapeLines(line)) // the command goes on
}

// NewTarget returns what a command works on, from its flags, the environment and the
// configuration file.
func (p *Process) NewTarget(f TargetFlags) backend.Target {
	t := backend.Target{Err: p.configure(f.ConfigFile), Notice: p.waits}
	t.DB = p.choose(f.DB, "RONDO_DB", "db")
	t.Named = t.DB != ""
	if !t.Named {
		t.DB = backend.DefaultFolder
	}
	t.Daemon = p.choose(f.Daemon, "RONDO_DAEMON", "daemon")
	t.Sync = p.choose(f.sync, "RONDO_SYNC", "sync")
	if t.Daemon != "" {
		t.Credentials = p.credentials(f, t.Daemon)
	}
	return t
}
