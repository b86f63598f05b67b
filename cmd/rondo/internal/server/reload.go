package server

import (
	"time"
)

// reload applies a configuration that was read again.
func (s *server) reload(w Ways) {
	ok := false
	if w.Err != nil {
		s.Logger.Error("configuration not taken: everything stays as it is", "err", w.Err)
	} else {
		s.figures.Reloads.Restart.Store(int64(w.Restart))
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
	s.figures.Reloads.Bad.Store(!ok)
	if !ok {
		s.figures.Reloads.Failed.Add(1)
		return
	}
	s.figures.Reloads.Taken.Add(1)
	s.figures.Reloads.At.Store(time.Now().UnixMicro())
}
