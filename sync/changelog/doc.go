// Package changelog holds the words and rules of state sync: what a scope, a
// change and a page are, and whether a cursor is still good.
//
// A scope is a set of entities in which every entity owns exactly one index
// row, at the sequence number of its latest change. A write moves that row, so
// catching up costs what changed and never how often. Sequence numbers are
// given per scope inside the committing transaction, so commit order is
// sequence order.
//
// After a restore the store has another future than the one some clients saw.
// The store keeps an ordered list of epochs, and each scope notes where it
// stood when an epoch first wrote to it: its base. A cursor of an earlier epoch
// is good only if everything its client may have applied lies at or below every
// base noted since; [Judge] is that rule. Where the store was written to before
// anybody noticed that it had been restored, no base says what was lost, and
// every epoch up to then is cut off.
package changelog
