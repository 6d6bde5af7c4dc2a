package apns_test

import (
	"testing"

	"github.com/beckon-dev/beckon/push/emulator/apns"
)

func TestReason_Known(t *testing.T) {
	t.Parallel()
	for reason, want := range map[apns.Reason]bool{
		apns.Unregistered: true, apns.BadDeviceToken: true, apns.Shutdown: true, apns.EmulatorStrict: true, "Unregisterd": false, "": false,
	} {
		if got := reason.Known(); got != want {
			t.Errorf("%q: %v", reason, got)
		}
	}
}
