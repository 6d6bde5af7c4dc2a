package rpc_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/rpc"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/changelog"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/draft"
	"github.com/beckon-dev/beckon/sync/effect"
	"github.com/beckon-dev/beckon/sync/proof"
	"github.com/beckon-dev/beckon/sync/task"
	"github.com/beckon-dev/beckon/sync/thread"
)

// refusals has a value of every exported error that may come up from below,
// with the code and reason that a client is to see.
func refusals() map[string]struct {
	err          error
	code, reason string
} {
	type refusal = struct {
		err          error
		code, reason string
	}
	return map[string]refusal{
		"app.ErrWrongPrincipal":  {app.ErrWrongPrincipal, "permission_denied", "WRONG_PRINCIPAL"},
		"app.ErrBadToken":        {app.ErrBadToken, "unauthenticated", "BAD_TOKEN"},
		"app.ErrExpired":         {app.ErrExpired, "unauthenticated", "EXPIRED"},
		"app.ErrKillSwitch":      {app.ErrKillSwitch, "failed_precondition", "KILL_SWITCH"},
		"app.ErrRevoked":         {app.ErrRevoked, "unauthenticated", "REVOKED"},
		"app.ErrReused":          {app.ErrReused, "unauthenticated", "REUSED"},
		"app.ErrUnclaimed":       {app.ErrUnclaimed, "failed_precondition", "UNCLAIMED"},
		"app.ErrClaimed":         {app.ErrClaimed, "failed_precondition", "CLAIMED"},
		"app.ErrBadSecret":       {app.ErrBadSecret, "unauthenticated", "BAD_SECRET"},
		"app.ErrScope":           {app.ErrScope, "permission_denied", "SCOPE"},
		"app.ErrCeiling":         {app.ErrCeiling, "permission_denied", "CEILING"},
		"app.ErrKeyReused":       {app.ErrKeyReused, "aborted", "KEY_REUSED"},
		"app.ErrDeniedBefore":    {app.ErrDeniedBefore, "failed_precondition", "DENIED_BEFORE"},
		"app.ErrStale":           {app.ErrStale, "failed_precondition", "STALE"},
		"app.ErrClosed":          {app.ErrClosed, "failed_precondition", "CLOSED"},
		"app.ErrTaskEnded":       {app.ErrTaskEnded, "failed_precondition", "TASK_ENDED"},
		"app.ErrNoAccount":       {app.ErrNoAccount, "invalid_argument", "MISSING"},
		"app.ErrProof":           {app.ErrProof, "permission_denied", "BAD_PROOF"},
		"app.ErrTapSpent":        {app.ErrTapSpent, "unauthenticated", "TAP_SPENT"},
		"app.ErrLeaving":         {app.ErrLeaving, "unavailable", "UNAVAILABLE"},
		"app.ErrUnknownArtifact": {app.ErrUnknownArtifact, "failed_precondition", "UNKNOWN_ARTIFACT"},
		// Damage is for the operator.
		"app.ErrArtifactDamaged": {app.ErrArtifactDamaged, "internal", "INTERNAL"},
		"app.StreamsError":       {&app.StreamsError{What: "device", Max: 4}, "resource_exhausted", "STREAMS"},
		"app.ErrPage":            {app.ErrPage, "invalid_argument", "INVALID"},
		"app.FieldError":         {&app.FieldError{Field: "f", Reason: "LIMIT", Max: 3}, "invalid_argument", "LIMIT"},
		"app.QuotaError":         {&app.QuotaError{What: "tasks", Max: 3}, "resource_exhausted", "QUOTA"},
		"app.StepUpError":        {&app.StepUpError{Needed: decision.StepVerified}, "permission_denied", "STEP_UP"},
		"app.RateError":          {&app.RateError{RetryAfter: time.Second}, "resource_exhausted", "RATE"},

		"store.ErrNotFound": {store.ErrNotFound, "not_found", "NOT_FOUND"},
		"store.ErrDiskFull": {store.ErrDiskFull, "resource_exhausted", "DISK_FULL"},
		// A verb says it as DIGEST_MISMATCH.
		"store.ErrBlobDiffers": {store.ErrBlobDiffers, "internal", "INTERNAL"},
		"store.ErrClosed":      {store.ErrClosed, "unavailable", "UNAVAILABLE"},
		// Only the start of a server meets these.
		"store.ErrFormatNewer": {store.ErrFormatNewer, "internal", "INTERNAL"},
		"store.ErrLocked":      {store.ErrLocked, "internal", "INTERNAL"},
		"store.ErrForeignKey":  {store.ErrForeignKey, "internal", "INTERNAL"},
		// Damage is for the operator; it is logged with its types.
		"store.ErrCorrupt": {store.ErrCorrupt, "internal", "INTERNAL"},

		"task.ErrLeaseLost":            {task.ErrLeaseLost, "failed_precondition", "LEASE_LOST"},
		"task.ErrNotClaimable":         {task.ErrNotClaimable, "failed_precondition", "NOT_CLAIMABLE"},
		"task.ErrEmptyWait":            {task.ErrEmptyWait, "invalid_argument", "MISSING"},
		"task.CheckpointConflictError": {&task.CheckpointConflictError{Version: 7}, "aborted", "CHECKPOINT_CONFLICT"},
		"decision.InvalidError":        {&decision.InvalidError{Field: "items", Reason: "DUPLICATE"}, "invalid_argument", "DUPLICATE"},
		"app.ErrHeld":                  {app.ErrHeld, "failed_precondition", "HELD"},
		"app.ErrNeedsGrant":            {app.ErrNeedsGrant, "failed_precondition", "NEEDS_GRANT"},
		"decision.ErrNoGrant":          {decision.ErrNoGrant, "not_found", "NOT_FOUND"},
		"decision.ErrGrantUsed":        {decision.ErrGrantUsed, "failed_precondition", "GRANT_USED"},
		"decision.ErrGrantVoid":        {decision.ErrGrantVoid, "failed_precondition", "GRANT_VOID"},
		"decision.ErrGrantExpired":     {decision.ErrGrantExpired, "failed_precondition", "GRANT_EXPIRED"},
		"decision.ErrGrantDiffers":     {decision.ErrGrantDiffers, "failed_precondition", "GRANT_DIFFERS"},
		"effect.ErrOtherAction":        {effect.ErrOtherAction, "aborted", "KEY_REUSED"},
		"effect.ErrGeneration":         {effect.ErrGeneration, "failed_precondition", "UNKNOWN_GENERATION"},
		"effect.ErrExit":               {effect.ErrExit, "failed_precondition", "NOT_OFFERED"},
		"thread.ErrNoAgent":            {thread.ErrNoAgent, "failed_precondition", "NO_AGENT"},
		"draft.ErrLarge":               {draft.ErrLarge, "invalid_argument", "LIMIT"},
		"app.ErrHeldBack":              {app.ErrHeldBack, "unavailable", "HELD_BACK"},
		"draft.ErrFull":                {draft.ErrFull, "failed_precondition", "DRAFT_FULL"},
		"changelog.ErrMalformed":       {changelog.ErrMalformed, "invalid_argument", "MALFORMED"},
		"changelog.ErrForbidden":       {changelog.ErrForbidden, "not_found", "NOT_FOUND"},

		"proof.InputError":    {&proof.InputError{Field: "args", Reason: proof.ReasonTooDeep}, "invalid_argument", "TOO_DEEP"},
		"proof.ErrDigest":     {proof.ErrDigest, "invalid_argument", "INVALID"},
		"proof.ErrPublicKey":  {proof.ErrPublicKey, "invalid_argument", "BAD_KEY"},
		"proof.ErrMalformed":  {proof.ErrMalformed, "permission_denied", "BAD_PROOF"},
		"proof.ErrMismatch":   {proof.ErrMismatch, "permission_denied", "BAD_PROOF"},
		"proof.ErrWeakSecret": {proof.ErrWeakSecret, "invalid_argument", "BAD_SECRET"},
		// Only whoever verifies a chain meets this, without a server.
		"proof.ErrChain": {proof.ErrChain, "internal", "INTERNAL"},
		// Only whoever looks at a copy of a store meets this.
		"store.ErrNoStore": {store.ErrNoStore, "internal", "INTERNAL"},
		// A server signs nothing by such a key.
		"proof.ErrPrivateKey": {proof.ErrPrivateKey, "internal", "INTERNAL"},
	}
}

