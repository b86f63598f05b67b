// Package send has the commands that speak a protocol of the receivers: senders, rrdd-publish, and
// mono, which asks agents for counters.
package send
