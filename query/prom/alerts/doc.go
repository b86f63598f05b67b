// Package alerts evaluates rules in Prometheus' format: alerting rules become alerts, which are
// sent to Alertmanagers and webhooks, and recording rules become samples.
//
// A Manager reads files of rules and evaluates each group at its interval, one rule after the
// other. An alert is pending for the time that its rule names, then it fires, and it is resolved
// when its expression has no such sample any more. The state of alerts is kept in a file, so that a
// restart neither forgets an alert nor begins its time anew.
//
// Several processes may have the same rules; [Turns] let one of them evaluate a group.
//
// The meaning of rules, labels, templates and times follows Prometheus 3:
// https://prometheus.io/docs/prometheus/latest/configuration/alerting_rules/.
package alerts
