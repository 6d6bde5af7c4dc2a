package device

import "context"

// App is the program that stands for an installed app: it reacts to what the
// system hands to it, as an app's own code would. It may call the phone's methods
// from every callback.
type App interface {
	// Receive gets a background push, or an alert that asked for the app or its
	// extension (Wake, Mutable). Calls come one at a time in order of delivery,
	// from a goroutine of the phone; ctx ends when the phone closes.
	Receive(ctx context.Context, n Notification)
	// Open runs when the person taps an alert. Its error is handed back to
	// whoever tapped.
	Open(ctx context.Context, n Notification) error
	// Act runs when the person taps an action button of an alert.
	Act(ctx context.Context, n Notification, action string) error
}

// A Switched app is an App that hears when the person allows or forbids its
// notifications, as an app does that asks the system at each start (Apple:
// "UNNotificationSettings"; Android: areNotificationsEnabled).
type Switched interface {
	NotificationsSwitched(ctx context.Context, allowed bool)
}

// A Resyncing app is an App that hears when FCM deleted messages stored for it
// (Firebase: FirebaseMessagingService.onDeletedMessages), and then has to read
// everything from its own server.
type Resyncing interface {
	MessagesDeleted(ctx context.Context)
}
