// Package rrdd reads and writes the files in which plugins of XenServer and XCP-ng hand their
// readings to the daemon rrdd: one file a plugin in one folder, rewritten every five seconds.
//
// [Protocol] is the receiver. It is off unless told a folder (--rrdd), reads every file in it
// every five seconds, and takes what has changed.
//
// Below it, [Decode] reads the content of one file, of version 1 (text, MD5, JSON) or 2 (binary,
// two CRCs, JSON); a [Reader] reads one file again and again and does no more than what has
// changed asks for. [File.Append] makes the bytes of either version, and a [Writer] keeps a
// plugin's file as the real writers do:
//
//	w := rrdd.Writer{Path: "/dev/shm/metrics/sensors"}
//	f := rrdd.File{
//		Timestamp: float64(time.Now().Unix()),
//		Sources:   []rrdd.Source{{Name: "temperature", Type: rrdd.Gauge, Units: "degC"}},
//		Values:    []rra.Value{rra.Float(21.5)},
//	}
//	if err := w.Write(&f); err != nil { … }
//
// Limits: 1 MiB and 10,000 data sources a file, JSON nested 32 deep. The files are described in
// docs/wire/rrdd.md.
package rrdd
