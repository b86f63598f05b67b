package access

import "fmt"

// A Role is how much a user may do. Each role may do what those before it may do.
type Role int

// The roles.
const (
	None  Role = iota // nothing
	Read              // look at series, rows, notes, graphs and pages
	Write             // store samples, notes and metadata, make series, save dashboards
	Admin             // drop, rename, change and overwrite series, back up, check, command the server
)

var roleNames = [...]string{"none", "read", "write", "admin"}

func (r Role) String() string {
	if r < None || r > Admin {
		return fmt.Sprintf("role %d", int(r))
	}
	return roleNames[r]
}

// ParseRole returns the role of a name: none, read, write or admin.
func ParseRole(name string) (Role, error) {
	for i, n := range roleNames {
		if n == name {
			return Role(i), nil
		}
	}
	return None, fmt.Errorf("there is no role %.40q: want none, read, write or admin", name)
}
