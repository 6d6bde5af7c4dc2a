package apns_test

import (
	_ "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	_ "github.com/beckon-dev/beckon/push/emulator/apns"
	_ "github.com/beckon-dev/beckon/push/provider/apns"
	_ "github.com/beckon-dev/beckon/server/app"
)
