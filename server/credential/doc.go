// Package credential makes, reads and compares the secrets Beckon hands out:
// opaque tokens, pairing codes, the keys derived from the master key, and the
// rule by which a refresh token is exchanged for the next one.
//
// An opaque token reads bk_<kind>_<id>_<secret>_<crc>. The id is the index key
// of its row; the secret holds 256 bits; the CRC lets scanners and clients tell
// a typo offline. A server stores [Hash] only: with that much entropy a slow
// password hash would protect nothing and let strangers burn CPU.
//
// The refresh life cycle, per installation ([Family]):
//
//	            current, any attempt              current, same attempt
//	┌──────────┐ ISSUED   ┌────────────────────┐ REPEATED (same successor)
//	│ settled  │─────────▶│ successor waiting  │────┐
//	└──────────┘          │ (bound to attempt) │◀───┘
//	      │               └────────────────────┘◀───┐
//	      │                 │       │  successor    │ ISSUED: it becomes current,
//	      │                 │       └───────────────┘ the old one is retired
//	      │ unknown         │ current with another attempt, or unknown
//	      ▼                 ▼
//	     REUSED: the family is revoked, all its sessions end
//
// After a restore from a backup an unknown token with a good proof may be
// younger than the store, and is taken once: RECOVERED.
//
// Everything here is a pure function of its arguments, except that the master
// key file is read and written. Randomness is handed in.
package credential
