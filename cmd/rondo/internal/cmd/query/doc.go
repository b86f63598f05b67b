// Package query has the command rondo query: an expression in PromQL, printed or drawn.
package query
