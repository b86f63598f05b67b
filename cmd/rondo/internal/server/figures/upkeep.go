package figures

import (
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backups"
	"github.com/rondo-db/rondo/query/prom/alerts"
	"github.com/rondo-db/rondo/rra"
)

func (r *Reloads) figures(started time.Time) []figure {
	good, at := 1.0, r.At.Load()
	if r.Bad.Load() {
		good = 0
	}
	if at == 0 {
		at = started.UnixMicro()
	}
	return []figure{
		{"", "rondo_config_last_reload_successful", rra.Gauge, "1 if the configuration was taken when it was read last, else 0.", good},
		{"", "rondo_config_last_reload_success_timestamp_seconds", rra.Gauge, "When the configuration was taken last, seconds since 1970.", float64(at) / 1e6},
		{"", "rondo_config_restart_pending", rra.Gauge, "Settings that have changed in the configuration read last and need a restart.", float64(r.Restart.Load())},
		{"", "rondo_config_reloads_total", rra.Derive, "Times that the configuration was read again and taken.", float64(r.Taken.Load())},
		{"", "rondo_config_reload_failures_total", rra.Derive, "Times that it was read again and not taken, or not by all receivers.", float64(r.Failed.Load())},
	}
}

func ruleFigures(c alerts.Counts) []figure {
	return []figure{
		{"", "rondo_rules", rra.Gauge, "Alerting and recording rules (--rule-file).", float64(c.Rules)},
		{"", "rondo_rule_evaluations_total", rra.Derive, "Evaluations of rules.", float64(c.Evaluations)},
		{"", "rondo_rule_evaluation_failures_total", rra.Derive, "Evaluations of rules that failed.", float64(c.Failures)},
		{"", "rondo_rule_evaluations_missed_total", rra.Derive, "Evaluations of groups left out because the one before took too long.", float64(c.Missed)},
		{"", "rondo_rule_samples_late_total", rra.Derive, "Recorded samples refused because their series has later ones: the clock was set back.", float64(c.Late)},
		{"", "rondo_alerts_pending", rra.Gauge, "Alerts whose expression is true, not yet for long enough.", float64(c.Pending)},
		{"", "rondo_alerts_firing", rra.Gauge, "Alerts that fire.", float64(c.Firing)},
		{"", "rondo_alerts_sent_total", rra.Derive, "Alerts that a receiver took, each time one did.", float64(c.Sent)},
		{"", "rondo_alert_send_failures_total", rra.Derive, "Alerts that a receiver did not take.", float64(c.SendFailures)},
		{"", "rondo_alerts_shed_total", rra.Derive, "Alerts not sent because too many waited for a receiver.", float64(c.Shed)},
	}
}

func backupFigures(st backups.State) []figure {
	last := 0.0
	if !st.Last.IsZero() {
		last = float64(st.Last.UnixMilli()) / 1000
	}
	return []figure{
		{"", "rondo_backups_total", rra.Derive, "Backups made and checked (--backup-to).", float64(st.Made)},
		{"", "rondo_backup_failures_total", rra.Derive, "Backups that failed; they are tried again.", float64(st.Failed)},
		{"", "rondo_backup_last_success_timestamp_seconds", rra.Gauge, "When the newest backup was begun, seconds since 1970; 0: none is known.", last},
		{"", "rondo_backup_last_seconds", rra.Gauge, "Duration of the newest backup, with checking it.", st.Took.Seconds()},
		{"", "rondo_backup_last_bytes", rra.Gauge, "Size of the newest backup.", float64(st.Bytes)},
	}
}
