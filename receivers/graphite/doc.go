// Package graphite receives what senders of Graphite send: carbon's plaintext protocol over TCP and
// UDP, and its pickle protocol over TCP.
//
// [Protocol] is the receiver of lines, at the address of --graphite; [Pickle] the receiver of
// pickles, at the address of --graphite-pickle. [ParseLine] and [Unpickler] turn bytes into points:
// a name, a value and a second. [ParseName] takes a name apart into its components and tags.
// [Schemas] are carbon's storage-schemas.conf and storage-aggregation.conf, which say how new
// series are stored.
//
// A pickle is a program for Python's unpickler. This package runs no program: an Unpickler knows
// the instructions that make lists, tuples, texts and numbers, and refuses all others.
// docs/wire/graphite.md describes both protocols.
package graphite
