package arch

import "slices"

// Repository gives the rules of this repository. The import table goes down
// only: cmd → server → the edges (rpc, httpapi, admin, maintenance, auth) →
// app and the back ends → policy, store, push/worker, push/provider → push and
// the folds → the life cycles.
func Repository() Rules {
	return Rules{
		Module: "github.com/beckon-dev/beckon",
		Skip:   []string{".git", "node_modules", "dist", "/.build", "/bin", "/data"},
		Rows:   rows(),
		// A real store, the strict vendor stand-ins and the pure packages are
		// what tests build their world from.
		TestSupport: []string{"server/store/memstore", "push/emulator/*"},
		Edges:       edges(),
		Clockless:   []string{"sync/**", "push/plan/**", "push/outbox/**"},
		BannedNames: []string{"util", "common", "helper", "manager", "model", "types", "misc"},
		MaxLines:    800,
		WarnLines:   500,
		BannedWords: bannedWords(),
	}
}

// rows is the import table. Specific folders stand before the patterns that
// would cover them too.
func rows() []Row {
	return slices.Concat(syncRows(), pushRows(), serverRows(), clientRows(), e2eRows())
}

// with gives a list of its own, so that no row shares its tail with another.
func with(base []string, more ...string) []string { return slices.Concat(base, more) }

// lifeCycles is what speaks of tasks, decisions, effects and threads.
func lifeCycles() []string {
	return []string{"sync/task", "sync/decision", "sync/effect", "sync/thread", "sync/off"}
}

// domain is the life cycles, the numbered changes they leave, and the drafts
// that name those.
func domain() []string { return with(lifeCycles(), "sync/changelog", "sync/draft") }

func syncRows() []Row {
	const why = "the life cycles are pure and know nothing of each other's storage, transport or pushes"
	return []Row{
		{Folder: "sync/off", Why: "a leaf: every rule may ask it"},
		{Folder: "sync/proof", Imports: []string{"sync/off"}, Why: "clients and phones compile it as well"},
		{Folder: "sync/task", Imports: []string{"sync/off"}, Why: why},
		{Folder: "sync/decision", Imports: []string{"sync/off", "sync/proof"}, Why: why},
		{Folder: "sync/effect", Imports: []string{"sync/off", "sync/proof"}, Why: why},
		{Folder: "sync/draft", Imports: []string{"sync/changelog", "sync/decision"}, Why: why},
		{Folder: "sync/thread", Imports: []string{"sync/off"}, Why: why},
		{Folder: "sync/changelog", Imports: lifeCycles(), Why: "changes name what the life cycles own"},
		{Folder: "sync/replica", Imports: domain(), Why: "clients compile it as well"},
		{Folder: "sync/feed", Imports: domain(), Why: "it wakes and reads, it decides nothing"},
	}
}

func pushRows() []Row {
	const stands = "an emulator that shared code with what it judges would share its mistakes"
	wire := []string{"proto/gen/beckon/v1/**"}
	return []Row{
		{Folder: "push", Imports: domain(), Why: "the words of every push"},
		{Folder: "push/plan", Imports: with(domain(), "push"), Why: "pure"},
		{Folder: "push/outbox", Imports: with(domain(), "push"), Why: "pure"},
		{Folder: "push/worker", Imports: with(domain(), "push", "push/outbox"), Why: "it moves deliveries, plan has made them"},
		{Folder: "push/verdicttest", Imports: []string{"push", "push/outbox"}, Why: "what verdicts lead to, for tests"},
		{Folder: "push/provider/**", Imports: with(domain(), "push", "push/provider/**"), Tests: with(wire, "push/plan"), Why: "rendering and sending; payloads are written by hand and only tests decode them with the wire types"},
		{Folder: "push/emulator/cmd/**", Imports: []string{
			"push/emulator/**", "clients/**", "proto/gen/beckon/v1/**",
			"sync/replica", "sync/changelog", "sync/proof",
		}, Why: "its phones pair, pull and sign as clients do"},
		{Folder: "push/emulator/script", Imports: []string{"push/emulator/journal"}, Why: "what the stand-ins for the vendors share, and knows none of them"},
		{Folder: "push/emulator/*", Imports: []string{"push/emulator/*"}, Why: stands},
	}
}

