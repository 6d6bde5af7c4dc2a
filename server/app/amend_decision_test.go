package app_test

import (
	"fmt"
	"testing"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/proof"
)

// diffOf is evidence that has to be opened.
func diffOf(content string) decision.Evidence {
	return decision.Evidence{
		Kind: decision.EvidenceDiff, SHA256: decision.Digest(proof.Sum([]byte(content))), Bytes: uint64(len(content)), Title: "Changes", MustView: true,
	}
}

// R11: what was added makes earlier screens stale, and the same addition twice
// is one.
func TestAmendDecision_EarlierScreensAreStale(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.newAddress(h.phone, "aa")
	s, held := h.startTask("one")
	d := h.request(held)
	first := h.deliver()[h.phone.Installation]
	more := decision.Amendment{Reason: "I have looked again.", Evidence: map[string][]decision.Evidence{"it": {diffOf("+ one line")}}}
	_, err := h.app.AmendDecision(t.Context(), h.agent, d.ID, more)
	sameNamed(t, "before its bytes are there", err, app.ErrUnknownArtifact)
	h.put(held, "+ one line")
	w := h.watch(s.Thread)
	got, err := h.app.AmendDecision(t.Context(), h.agent, d.ID, more)
	check(t, err)
	w.expect("an addition", effects{
		Commits: 1, Account: []string{"decision"}, Thread: []string{"decision"},
		Audit:  []string{"decision.amended by agent: CONFIRM_ACTION", "alert.planned by server: decision_required"},
		Outbox: []string{"decision_required"}, Badge: w.badge(),
	})
	if got.Revision != 2 || got.Asked != d.Asked || got.Reason != more.Reason || len(got.Items[0].Evidence) != 1 || len(got.Items[0].Facts) != len(d.Items[0].Facts) {
		t.Errorf("amended: %+v", got)
	}
	second := h.deliver()[h.phone.Installation]
	if len(second) != 1 || second[0].CollapseID != first[0].CollapseID || second[0].Payload.Version != 2 {
		t.Errorf("called with %v", said(second))
	}
	if r := h.give(h.phone, h.signed(h.phone, d, "approve")); r.Outcome != decision.Stale {
		t.Errorf("the old screen met %v", r.Outcome)
	}
	again, err := h.app.AmendDecision(t.Context(), h.agent, d.ID, more)
	if err != nil || again.Revision != 2 {
		t.Errorf("again: revision %d, %v", again.Revision, err)
	}
	if replayed := h.request(held); replayed.ID != d.ID || replayed.Revision != 2 {
		t.Errorf("asked again: %s in revision %d", replayed.ID, replayed.Revision)
	}
	other, _ := h.newAgent(h.account, "Other")
	_, err = h.app.AmendDecision(t.Context(), other, d.ID, more)
	sameNamed(t, "another agent", err, store.ErrNotFound)
	h.answer(h.phone, got, "deny")
	_, err = h.app.AmendDecision(t.Context(), h.agent, d.ID, decision.Amendment{Reason: "Please."})
	sameNamed(t, "after the answer", err, app.ErrClosed)
}

// What has to be opened was opened, or nothing but a refusal is taken; no button
// of a notification approves it.
func TestEvidence_NeedsView(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	_, held := h.startTask("one")
	must, may := diffOf("+ a"), diffOf("+ b")
	h.put(held, "+ a")
	h.put(held, "+ b")
	may.MustView = false
	with := func(i int) decision.State {
		return h.request(held, func(c *app.RequestDecision) {
			c.Name, c.Items = fmt.Sprint(i), []decision.Item{action(fmt.Sprint(i), decision.WriteReversible)}
			c.Items[0].Evidence = []decision.Evidence{must, may}
		})
	}
	viewed := func(d decision.State, option string, opened ...decision.Evidence) decision.Outcome {
		c := reply(t, d, option)
		var digests []proof.Digest
		for _, e := range opened {
			digests = append(digests, proof.Digest(e.SHA256))
		}
		view, err := proof.ViewDigest(d.ID, uint64(d.Revision), digests)
		check(t, err)
		c.View = decision.Digest(view)
		return h.give(h.phone, h.byPhone(c)).Outcome
	}
	d := with(1)
	for name, opened := range map[string][]decision.Evidence{"nothing": nil, "the other": {may}} {
		if got := viewed(d, "approve", opened...); got != decision.NeedsView {
			t.Errorf("%s opened: %v", name, got)
		}
	}
	if got := viewed(d, "approve", must); got != decision.Applied {
		t.Errorf("opened: %v", got)
	}
	if got := viewed(with(2), "deny"); got != decision.Applied {
		t.Errorf("refusing unopened: %v", got)
	}
}

// What a host asked comes back to its program byte for byte.
func TestOrigin_ComesBack(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	_, held := h.startTask("one")
	raw := []byte("{\"id\": 1,\n \"unknown\": [\xff]}")
	d := h.request(held, func(c *app.RequestDecision) {
		c.Origin = &decision.Origin{Dialect: "mcp", Version: "2026-07-28", Raw: raw, Correlation: map[string]string{"requestState": "abc"}, CanText: true}
	})
	got := h.decision(d.ID).Origin
	if got == nil || string(got.Raw) != string(raw) || got.RawDigest != decision.Digest(proof.Sum(raw)) || got.Correlation["requestState"] != "abc" {
		t.Errorf("%+v", got)
	}
	_, err := h.app.RequestDecision(t.Context(), h.agent, question(held, editable, func(c *app.RequestDecision) {
		c.Name, c.Origin = "edit", &decision.Origin{Dialect: "codex-hook"}
	}))
	sameError(t, err, &decision.InvalidError{Field: "items[0].options[1].kind", Reason: "HOST_CANNOT"})
}
