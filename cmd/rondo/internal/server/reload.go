package server

import (
	"time"

	"github.com/rondo-db/rondo/rra"
)

// reload applies a configuration that was read again.
func (s *server) reload(w Ways) {
	ok := false
	if w.Err != nil {
		s.Logger.Error("configuration not taken: everything stays as it is", "err", w.Err)
	} else {
		s.reloads.restart.Store(int64(w.Restart))
		s.series.SetRules(w.Metrics)
		if s.sums != nil {
			s.sums.SetRules(w.Metrics)
		}
		ok = s.receivers.reload(w)
		if err := s.rules.Reload(s.Config.Rules.Files); err != nil {
			s.Logger.Error("rules not taken: the old ones stay", "err", err)
			ok = false
		}
	}
	if s.web != nil && s.web.Refresh() != nil {
		ok = false // the log says why
	}
	s.reloads.bad.Store(!ok)
	if !ok {
		s.reloads.failed.Add(1)
		return
	}
	s.reloads.taken.Add(1)
	s.reloads.at.Store(time.Now().UnixMicro())
}

func (s *server) reloadFigures() []figure {
	good, at := 1.0, s.reloads.at.Load()
	if s.reloads.bad.Load() {
		good = 0
	}
	if at == 0 {
		at = s.started.UnixMicro()
	}
	return []figure{
		{"", "rondo_config_last_reload_successful", rra.Gauge, "1 if the configuration was taken when it was read last, else 0.", good},
		{"", "rondo_config_last_reload_success_timestamp_seconds", rra.Gauge, "When the configuration was taken last, seconds since 1970.", float64(at) / 1e6},
		{"", "rondo_config_restart_pending", rra.Gauge, "Settings that have changed in the configuration read last and need a restart.", float64(s.reloads.restart.Load())},
		{"", "rondo_config_reloads_total", rra.Derive, "Times that the configuration was read again and taken.", float64(s.reloads.taken.Load())},
		{"", "rondo_config_reload_failures_total", rra.Derive, "Times that it was read again and not taken, or not by all receivers.", float64(s.reloads.failed.Load())},
	}
}
