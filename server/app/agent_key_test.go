package app_test

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/credential"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
)

func (h *harness) issue(agent string, days int) app.IssuedKey {
	h.t.Helper()
	key, err := h.app.IssueKey(h.t.Context(), h.phone.Principal, agent, days)
	check(h.t, err)
	return key
}

func TestIssueKey(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	_, err := h.app.IssueKey(t.Context(), h.phone.Principal, h.agent.Agent, 0)
	refusedStep(t, "nobody there", err, decision.StepVerified)
	h.elevate(h.phone)
	key := h.issue(h.agent.Agent, 0)
	if got := key.Key.ExpireTime.Sub(h.clock.Now()); got != 90*24*time.Hour {
		t.Errorf("a key lives %v", got)
	}
	p, err := h.app.AuthenticateAgent(t.Context(), key.Secret)
	check(t, err)
	want := policy.Principal{Kind: policy.Agent, Agent: h.agent.Agent, Key: key.Key.ID}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Errorf("principal:\n%s", diff)
	}
	_, err = h.app.IssueKey(t.Context(), h.phone.Principal, h.agent.Agent, 0)
	refusedQuota(t, "a third", err, "keys_per_agent", 2)
	check(t, h.app.RevokeKey(t.Context(), h.phone.Principal, key.Key.ID))
	short := h.issue(h.agent.Agent, 1)
	h.clock.Advance(24 * time.Hour)
	_, err = h.app.AuthenticateAgent(t.Context(), short.Secret)
	refused(t, "after its day", err, app.ErrExpired)
	h.elevate(h.phone)
	h.issue(h.agent.Agent, 365) // one that is over takes no place
	for _, days := range []int{-1, 366} {
		_, err = h.app.IssueKey(t.Context(), h.phone.Principal, h.agent.Agent, days)
		refusedField(t, "days", err, "days")
	}
}

func TestKeysAreTheOwners(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	foreign, secret := h.newAgent(h.newAccount(), "Foreign")
	h.elevate(h.phone)
	_, err := h.app.LinkAgent(t.Context(), h.phone.Principal, app.LinkAgent{Agent: foreign.Agent})
	check(t, err)
	_, err = h.app.IssueKey(t.Context(), h.phone.Principal, foreign.Agent, 0)
	refused(t, "issue", err, store.ErrNotFound)
	refused(t, "revoke", h.app.RevokeKey(t.Context(), h.phone.Principal, foreign.Key), store.ErrNotFound)
	_, err = h.app.AuthenticateAgent(t.Context(), secret)
	refused(t, "the foreign key", err, nil)
	_, pair := h.pair(h.phone, store.PlatformIOS)
	refused(t, "a refresh token's row", h.app.RevokeKey(t.Context(), h.phone.Principal, pair.Refresh.ID()), store.ErrNotFound)
	refused(t, "unknown", h.app.RevokeKey(t.Context(), h.phone.Principal, "0000000000"), store.ErrNotFound)
}

func TestRevokeKey(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	_, held := h.startTask("one")
	token, err := h.app.MintTaskToken(t.Context(), h.agent, held)
	check(t, err)
	check(t, h.app.RevokeKey(t.Context(), h.phone.Principal, h.agent.Key))
	_, err = h.app.AuthenticateAgent(t.Context(), h.agentToken)
	refused(t, "the key", err, app.ErrRevoked)
	_, err = h.app.AuthenticateAgent(t.Context(), token.Token)
	refused(t, "a task token of it", err, app.ErrRevoked)
	refused(t, "again", h.app.RevokeKey(t.Context(), h.phone.Principal, h.agent.Key), nil)
	if diff := cmp.Diff([]string{""}, h.audited(h.account, "key.revoked")); diff != "" {
		t.Errorf("audit:\n%s", diff)
	}
}

func TestAuthenticateAgentRefusals(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	sameID := func(kind credential.Kind, id string) credential.Token {
		guess, err := credential.NewWithID(rand.Reader, kind, id)
		check(t, err)
		return guess
	}
	_, pair := h.pair(h.phone, store.PlatformIOS)
	for name, token := range map[string]credential.Token{
		"nothing":                {},
		"unknown":                newToken(t, credential.KindAgent),
		"another secret":         sameID(credential.KindAgent, h.agentToken.ID()),
		"a task token of its id": sameID(credential.KindTask, h.agentToken.ID()),
		"a refresh token":        pair.Refresh,
		"an owner token":         newToken(t, credential.KindOwner),
	} {
		p, err := h.app.AuthenticateAgent(t.Context(), token)
		refused(t, name, err, app.ErrBadToken)
		if p != (policy.Principal{}) {
			t.Errorf("%s: a principal comes with the error", name)
		}
	}
	h.clock.Advance(90*24*time.Hour - time.Second)
	_, err := h.app.AuthenticateAgent(t.Context(), h.agentToken)
	refused(t, "a second before its end", err, nil)
	h.clock.Advance(time.Second)
	_, err = h.app.AuthenticateAgent(t.Context(), h.agentToken)
	refused(t, "at its end", err, app.ErrExpired)
}

