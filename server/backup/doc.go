// Package backup copies a data folder while it is in use, and puts a copy back.
//
// A backup is a folder:
//
//	beckon.db      the database as of one commit
//	artifacts/…    the bytes that its rows name, and perhaps some more
//	manifest.json  what the above are, with a digest of each file
//
// The master key, the vendors' keys, the certificate and the journal are never
// in it. It is built under another name, in the order artifacts, database, what
// artifacts came meanwhile, manifest; every file is synced, the database is
// opened and held against the artifacts; then it gets its name. So a folder that
// has its name is whole, and what a crash leaves is removed by the next backup.
//
// A restore builds in the data folder, under a mark that keeps a server from
// starting there, and begins an epoch in the copy before it is put in place:
//
//	check the backup → mark → artifacts → database aside, new epoch → witness
//	→ database in place → mark away
//
// Cut short anywhere, it is run again from its beginning.
package backup
