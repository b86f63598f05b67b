// Package clusterflags has the flags that say which cluster is meant and how its nodes know each
// other, for rondo serve and the commands of rondo cluster.
package clusterflags
