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

// A setting is the value of a flag, or of a key of the configuration file.
type setting struct {
	value, shown string // shown is what the log has of it
	live         bool   // it can change while the server runs
	protocol     string // whose flag it is; empty: none's
}

// values returns the settings by name.
func (s *Settings) values() map[string]setting {
	all, owners := make(map[string]setting), make(map[string]string)
	for _, w := range s.ways {
		owners[w.protocol.Name] = w.protocol.Name
		for _, f := range w.protocol.Flags {
			owners[f.Name] = w.protocol.Name
		}
	}
	s.Flags.VisitAll(func(f *pflag.Flag) {
		switch f.Name {
		case "help", "config", "daemon", "db", cli.PasswordFileFlag, cli.TokenFileFlag, cli.CAFlag, cli.PairFlag:
		default:
			owner, live := owners[f.Name]
			all[f.Name] = setting{f.Value.String(), ShownValue(f), live, owner}
		}
	})
	var policy []string
	for _, r := range s.Rules {
		policy = append(policy, r.Text)
	}
	all[rules.Key] = setting{value: strings.Join(policy, "; "), shown: strings.Join(policy, "; "), live: true}
	t := s.NewTarget(cli.TargetFlags{DB: s.DB, ConfigFile: s.ConfigFile})
	all["db"], all[cli.BaseKey] = setting{value: t.Folder(), shown: t.Folder()}, setting{value: s.Base(), shown: s.Base()}
	return all
}

// changes returns, by protocol, the settings that are other than in running and take effect now,
// and notes them there. It logs the settings that need a restart, whose number it returns, and
// files that are missing.
func (s *Settings) changes(log *slog.Logger, running map[string]setting) (changed map[string][]server.Setting, restart int) {
	changed = make(map[string][]server.Setting)
	now := s.values()
	for _, name := range slices.Sorted(maps.Keys(now)) {
		switch is := now[name]; {
		case is == running[name]:
		case is.live:
			changed[is.protocol] = append(changed[is.protocol], server.Setting{Name: name, Value: is.shown})
			running[name] = is
		default:
			restart++
			log.Warn("a changed setting needs a restart", "setting", name, "in_force", running[name].shown, "configured", is.shown)
		}
	}
	s.warnOfFiles(log)
	if strings.TrimSpace(s.File) != "" {
		log.Debug("configuration file read", "file", s.File)
	}
	return changed, restart
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
