// Package charts assembles charts from the series below a path: what belongs together stands
// together, in the order and the units that people are used to.
//
// [Assemble] looks for the usual families of collectd, Ganglia, XenServer and Mono by the ends of
// the paths, and makes charts of everything else by unit. [Chart.Arguments] returns a chart as
// arguments of rrdtool's graph. Nothing here reads a store.
package charts