func TestTaskToken(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	token, err := h.app.MintTaskToken(t.Context(), h.agent, held)
	check(t, err)
	if got := token.ExpireTime.Sub(h.clock.Now()); got != time.Hour {
		t.Errorf("a token lives %v", got)
	}
	p, err := h.app.AuthenticateAgent(t.Context(), token.Token)
	check(t, err)
	want := policy.Principal{Kind: policy.TaskToken, Agent: h.agent.Agent, Key: h.agent.Key, Task: s.ID, Lease: held.Lease}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Errorf("principal:\n%s", diff)
	}
	if _, err := h.app.Heartbeat(t.Context(), p, app.Heartbeat{Held: held}); err != nil {
		t.Errorf("a child's heartbeat: %v", err)
	}
	_, err = h.app.MintTaskToken(t.Context(), p, held)
	refused(t, "minted by a child", err, app.ErrWrongPrincipal)
	_, err = h.app.MintTaskToken(t.Context(), h.agent, app.Held{Task: s.ID, Lease: "lse_other"})
	refused(t, "under another lease", err, task.ErrLeaseLost)
	_, err = h.app.MintTaskToken(t.Context(), h.agent, app.Held{Task: s.ID})
	refused(t, "under no lease", err, task.ErrLeaseLost)
	ready := h.createTask("two")
	_, err = h.app.MintTaskToken(t.Context(), h.agent, app.Held{Task: ready.ID})
	refused(t, "of a task nobody holds", err, task.ErrLeaseLost)
	other, _ := h.newAgent(h.account, "Other")
	_, err = h.app.MintTaskToken(t.Context(), other, held)
	refused(t, "by another agent", err, store.ErrNotFound)

	h.clock.Advance(time.Hour)
	_, err = h.app.AuthenticateAgent(t.Context(), token.Token)
	refused(t, "after an hour", err, app.ErrExpired)
}

// A task token is good while its lease is the one the task is held by.
func TestTaskTokenDiesWithTheLease(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(h *harness, held app.Held) error{
		"released": func(h *harness, held app.Held) error {
			_, err := h.app.ReleaseTask(h.t.Context(), h.agent, held)
			return err
		},
		"completed": func(h *harness, held app.Held) error {
			_, err := h.app.CompleteTask(h.t.Context(), h.agent, app.CompleteTask{Held: held})
			return err
		},
		"claimed anew": func(h *harness, held app.Held) error {
			if _, err := h.app.ReleaseTask(h.t.Context(), h.agent, held); err != nil {
				return err
			}
			h.claim("another worker")
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			_, held := h.startTask("one")
			token, err := h.app.MintTaskToken(t.Context(), h.agent, held)
			check(t, err)
			check(t, lose(h, held))
			_, err = h.app.AuthenticateAgent(t.Context(), token.Token)
			refused(t, name, err, app.ErrRevoked)
		})
	}
}

func TestTaskTokensOfOneLease(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	_, held := h.startTask("one")
	var first app.MintedToken
	for i := range 64 {
		token, err := h.app.MintTaskToken(t.Context(), h.agent, held)
		check(t, err)
		if i == 0 {
			first = token
		}
	}
	_, err := h.app.MintTaskToken(t.Context(), h.agent, held)
	refusedQuota(t, "one more", err, "task_tokens", 64)
	h.clock.Advance(time.Hour)
	_, err = h.app.MintTaskToken(t.Context(), h.agent, held)
	refused(t, "when those are over", err, nil)
	if _, err := h.store.Credential(t.Context(), first.Token.ID()); err == nil {
		t.Error("a token that is over stays stored")
	}
}

// A token never outlives the key that minted it.
func TestTaskTokenEndsWithTheKey(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.clock.Advance(90*24*time.Hour - time.Minute)
	_, held := h.startTask("one")
	token, err := h.app.MintTaskToken(t.Context(), h.agent, held)
	check(t, err)
	if got := token.ExpireTime.Sub(h.clock.Now()); got != time.Minute {
		t.Errorf("the token lives %v, its key a minute", got)
	}
}
