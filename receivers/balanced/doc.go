// Package balanced has the test that it does not matter which node of a cluster takes a message.
package balanced
