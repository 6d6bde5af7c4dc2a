// Package config says how a server is to run: flags, environment variables and
// a JSON file give the same fields, in that order of strength. It knows no part
// that it configures, and it holds paths to secrets, never secrets.
package config
