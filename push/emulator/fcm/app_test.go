package fcm_test

import (
	"context"

	"github.com/beckon-dev/beckon/push/emulator/device"
)

// appFunc is an app that only receives.
type appFunc func(device.Notification)

func (f appFunc) Receive(_ context.Context, n device.Notification)     { f(n) }
func (appFunc) Open(context.Context, device.Notification) error        { return nil }
func (appFunc) Act(context.Context, device.Notification, string) error { return nil }
