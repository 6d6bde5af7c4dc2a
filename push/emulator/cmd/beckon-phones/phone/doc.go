// Package phone is Beckon's app as it runs on one emulated phone, an iPhone or an
// Android phone: it pairs with keys of its own, registers for pushes, shows what
// arrives, taps buttons on the lock screen, opens cards and answers them. It does
// what PROTOCOL.md asks of an app and knows nothing of the server but the wire, so
// that a server it works with will work with a real one.
//
//	push ─► device (the system; on an iPhone it shows, replaces, rings)
//	          └─► App.Receive   drop foreign pushes · withdraw, sweep · on Android show ·
//	                            badge · auto tap · sync
//	finger ─► App.Press ─► device.Act  ─► App.Act   POST /act with proof
//	          App.Tap   ─► device.Open ─► App.Open  read by sync, mark read
//	          App.OpenThread                        the same from the app's own list
//	          App.Answer                            AnswerDecision with proof
//	          App.Leave                             closes the thread
//
// While a thread is open, the app reports presence; see presence.go.
//
// A [Fault] makes a phone misbehave in one chosen way, for tests of what a server
// has to refuse.
package phone
