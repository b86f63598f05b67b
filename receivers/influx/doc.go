// Package influx receives InfluxDB's line protocol. docs/wire/influx.md describes it.
//
// A [Decoder] reads lines: key, fields, time. The key is the measurement with its tags, as sent. A
// cache finds the series of each field by the bytes of the key and of the field's name, so a line
// whose series are known is neither copied nor taken apart. [ParseKey] takes a key apart, and
// [Identify] names the series of one of its fields, when the series is new.
//
// Each field is a series of its own. The data sources of one series would all have to come in every
// line, and fields come and go: telegraf leaves out what it could not read.
package influx
