// Package otlp receives the metrics of OpenTelemetry over HTTP. docs/wire/otlp.md describes it.
//
// A decoder walks through the bytes of a request and hands each value over as soon as it has read
// it: nothing is kept of a message. The series of a value is found by a hash of what names it, as
// sent. A request in JSON is turned into bytes first.
package otlp
