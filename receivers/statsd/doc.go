// Package statsd receives what clients of StatsD send, over UDP and TCP: counters, gauges, timers
// and sets, with the tags of DogStatsD, InfluxDB, SignalFx and Librato.
//
// [Protocol] is the receiver. [ParseLine] turns a line into readings, [ParseName] a name into its
// components and tags. An aggregator keeps what has arrived of each metric since the last flush;
// each step it is flushed, and becomes one sample a metric. A counter's sample is what was counted
// (ABSOLUTE), so that rows are rates.
//
// docs/wire/statsd.md describes the protocol.
package statsd