// TestEveryErrorHasARow walks the sources of what lies below and fails on an
// exported error that nobody has given a code.
func TestEveryErrorHasARow(t *testing.T) {
	t.Parallel()
	known := refusals()
	var found []string
	for _, pattern := range []string{"../../sync/*", "../app", "../store"} {
		folders, err := filepath.Glob(pattern)
		check(t, err)
		for _, folder := range folders {
			found = append(found, exportedErrors(t, folder)...)
		}
	}
	if len(found) < 30 {
		t.Fatal("the walk found only", found)
	}
	for _, name := range found {
		if _, ok := known[name]; !ok {
			t.Errorf("%s has no row: give it a code in errors.go and a line here", name)
		}
	}
	for name := range known {
		if !slices.Contains(found, name) {
			t.Errorf("%s is gone", name)
		}
	}
}

// exportedErrors lists "package.Name" of the error values and types of a folder.
func exportedErrors(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	check(t, err)
	var names []string
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".go" || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(folder, e.Name()), nil, parser.SkipObjectResolution)
		check(t, err)
		for _, decl := range file.Decls {
			group, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range group.Specs {
				names = append(names, errorNames(file.Name.Name, spec)...)
			}
		}
	}
	return names
}

func errorNames(pkg string, spec ast.Spec) []string {
	var names []string
	switch s := spec.(type) {
	case *ast.ValueSpec:
		for _, n := range s.Names {
			if strings.HasPrefix(n.Name, "Err") {
				names = append(names, pkg+"."+n.Name)
			}
		}
	case *ast.TypeSpec:
		if s.Name.IsExported() && strings.HasSuffix(s.Name.Name, "Error") {
			names = append(names, pkg+"."+s.Name.Name)
		}
	}
	return names
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	for name, want := range refusals() {
		for _, err := range []error{want.err, errors.Join(errors.New("around"), want.err)} {
			code, reason, after := rpc.Describe(err)
			if code != want.code || reason != want.reason {
				t.Errorf("%s is %s/%s, want %s/%s", name, code, reason, want.code, want.reason)
			}
			if (after > 0) != (reason == "RATE") {
				t.Errorf("%s may be repeated after %v", name, after)
			}
		}
	}
	if code, reason, _ := rpc.Describe(errors.New("something new")); code != "internal" || reason != "INTERNAL" {
		t.Errorf("an unknown error is %s/%s", code, reason)
	}
}
