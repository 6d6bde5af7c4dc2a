// Package proof says what an approval is about and who gave it: canonical
// JSON, the digests computed from it, and the signatures that bind them.
//
// The server, every client and every emulated phone use this one package, so
// the byte formats below are a public contract. Two families exist:
//
//   - Digests of what an agent asks (actions, asked decisions, arguments) are
//     SHA-256 over canonical JSON (RFC 8785), because an agent in any language
//     holds that material as JSON and must be able to compute them.
//   - Digests of what a person did (what was viewed, what was answered) and all
//     proofs are computed over length-prefixed tuples, because a service
//     worker or a notification extension can write those in a dozen lines.
//
// A tuple is a sequence of fields; each field is a four-byte big-endian length
// followed by that many bytes. The first field is a domain label such as
// "beckon/answer/1", so bytes made for one purpose never verify for another.
// Strings are UTF-8 without normalisation, unsigned integers are eight bytes
// big-endian, digests are their 32 bytes, and a list is its length as an
// integer field followed by the fields of its elements in order.
//
// Signatures are ES256: ECDSA on P-256 over SHA-256 of the tuple, written as
// the 64 bytes r‖s. Public keys travel as the 65-byte uncompressed SEC 1 point.
// Both are what WebCrypto produces ("raw" export, IEEE P1363 signatures), so a
// browser needs no ASN.1.
//
// The vectors in testdata/vectors.json let another implementation check itself.
// Nothing here reads a clock, a random source or a file.
package proof
