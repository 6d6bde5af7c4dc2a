// Package replica folds the pages of one scope into a view: what a client
// holds, and the place from which it goes on reading. Every client has this
// fold, in its own language; this one is for Go and is the model of the others.
//
// A view has one reader. It is either bootstrapping, which means paging through
// the present state, or only following changes; it may follow changes while it
// bootstraps:
//
//	view          | ApplyBootstrap              | ApplyChanges           | ApplyPoint | ApplyReset
//	new, or reset | puts, takes cursor at H     | dropped                | dropped    | stays
//	bootstrapping | puts; complete: also sweeps | puts, deletes, moves   | puts       | starts again
//	following     | dropped                     | puts, deletes, moves   | puts       | starts again
//
// The rules that keep a view equal to what a fresh read would show:
//
//   - A page and its cursor are applied together or not at all, and only
//     a page of changes moves the cursor.
//   - What is newer than held is applied, anything else is not, so duplicates
//     and overlap are harmless.
//   - While a bootstrap runs, deletions are remembered: a page that was read
//     before one and arrives after it must not bring the entity back.
//   - A reset sets the version of everything held to 0 and keeps showing it:
//     versions of a lost future must not stand in the way of true ones, and a
//     screen is never blanked. The last page of the bootstrap sweeps what is
//     still at 0, which is what no page, change or point read has named since:
//     cursors are opaque, so the position the bootstrap began at cannot be
//     compared with versions, and need not be. What only a point read named
//     was alive at the horizon; if it is gone by now, its tombstone is ahead
//     of the cursor.
//   - An answer counts only if it answers the place the view is at. Answers
//     to a superseded reader say another place and are dropped.
//   - Bootstrap pages and point reads of another epoch than the cursor's are
//     dropped, and so are point reads older than the horizon. A page of changes
//     may be of a newer epoch: the server has judged the cursor good there, for
//     the horizon that was asked with. If the horizon has risen since, by a
//     bootstrap page or a point read, that judgement is void and the page is
//     dropped: the view may have learnt what a restore has lost.
//
// Cursors, stamps, page tokens and epochs are opaque bytes. The only thing a
// client may do with them beside giving them back is to compare two stamps of
// one epoch bytewise.
package replica
