// Package remotewrite receives Prometheus' remote write, versions 1.0 and 2.0, as requests to the
// HTTP port. docs/wire/remotewrite.md describes both messages.
//
// A request is unpacked and decoded into a work without reflection and, once the work has been
// used, without allocating (decode.go, decode2.go). The bytes of the labels as they were sent are
// the key by which a [table] finds the series. Then, one request at a time, samples are checked
// against the last one of their series and handed to the sink (take.go). The answer waits until
// they are durable.
//
// Series that are not known are made by kind: newcomers.go, kind.go. The sink learns their steps.
package remotewrite
