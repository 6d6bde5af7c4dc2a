// Package device models what a phone does with the pushes a vendor hands to it,
// apart from any vendor: it shows alerts, replaces them by tag, keeps one badge
// per app, hands background pushes to the app and writes everything down.
//
//	Deliver ─► alert ─┬─ tag showing already ─► replaced (never a new ring)
//	          │       ├─ passive ────────────► shown    (no ring)
//	          │       └─ else ───────────────► rang
//	          ├─ badge ──► badge; 0 also removes what the app has on screen
//	          └─ background, wake, mutable ──► App.Receive
//	person:   Open, Act, Dismiss             app: Remove, SetBadge
//
// Deliver changes the screen before it returns; App.Receive runs afterwards, one
// call at a time and in order. A phone without network is not modelled here yet:
// what a vendor stores for it differs by vendor, so that queue stands in front of
// Deliver, on the vendor's side.
package device
