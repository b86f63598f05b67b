package config

import (
	"fmt"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Values returns the values of some top-level keys of a YAML file. Missing keys have no element.
// Values ignores other keys, which only Apply checks.
func Values(file string, keys []string) (map[string]string, error) {
	content, err := pairs(file)
	if err != nil {
		return nil, err
	}
	values := make(map[string]string)
	r := &reader{file: file}
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

// Parse parses one section of a YAML file, if the file has it. It ignores other keys, which only
// Apply checks.
func Parse(file string, s Section) error {
	content, err := pairs(file)
	if err != nil {
		return err
	}
	for i := 0; i+1 < len(content); i += 2 {
		if content[i].Value != s.Key {
			continue
		}
		if err := s.Parse(content[i+1]); err != nil {
			return (&reader{file: file}).errorf(content[i+1], "%s: %w", s.Key, err)
		}
	}
	return nil
}

// pairs returns the top-level keys of a YAML file, each with its value behind it.
func pairs(file string) ([]*yaml.Node, error) {
	data, err := read(file)
	if err != nil {
		return nil, err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, nil
	}
	return doc.Content[0].Content, nil
}

// Beside returns a path that a configuration file names. A relative path begins at the folder of
// the file, so that its meaning does not depend on the working folder.
func Beside(file, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	path = filepath.Join(filepath.Dir(file), path)
	if abs, err := filepath.Abs(path); err == nil { // fails only if the working folder is gone
		return abs
	}
	return path
}
