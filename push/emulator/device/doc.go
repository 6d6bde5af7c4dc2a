// Package device models what a phone does with the pushes a vendor hands to it: it
// shows alerts, replaces them by tag, keeps one badge per app, hands background
// pushes to the app and writes everything down. In front of the phone stands what
// each vendor stores for it while it is out of reach.
//
//	AcceptAPNs ─► online? ─┬──────────────────────► Deliver
//	                       └─ newest push of the app, until it expires
//	AcceptFCM ──► online, awake or high, burst? ─┬► Deliver
//	                       └─ 4 collapse keys and 100 messages, until they expire
//
//	Deliver ─► alert ─┬─ tag showing already ─► replaced (never a new ring)
//	          │       ├─ passive ────────────► shown    (no ring)
//	          │       └─ else ───────────────► rang
//	          ├─ badge ──► badge; on iOS 0 also removes what the app has on screen
//	          └─ background, wake, mutable ──► App.Receive
//	person:   Open, Act, Dismiss, Launch, ForceQuit, SetNotifications
//	app:      Notify, Remove, SetBadge
//	phone:    SetOnline, SetReorder, SetDoze, Maintain, Tick
//
// Deliver changes the screen before it returns; App.Receive runs afterwards, one
// call at a time and in order. Time passes by Config.Now alone: after moving the
// clock, Tick does what has become due.
//
// # Where the rules are from
//
//	one stored push for an app, expiration, 0      Apple: "Sending notification requests to APNs"
//	kept up to 30 days without expiration          Apple: "Viewing the status of push notifications"
//	background pushes: 3 an hour, none after quit  Apple: "Pushing background updates to your App"
//	no extension without a visible alert           Apple: "Modifying content in newly delivered notifications"
//	badge 0 clears the screen                      seen on iOS, mattermost/mattermost-push-proxy#102
//	4 collapse keys, 100 messages, 4 weeks         Firebase: "About FCM messages", "Set the lifespan of a message"
//	onDeletedMessages                              Firebase: "Receive messages in an Android app"
//	20 collapsible at once, then one in 3 minutes  Firebase: "Throttling and quotas"
//	240 a minute and 5,000 an hour for a device    Firebase: "Throttling and quotas"
//	TTL 0 is never throttled nor stored            Firebase: "Set the lifespan of a message"
//	normal priority waits in Doze                  Android: "Optimize for Doze and App Standby"
//	high priority that shows nothing is demoted    Firebase: "Set and manage Android message priority"
//	a force-stopped app gets nothing               Android: Intent.FLAG_EXCLUDE_STOPPED_PACKAGES
//
// The vendors give no number for how many invisible messages cost an app its
// priority (here 5 in a row within 7 days), call the limit of background pushes
// approximate (here exactly 3 in an hour) and do not say which stored messages go
// first at a limit (here the oldest). Neither promises an order; here it is
// kept unless SetReorder lets a stored push come behind a newer one.
package device
