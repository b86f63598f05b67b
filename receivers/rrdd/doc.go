// Package rrdd reads and writes the files in which plugins of XenServer and XCP-ng hand their
// readings to the daemon rrdd. Each plugin has one file in a common folder, and rewrites it every
// five seconds.
//
// [Protocol] is the receiver. It is off unless it is given a folder (--rrdd). It reads every file
// in the folder every five seconds, and stores the files that have changed.
//
// [Decode] reads the content of one file of version 1 (text, MD5, JSON) or 2 (binary, two CRCs,
// JSON). A [Reader] reads one file again and again, and decodes only the parts that have changed.
// [File.Append] makes the bytes of either version. A [Writer] keeps the file of a plugin as the
// real plugins do:
//
//	w := rrdd.Writer{Path: "/dev/shm/metrics/sensors"}
//	f := rrdd.File{
//		Timestamp: float64(time.Now().Unix()),
//		Sources:   []rrdd.Source{{Name: "temperature", Type: rrdd.Gauge, Units: "degC"}},
//		Values:    []rra.Value{rra.Float(21.5)},
//	}
//	if err := w.Write(&f); err != nil { … }
//
// Limits: 1 MiB and 10,000 data sources in a file, JSON nested 32 deep. docs/wire/rrdd.md describes
// the files.
package rrdd
