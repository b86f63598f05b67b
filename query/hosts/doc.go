// Package hosts says how machines do: which alerts fire, which machines are silent, and how busy
// they are, by what collectd, Ganglia, Prometheus' node_exporter and OpenTelemetry's host metrics
// send.
package hosts
