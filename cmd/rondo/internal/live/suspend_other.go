//go:build !unix

package live

// suspend does nothing: the system cannot stop a process for a while.
func (r *run) suspend() {}
