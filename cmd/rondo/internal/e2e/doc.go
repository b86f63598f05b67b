// Package e2e tests the whole program: commands and servers as processes. The packages below it do
// so by subject.
package e2e