func serverRows() []Row {
	const leaf = "a leaf: standard library and, for credentials, the proofs"
	everySync := []string{"sync/*"}
	storage := with(everySync, "push", "push/outbox", "server/credential", "proto/gen/beckon/storage/v1", "server/failpoint", "server/store/internal/**")
	backEnd := []string{"server/store", "server/store/internal/**", "server/failpoint", "sync/off"}
	edge := with(everySync, "server/app", "server/policy", "server/credential", "server/store", "server/failpoint", "push")
	return []Row{
		{Folder: "server/failpoint", Why: leaf},
		{Folder: "server/credential", Imports: []string{"sync/proof"}, Why: leaf},
		{Folder: "server/config", Why: "flags, environment and file; it knows no part that it configures"},
		{Folder: "server/policy", Imports: with(everySync, "push", "server/credential"), Why: "pure evaluation"},

		{Folder: "server/store", Imports: storage, Why: "records and indexes; rules live above"},
		{Folder: "server/store/storetest", Imports: with(storage, "server/store", "server/store/memstore"), Why: "the suite every back end passes"},
		{Folder: "server/store/internal/**", Imports: []string{"server/store", "server/store/internal/**"}, Why: "what the back ends share"},
		{Folder: "server/store/memstore", Imports: backEnd, Why: "a back end moves bytes"},
		{Folder: "server/store/boltstore", Imports: backEnd, Why: "a back end moves bytes"},
		{Folder: "server/store/filestore", Imports: backEnd, Why: "a back end moves bytes"},
		{Folder: "server/store/journal", Imports: backEnd, Why: "it keeps what no backup may"},
		{Folder: "server/store/pgstore/**", Imports: with(backEnd, "server/store/pgstore/**"), Why: "a back end moves bytes"},

		{Folder: "server/app", Imports: with(everySync, "push", "push/plan", "push/outbox", "push/worker", "server/policy", "server/credential", "server/store", "server/failpoint"),
			Tests: []string{"server/store/boltstore"},
			Why:   "verbs; who calls is settled before (auth imports app)"},

		{Folder: "server/auth", Imports: edge, Why: "credentials to principals, by app verbs"},
		{Folder: "server/rpc", Imports: with(edge, "proto/gen/beckon/v1/**"), Tests: []string{"server/auth"},
			Why: "it translates; the verifier is handed in"},
		{Folder: "server/httpapi", Imports: edge, Why: "plain HTTP, no wire types"},
		{Folder: "server/admin", Imports: edge, Why: "the operator's socket"},
		{Folder: "server/maintenance", Imports: with(edge, "push/worker"), Why: "timed loops that call verbs"},

		{Folder: "server/backup", Imports: []string{"server/store", "server/store/boltstore", "server/store/journal", "server/failpoint"}, Why: "it copies a data folder, and knows no verb"},

		{Folder: "server", Imports: with(everySync, "push", "push/plan", "push/outbox", "push/worker", "push/provider/**",
			"server/*", "server/store/boltstore", "server/store/filestore", "server/store/journal", "server/store/pgstore/**", "clients/bridge/**", "clients/web"),
			Tests: []string{"clients/go/**", "proto/gen/beckon/v1/**"},
			Why:   "all wiring and nothing else"},
		{Folder: "server/cmd/**", Imports: []string{"server", "server/config", "server/admin", "server/failpoint", "server/cmd/**"}, Why: "main only"},
	}
}

func clientRows() []Row {
	const why = "clients know the wire and the fold, nothing else of ours"
	known := []string{"proto/gen/beckon/v1/**", "sync/replica", "sync/changelog", "sync/proof", "clients/go/**"}
	return []Row{
		{Folder: "proto/gen/beckon/v1/**", Imports: []string{"proto/gen/beckon/v1/**"}, Why: "generated"},
		{Folder: "proto/gen/beckon/storage/v1", Why: "generated; disk and wire evolve apart"},
		{Folder: "clients/go/**", Imports: known, Why: why},
		{Folder: "clients/bridge/**", Imports: with(known, "clients/bridge/**"), Why: why},
		{Folder: "clients/cmd/**", Imports: with(known, "clients/bridge/**", "clients/cmd/**"), Why: why},
		{Folder: "clients/web", Why: "it embeds files"},
	}
}

func e2eRows() []Row {
	everything := []string{"sync/**", "push/**", "server/**", "clients/**", "proto/gen/beckon/v1/**", "e2e/**"}
	return []Row{
		{Folder: "e2e/arch", Why: "it judges the others and uses none"},
		{Folder: "e2e/verify/**", Imports: everything, Except: []string{"push/plan", "push/outbox", "sync/off"},
			Why: "a checker that used what it judges, or asked which rule is off, would be blind"},
		{Folder: "e2e/stack/**", Imports: everything},
		{Folder: "e2e/scenario/**", Imports: everything},
		{Folder: "e2e/outage/**", Imports: everything},
		{Folder: "e2e/resume/**", Imports: everything},
		{Folder: "e2e/sim/**", Imports: everything, Except: []string{"push/plan", "push/outbox", "sync/off"},
			Why: "its checkers, as those of e2e/verify, share nothing with what they judge"},
		{Folder: "e2e/faultproxy", Why: "a bad network for clients of any make knows nothing of ours"},
		{Folder: "e2e/faultproxy/cmd/*", Imports: []string{"e2e/faultproxy"}, Why: "as what it runs"},
		{Folder: "e2e/pitfalls/**", Imports: everything},
		{Folder: "e2e/alerts/oracle", Why: "it judges by the story alone and uses nothing of what it judges"},
		{Folder: "e2e/alerts/**", Imports: everything, Except: []string{"push/plan", "push/outbox", "sync/off"},
			Why: "what tells the story plans and decides nothing itself"},
		{Folder: "e2e/conformance/**", Imports: everything},
		{Folder: "e2e/browser/**", Imports: everything},
		{Folder: "e2e/load/**", Imports: everything},
	}
}
