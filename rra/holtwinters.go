package rra

const (
	hwWords   = 10 // words an archive of the family has a data source
	maxWindow = 28
)

type holtWinters struct{}

func (m *Machine) compileHoltWinters(int) {}

func (a *archive) initHoltWinters(w []uint64, nds int) {}

func (m *Machine) holtWinters(s *State, i int, pdp []float64, first, elapsed int64, out []Run) []Run {
	return out
}

func (a *archive) holtWintersCDP(w []uint64) CDP { return CDP{} }

// EndUpdate ends one update command.
func (m *Machine) EndUpdate(s *State, nameHash uint32) {}

// NameHash is FNV-1 of name, as rrdtool picks the row at which a series is smoothed.
func NameHash(name string) uint32 {
	h := uint32(2166136261)
	for i := 0; i < len(name); i++ {
		h *= 16777619
		h ^= uint32(name[i])
	}
	return h
}

// RingRow appends the rows of a SEASONAL or DEVSEASONAL archive to dst, oldest first.
func (m *Machine) RingRow(s *State, archive, ds int, dst []float64) []float64 { return dst }
