// Package journal keeps, in a folder outside of the data folder and its backups,
// what a restore must neither lose nor bring back:
//
//	witness      the last commit and the last epoch of the store: a database
//	             that stands before them was taken back
//	revocations  what was taken away, one line of JSON each, in order: a
//	             backup may still have it
//
// A line of revocations is synced before anybody hears of it. The witness is
// written after each commit and before anybody hears of that, so however the
// process ends, what was said is witnessed. It is synced every five seconds at most:
// a loss of power may set it back by that, but never ahead of the database. So
// a witness ahead of its database is always a restore.
package journal
