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
//   - Proof of absence (sound.go). A checksum proves a value that is found. The pages near a key
//     prove that a key does not exist.
//   - Reopening (reopen.go). After a failed commit nobody knows what the disk holds. The file is
//     opened anew before it is written again.
//
// Compact (compact.go) puts a smaller copy in the place of the file while others use it.
//
// Salvage (salvage.go) reads what is left of a file that Open refuses.
//
// Locks: File.writing is held for the length of an Update and of a Mend, and at the end of a
// Compact. File.trustMu and
// File.toldMu are taken inside of transactions and held while a page is walked or a line is
// logged. No function that holds one of the last two takes another lock of this package.
package boltfile
