// Package config has the commands that look at the settings of rondo serve, and those that make
// passwords and tokens for them.
package config
