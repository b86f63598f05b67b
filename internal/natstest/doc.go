// Package natstest runs nats-servers for tests: [One], or a cluster of [Three].
package natstest
