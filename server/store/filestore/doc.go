// Package filestore keeps the bytes of artifacts as files, one folder an
// account: <root>/<account>/<sha256 in hex>. What is on its way in has a name
// of its own in the same folder, ".<random>.part".
//
// A file gets its name in this order, so that no loss of power leaves a name
// without its bytes: write, sync the file, rename, sync the folder. The row
// that promises the bytes is written after that, by others.
package filestore
