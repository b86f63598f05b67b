package main

import (
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// fixed returns the settings that hold until a restart, by flag. The policy and the flags of
// receivers can change while the server runs.
func (s *serve) fixed() map[string]string {
	values := make(map[string]string)
	s.flags.VisitAll(func(f *pflag.Flag) {
		for _, w := range s.ways {
			if _, option := w.options[f.Name]; option || f.Name == w.protocol.Name {
				return
			}
		}
		switch f.Name {
		case "help", "config", "daemon", "db":
		default:
			values[f.Name] = f.Value.String()
		}
	})
	t := s.newTarget(s.db, "", "", s.config)
	values["db"], values[baseKey] = t.Folder(), s.base()
	return values
}

// warnOfReload logs the settings that have changed and take effect only after a restart, and files
// that are missing. It returns the number of these settings. running are the settings in use.
func (s *serve) warnOfReload(log *slog.Logger, running map[string]string) (restart int) {
	now := s.fixed()
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if now[name] != running[name] {
			restart++
			log.Warn("a changed setting needs a restart", "setting", name, "in_force", running[name], "configured", now[name])
		}
	}
	for _, w := range s.ways {
		for _, o := range w.protocol.Flags {
			if !o.File {
				continue
			}
			for _, name := range w.options[o.Name]() {
				if name == "" {
					continue
				}
				if f, err := os.Open(name); err != nil {
					log.Warn("a file cannot be read: what was read of it before stays in force", "setting", o.Name, "err", err)
				} else {
					_ = f.Close() // it was opened only to see whether it can be
				}
			}
		}
	}
	if strings.TrimSpace(s.file) != "" {
		log.Debug("configuration file read", "file", s.file)
	}
	return restart
}
