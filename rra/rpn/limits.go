package rpn

// The bounds of a program.
const (
	MaxNodes        = 1 << 14 // nodes of an expression
	MaxStack        = 1 << 16 // elements of the stack
	MaxComputeNodes = 19      // nodes of a COMPUTE data source
)

// The bounds of EvalColumns.
const (
	MaxRows = 1 << 22 // rows of a result
	MaxWork = 1 << 27 // nodes run, elements counted and rows read by windows
)
