package charts

// ownRecipes is for the series in which a server measures itself.
var ownRecipes = []recipe{
	{tail: "samples", key: "samples", title: "Samples", group: groupSamples, unit: "1/s", from0: true, parts: []part{{label: "Stored", color: blue}}},
	{tail: "samples_late", key: "samples", title: "Samples", group: groupSamples, unit: "1/s", from0: true, parts: []part{{label: "Late", color: orange}}},
	{tail: "samples_refused", key: "samples", title: "Samples", group: groupSamples, unit: "1/s", from0: true, parts: []part{{label: "Refused", color: red}}},
	{tail: "rows", key: "rows", title: "Rows and batches", group: groupSamples, unit: "1/s", from0: true, parts: []part{{label: "Rows stored", color: green}}},
	{tail: "batches", key: "rows", title: "Rows and batches", group: groupSamples, unit: "1/s", from0: true, parts: []part{{label: "Batches", color: purple}}},
	{tail: "cpu_seconds", key: "cpu", title: "Processor", group: "CPU", unit: "%", from0: true, parts: []part{{label: "Of one processor", color: blue, factor: 100}}},
	{tail: "memory_bytes", key: "memory", title: "Memory", group: "Memory", unit: "B", base: 1024, from0: true, parts: []part{{label: "Store", color: blue}}},
	{tail: "heap_bytes", key: "memory", title: "Memory", group: "Memory", unit: "B", base: 1024, from0: true, parts: []part{{label: "Heap", color: orange}}},
	{tail: "resident_bytes", key: "memory", title: "Memory", group: "Memory", unit: "B", base: 1024, from0: true, parts: []part{{label: "Process", color: gray}}},
	{tail: "log_bytes", key: "log", title: "Length of the log", group: "Disk", unit: "B", base: 1024, from0: true, parts: []part{{label: "Log", color: blue}}},
	{tail: "log_written", key: "log_written", title: "Written to the log", group: "Disk", unit: "B/s", from0: true, parts: []part{{label: "Written", color: green}}},
	{tail: "database_bytes", key: "database", title: "Database file", group: "Disk", unit: "B", base: 1024, from0: true, parts: []part{{label: "File", color: blue}}},
	{tail: "database_free", key: "database", title: "Database file", group: "Disk", unit: "B", base: 1024, from0: true, parts: []part{{label: "Free in it", color: green}}},
}

// groupSamples is the heading of what a server stores.
const groupSamples = "Samples"
