// Package about has the commands about the program itself: version, help, man and bench.
package about
