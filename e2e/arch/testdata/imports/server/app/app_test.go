package app_test

import (
	_ "github.com/beckon-dev/beckon/server/app"
	_ "github.com/beckon-dev/beckon/server/rpc"
	_ "github.com/beckon-dev/beckon/server/store/memstore"
	_ "github.com/beckon-dev/beckon/server/store/storetest"
)
