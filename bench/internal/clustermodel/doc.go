// Package clustermodel says what a cluster of rondo takes, without a cluster: it simulates the way
// of each batch of samples through queues, from measured service times.
//
// A machine has cores, which all jobs share, and a disk, whose syncs queue. A batch goes
//
//	sender ─► node ─► lane of partition ─► log on three servers ─► leader applies ─► acknowledged
//	                                                   └─► followers read and apply
//
// Times of this package are in seconds, rates in samples a second.
package clustermodel
