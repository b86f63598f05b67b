// Package enginetest opens stores for tests and checks them when the test is over.
package enginetest
