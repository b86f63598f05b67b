// Package boltfile is the only door to bbolt: it opens the database's file, starts the
// transactions, and keeps a damaged or failing file from ending the process.
//
//	f, err := boltfile.Open(name, boltfile.Options{Logger: logger})
//	err = f.Update(nil, func(tx *boltfile.Tx) error { return tx.Put(bucket, key, value) }, nil)
//	err = f.View(bucket, func(tx *boltfile.Tx) error { v, err = tx.Get(bucket, key); return err })
//	err = f.Close()
//
// bbolt reads its pages from a memory mapping and trusts them. The package adds four things:
//
//   - A guard (guard.go). bbolt panics on a damaged page, and an access to a mapped page that the
//     file lost faults. Both become a *damage.Error.
//   - A walk over the pages (walk.go, page.go). It reads the file instead of the mapping and
//     checks each page, so that bbolt never follows pages that lead in a circle. Open walks the
//     branch pages; File.Walk walks all pages.
//   - Pages are checked before they are changed (sound.go), so that bbolt does not write a damaged
//     page anew without the entries that it cannot see.
//   - Reopening (reopen.go). After a failed commit nobody knows what the disk holds. The file is
//     opened anew before it is written again.
//
// Compact (compact.go) puts a smaller copy in the place of a file that nobody has open.
//
// Salvage (salvage.go) reads what is left of a file that Open refuses.
//
// Locks: File.writing is held for the length of an Update and of a Mend. File.loggedMu is taken
// inside of transactions and held while a line is logged; nobody who holds it takes another lock of
// this package.
package boltfile
