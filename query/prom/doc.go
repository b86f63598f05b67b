// Package prom answers Prometheus' queries from the archives of a store. A [Storage] is a
// storage.Queryable: the promql engine and remote read take samples from it.
//
// A stored series appears as one metric for each data source. Where the data source is a rate
// (COUNTER, DERIVE, DCOUNTER, DDERIVE or ABSOLUTE), it appears twice: as the stored rate, and as a
// virtual counter, the integral of the rows, so that rate() and increase() give the stored rates.
// names.go says what metrics and labels are called.
//
// The rows of one archive are the samples, and what it does not know of them other archives fill
// in. A row at t covers (t-step, t], and its time is t; the last one ends with what is known. The
// hints of a query choose the archive: see archive.go. Unknown rows are left out, and a staleness
// marker stands at the first of them. Where rows are wider than the look-back of the engine, the
// value of a row is repeated until the next row, so that callers need not widen
// EngineOpts.LookbackDelta.
package prom
