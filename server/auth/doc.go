// Package auth turns credentials into statements that the rest of the server
// may believe.
//
// This part mints and verifies Beckon's own JWTs. Two profiles are read, each with
// its own key and its own typ, so that one never passes for the other:
//
//   - An access token (bk-at+jwt) says for ten minutes which installation of
//     which account calls. It is all a request needs, except where an act asks
//     for a proof by the installation's key.
//   - A tap token (bk-act+jwt) travels in a push and stands for one button: one
//     decision at one revision, one verb, one installation, used once.
//
// A permit (bk-permit+jwt) is a third kind, which the server makes and never
// reads: it tells a tool gateway which one attempt of which action got GO. It is
// signed by Ed25519, and the public key is published.
//
// The JWT library signs and checks signatures. Everything else about a token is
// read by the strict reader in reader.go, because a general parser accepts what
// an issuer that reads its own tokens never wrote: unknown or repeated members,
// names in another case, dates as strings, any typ.
//
// A token that fails gives an error and nothing else: none of its claims reach
// the caller, a log or an error text.
package auth
