package apns

import (
	"maps"

	"github.com/beckon-dev/beckon/push"
)

// Reasons is the table that Classify goes by.
func Reasons() map[string]push.Class { return maps.Clone(reasons) }
