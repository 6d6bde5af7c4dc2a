package proof

// The standard's vectors sign plain messages, which nothing outside may.
var (
	SignRaw   = sign
	VerifyRaw = verify
)
