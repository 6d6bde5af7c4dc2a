// Package worker moves deliveries of one lane from the outbox to a vendor.
//
//	Wake, due time ─► dispatcher ─► senders (bounded) ─► finisher ─► Finish
//	                  Claim         Fresh, Send          batches of results
//
// The dispatcher claims no more rows than there are free senders. Each sender
// reads the subject and the address again right before it sends, and holds no
// transaction while it does. Verdicts go back in batches. Every queue between
// them is bounded, so a vendor that does not answer costs latency in its own
// lane and nothing else; other lanes have their own worker.
//
// What a vendor says about addresses is judged by outbox.Suspicion, which lives as
// long as the worker: after a restart nothing is known, so nothing dies.
//
// A crash at any line loses nothing: rows stay leased until their lease ends
// and are then sent again under the same identities.
package worker
