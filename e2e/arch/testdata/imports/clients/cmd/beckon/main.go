// Package main is a fixture.
package main

import (
	_ "github.com/beckon-dev/beckon/clients/bridge/hooks"
	_ "github.com/beckon-dev/beckon/clients/go"
	_ "github.com/beckon-dev/beckon/server/config"
)
