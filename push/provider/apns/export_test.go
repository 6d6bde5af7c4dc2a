package apns

import (
	"maps"

	"github.com/beckon-dev/beckon/push"
)

// Reasons is the table that Classify goes by.
func Reasons() map[string]push.Class { return maps.Clone(reasons) }

// The times that bound how long a dead connection can cost.
const (
	DefaultReadIdle    = defaultReadIdle
	DefaultPingTimeout = defaultPingTimeout
	DialTimeout        = dialTimeout
)
