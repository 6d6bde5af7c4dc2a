package arch

import "slices"

// edges says where code of others, and the few parts of the standard library
// that are not for everyone, may be used.
func edges() []Edge {
	return slices.Concat(wireEdges(), partEdges(), vendorEdges(), testEdges())
}

// anywhere is every folder of code.
func anywhere() []string {
	return []string{"sync/**", "push/**", "server/**", "clients/**", "e2e/**", "proto/**"}
}

// wireEdges is what speaks protobuf and Connect.
func wireEdges() []Edge {
	connect := []string{"server", "server/rpc", "server/httpapi", "server/admin", "clients/**", "e2e/**", "push/emulator/cmd/**"}
	const edge = "transport stops at the edge; below it errors and calls are our own"
	return []Edge{
		{Import: "connectrpc.com", Folders: connect, Why: edge},
		{Import: "google.golang.org/protobuf", Folders: []string{"server/rpc", "server/admin", "server/store/**", "clients/**", "e2e/**", "push/emulator/cmd/**"},
			Tests: []string{"push/provider/**", "server/**"}, Why: edge},
		{Import: "buf.build", Folders: []string{"server/rpc", "e2e/**"}, Why: edge},
		{Import: "google.golang.org/genproto", Folders: []string{"server/rpc", "e2e/**"}, Why: edge},
	}
}

// partEdges is the parts the server stands on.
func partEdges() []Edge {
	return []Edge{
		{Import: "go.etcd.io/bbolt", Folders: []string{"server/store/boltstore"}, Why: "one back end, one folder"},
		{Import: "github.com/jackc/pgx", Folders: []string{"server/store/pgstore/**"}, Why: "one back end, one folder"},
		{Import: "github.com/pressly/goose", Folders: []string{"server/store/pgstore/**"}, Why: "one back end, one folder"},
		{Import: "github.com/golang-jwt/jwt", Folders: []string{"server/auth", "push/provider/**", "push/emulator/**", "e2e/**"},
			Why: "tokens are read by auth and made for vendors, in strict profiles"},
		{Import: "github.com/MicahParks/jwkset", Folders: []string{"server/auth"}, Why: "foreign keys are read by auth"},
		{Import: "github.com/gowebpki/jcs", Folders: []string{"sync/proof"}, Why: "there is one canonical form"},
		{Import: "github.com/santhosh-tekuri/jsonschema", Folders: []string{"server/policy", "server/app"}, Why: "schemas are compiled outside transactions"},
		{Import: "cel.dev", Folders: []string{"server/policy"}, Why: "expressions run under the cost limit of policy"},
		{Import: "code.dny.dev/ssrf", Folders: []string{"server", "server/auth", "push/provider/**"}, Why: "outbound calls only"},
		{Import: "github.com/prometheus", Folders: []string{"server", "server/httpapi", "e2e/**"}, Why: "the registry is made by the wiring"},
		{Import: "go.opentelemetry.io", Folders: []string{"server", "server/rpc", "server/httpapi", "e2e/**"}, Why: "the providers are made by the wiring"},
		{Import: "github.com/alecthomas/kong", Folders: []string{"server/cmd/**", "server/config", "clients/cmd/**", "push/emulator/cmd/**", "e2e/**"}, Why: "command lines belong to commands"},
		{Import: "charm.land", Folders: []string{"clients/cmd/**"}, Why: "the terminal inbox"},
		{Import: "go.yaml.in/yaml", Folders: []string{"server/config", "clients/cmd/**", "e2e/**"}, Why: "files people write"},
		{Import: "github.com/rivo/uniseg", Folders: []string{"push/plan", "clients/cmd/**"}, Tests: []string{"push/provider/**"}, Why: "text is cut between what a person sees as letters"},
		{Import: "github.com/google/btree", Folders: []string{"server/store/internal/**"}, Why: "the ordered keyspace of the memory store"},
		{Import: "golang.org/x/net", Folders: []string{"push/provider/**", "push/emulator/**", "server", "server/rpc", "e2e/**"}, Why: "HTTP/2 settings"},
		{Import: "golang.org/x/sync", Folders: []string{"push/**", "server/**", "clients/**", "e2e/**"}, Why: "sync/** starts no goroutine groups"},
		{Import: "golang.org/x/time", Folders: []string{"push/worker", "push/provider/**", "server/**", "e2e/**"}, Why: "rate limits"},
		{Import: "golang.org/x/text", Folders: []string{"server/**", "push/provider/**", "clients/**"}, Why: "text people read"},
		{Import: "golang.org/x/term", Folders: []string{"clients/cmd/**"}, Why: "terminals"},
		{Import: "golang.org/x/sys", Folders: []string{"server/**", "e2e/**"}, Why: "sockets, disks and processes"},
	}
}

// vendorEdges is the push vendors' own kits.
func vendorEdges() []Edge {
	const why = "vendor kits are wrapped: their faults stop at one folder"
	return []Edge{
		{Import: "github.com/sideshow/apns2", Folders: []string{"push/provider/apns"}, Why: why},
		{Import: "firebase.google.com/go", Folders: []string{"push/provider/fcm"}, Why: why},
		{Import: "google.golang.org/api", Folders: []string{"push/provider/fcm"}, Why: why},
		{Import: "golang.org/x/oauth2", Folders: []string{"push/provider/fcm"}, Why: why},
	}
}

// testEdges is what tests are written with, and the logger nobody may use.
func testEdges() []Edge {
	const why = "for tests"
	return []Edge{
		{Import: "github.com/google/go-cmp", Folders: []string{"e2e/**"}, Tests: anywhere(), Why: why},
		{Import: "pgregory.net/rapid", Folders: []string{"e2e/**"}, Tests: anywhere(), Why: why},
		{Import: "go.uber.org/goleak", Folders: []string{"e2e/**"}, Tests: anywhere(), Why: why},
		{Import: "github.com/rogpeppe/go-internal", Folders: []string{"e2e/**"}, Tests: anywhere(), Why: why},
		{Import: "testing", Folders: []string{"e2e/**"}, Tests: anywhere(), Why: why},
		{Import: "net/http/httptest", Folders: []string{"e2e/**"}, Tests: anywhere(), Why: why},
		{Import: "log", Folders: []string{"e2e/load/**"}, Why: "slog is handed in; there is no global logger"},
		{Import: "log/slog", Folders: anywhere()},
	}
}

// bannedWords are names of things outside this repository: folders of the
// machine it was written on and hosts that packages come from. They are put
// together here so that this file does not hold them itself.
func bannedWords() []string {
	return []string{
		"/wo" + "rk/", "/ro" + "ot/", "shared/refe" + "rence", "desi" + "gn.md",
		"proxy.gol" + "ang.org", "sum.gol" + "ang.org", "registry.npm" + "js.org",
		"py" + "pi.org", "crat" + "es.io", "repo1.ma" + "ven", "deb.deb" + "ian.org",
	}
}
