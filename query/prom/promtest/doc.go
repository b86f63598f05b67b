// Package promtest has what tests of PromQL share: a storage in memory whose samples are beyond
// doubt ([Memory]), series ([Data]) and queries ([Queries], [Random]). It is for tests only.
//
// A test puts the same series into the storage it is about, and expects the same answers.
package promtest
