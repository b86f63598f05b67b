package serve

import (
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/cmd/rondo/internal/rules"
	"github.com/rondo-db/rondo/cmd/rondo/internal/server"
	"github.com/rondo-db/rondo/internal/conffile"
)

// A fixedValue is a setting that holds until a restart: its value, and what the log shows of it.
type fixedValue struct{ value, shown string }

// fixed returns the settings that hold until a restart, by flag. The policy and the flags of
// receivers can change while the server runs.
func (s *Settings) fixed() map[string]fixedValue {
	values := make(map[string]fixedValue)
	s.Flags.VisitAll(func(f *pflag.Flag) {
		for _, w := range s.ways {
			if _, option := w.options[f.Name]; option || f.Name == w.protocol.Name {
				return
			}
		}
		switch f.Name {
		case "help", "config", "daemon", "db", cli.PasswordFileFlag, cli.TokenFileFlag, cli.CAFlag, cli.PairFlag:
		default:
			values[f.Name] = fixedValue{f.Value.String(), ShownValue(f)}
		}
	})
	t := s.NewTarget(cli.TargetFlags{DB: s.DB, ConfigFile: s.ConfigFile})
	values["db"], values[cli.BaseKey] = fixedValue{t.Folder(), t.Folder()}, fixedValue{s.Base(), s.Base()}
	return values
}

// warnOfReload logs the settings that have changed and take effect only after a restart, and files
// that are missing. It returns the number of these settings. running are the settings in use.
func (s *Settings) warnOfReload(log *slog.Logger, running map[string]fixedValue) (restart int) {
	now := s.fixed()
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if now[name] != running[name] {
			restart++
			log.Warn("a changed setting needs a restart", "setting", name, "in_force", running[name].shown, "configured", now[name].shown)
		}
	}
	s.warnOfFiles(log)
	if strings.TrimSpace(s.File) != "" {
		log.Debug("configuration file read", "file", s.File)
	}
	return restart
}

// maxSettings is the size of the largest file of a setting, in bytes.
const maxSettings = 64 << 20

// warnOfFiles logs the files that settings name and that cannot be read. The files of --web-config
// and --rule-file are read again at once, and the server logs what is wrong with them.
func (s *Settings) warnOfFiles(log *slog.Logger) {
	look := func(setting, name string) {
		if name == "" {
			return
		}
		if _, err := conffile.Read(name, maxSettings); err != nil {
			log.Warn("a file cannot be read: what was read of it before stays in force", "setting", setting, "err", err)
		}
	}
	for _, w := range s.ways {
		for _, o := range w.protocol.Flags {
			if !o.File {
				continue
			}
			for _, name := range w.options[o.Name]() {
				look(o.Name, name)
			}
		}
	}
	for _, name := range s.rrd.tls {
		look("rrdcached-tls", name)
	}
}

// live returns the settings that take effect while the server runs: for each protocol its own
// flags, and under "" the policy.
func (s *Settings) live() map[string][]server.Setting {
	var policy []string
	for _, r := range s.Rules {
		policy = append(policy, r.Text)
	}
	all := map[string][]server.Setting{"": {{Name: rules.Key, Value: strings.Join(policy, "; ")}}}
	for _, w := range s.ways {
		own := []server.Setting{{Name: w.protocol.Name, Value: *w.address}}
		for _, f := range w.protocol.Flags {
			own = append(own, server.Setting{Name: f.Name, Value: strings.Join(w.options[f.Name](), ",")})
		}
		all[w.protocol.Name] = own
	}
	return all
}

// changed returns the settings of now that were different or missing before.
func changed(before, now map[string][]server.Setting) map[string][]server.Setting {
	diff := make(map[string][]server.Setting)
	for name, all := range now {
		for _, x := range all {
			if !slices.Contains(before[name], x) {
				diff[name] = append(diff[name], x)
			}
		}
	}
	return diff
}
