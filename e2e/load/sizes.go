package load

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

// Sizes is how much is done.
type Sizes struct {
	// Rounds of everything; the table has medians.
	Rounds int
	// Accounts with one phone each.
	Accounts int
	// Near and Far are the pushes of one backlog at each distance.
	Near, Far int
	// Senders of the push worker; 0 is the server's own number.
	Senders int
	// Rate is questions a second, and Length how long steady loads last.
	Rate   int
	Length time.Duration
	// Stored is how many entities a delta is read out of.
	Stored int
	// Gorush is how many pushes gorush sends one by one to a distant vendor, 39 a
	// second.
	Gorush int
	// Watchers are the streams of the rows about many, a multiple of 1,000.
	Watchers int
}

// SizesFromEnv reads BECKON_LOAD_ROUNDS, _ACCOUNTS, _NEAR, _FAR, _SENDERS,
// _RATE, _SECONDS, _STORED, _GORUSH and _WATCHERS. The error names a variable that is no number.
func SizesFromEnv() (Sizes, error) {
	var failed error
	number := func(name string, fallback int) int {
		name = "BECKON_LOAD_" + name
		text := os.Getenv(name)
		if text == "" {
			return fallback
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			failed = fmt.Errorf("%s is no number: %q", name, text)
		}
		return n
	}
	return Sizes{
		Rounds: number("ROUNDS", 3), Accounts: number("ACCOUNTS", 1000),
		Near: number("NEAR", 20_000), Far: number("FAR", 10_000), Senders: number("SENDERS", 0),
		Rate: number("RATE", 500), Length: time.Duration(number("SECONDS", 5)) * time.Second,
		Stored: number("STORED", 1_000_000), Gorush: number("GORUSH", 400), Watchers: number("WATCHERS", 10_000),
	}, failed
}
