package stream

import "fmt"

// A SettingError is a setting of the servers or of the stream with which records that were
// acknowledged could be lost, or the log would not work.
type SettingError struct {
	Where   string // the server or the stream
	Setting string
	Is      string // the setting's value
	Line    string // what to write into the configuration
	Why     string
}

// Error names the setting, the reason, and what to write.
func (e *SettingError) Error() string {
	return fmt.Sprintf("%s: %s is %s: %s. Set: %s", e.Where, e.Setting, e.Is, e.Why, e.Line)
}
