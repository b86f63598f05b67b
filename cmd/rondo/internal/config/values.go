package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"gopkg.in/yaml.v3"
)

// Values returns the values of some top-level keys of the YAML in file. Keys that are not there
// have no entry, and other keys are not looked at: whether they are right is for Apply to say.
func Values(file string, keys []string) (map[string]string, error) {
	data, err := read(file)
	if err != nil {
		return nil, err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	values := make(map[string]string)
	if len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return values, nil
	}
	r := &reader{file: file}
	content := doc.Content[0].Content
	for i := 0; i+1 < len(content); i += 2 {
		key := content[i].Value
		if !slices.Contains(keys, key) {
			continue
		}
		v, err := r.scalars(key, content[i+1])
		switch {
		case err != nil:
			return nil, err
		case len(v) != 1:
			return nil, r.errorf(content[i+1], "%s: want one value, not %d", key, len(v))
		}
		values[key] = v[0]
	}
	return values, nil
}

// Beside returns a path that a configuration file names: a relative one begins at the file's
// folder, so that it means the same wherever a command is run.
func Beside(file, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	path = filepath.Join(filepath.Dir(file), path)
	if abs, err := filepath.Abs(path); err == nil { // else the working folder is gone
		return abs
	}
	return path
}

// Unread says why a text could not be read as a number or a switch, in place of package strconv,
// whose error is in err. Empty: err is something else.
func Unread(err error) string {
	number, ok := errors.AsType[*strconv.NumError](err)
	switch {
	case !ok:
		return ""
	case number.Func == "ParseBool":
		return "is neither true nor false"
	case errors.Is(number.Err, strconv.ErrRange):
		return "is out of range"
	}
	return "is no number"
}
