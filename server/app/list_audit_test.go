package app_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"testing"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/proof"
)

// export reads the whole chain of an account, page by page, one entry a line.
func (h *harness) export(p policy.Principal, size int) ([]byte, app.AuditPage) {
	h.t.Helper()
	var out bytes.Buffer
	after := uint64(0)
	for {
		page, err := h.app.ListAudit(h.t.Context(), p, app.ListAudit{After: after, Size: size})
		check(h.t, err)
		if len(page.Entries) == 0 {
			return out.Bytes(), page
		}
		for _, e := range page.Entries {
			out.Write(append(e, '\n'))
			after++
		}
	}
}

// R17: whoever has the pages can follow the chain to the head that the server
// names, whatever the size of the pages; a changed byte is seen.
func TestListAudit_IsAChain(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	h.answer(h.phone, h.ask(held, "a", decision.WriteReversible), "approve")
	h.stop("k", s.ID)
	for _, size := range []int{0, 1, 3, 500} {
		lines, page := h.export(h.phone.Principal, size)
		chain, err := proof.ReadChain(bytes.NewReader(lines))
		if err != nil || chain.Seq != page.HeadSeq || !bytes.Equal(chain.Head[:], page.HeadHash) || chain.Seq == 0 {
			t.Errorf("pages of %d: followed to %d of %d: %v", size, chain.Seq, page.HeadSeq, err)
		}
		if _, err := proof.ReadChain(bytes.NewReader(bytes.Replace(lines, []byte("allowed"), []byte("denied_"), 1))); err == nil {
			t.Error("a changed answer is not seen")
		}
	}
}

// The facts of one approval stand apart: asked, called for, answered with what
// was seen, delivered, and what became of the calls and the permission.
func TestListAudit_FactsOfAnApproval(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.newAddress(h.phone, "aa")
	s, held := h.startTask("one")
	d := h.ask(held, "a", decision.WriteReversible)
	h.settle(h.takeOne(), push.Verdict{Class: push.OK})
	h.answer(h.phone, d, "approve")
	check(t, h.app.AckSignals(t.Context(), h.agent, app.AckSignals{Held: held, Signals: []uint64{1}}))
	h.stop("k", s.ID)
	_, err := h.app.ReleaseTask(t.Context(), h.agent, held)
	check(t, err)

	lines, _ := h.export(h.phone.Principal, 0)
	var got []string
	details := map[string]map[string]string{}
	for line := range bytes.Lines(lines) {
		var e store.AuditEntry
		check(t, json.Unmarshal(line, &e))
		got = append(got, e.Kind)
		details[e.Kind] = e.Detail
	}
	want := []string{
		"task.created", "decision.asked", "alert.planned", "decision.answered", "alert.summary",
		"answer.delivered", "task.stop", "grant.ended", "task.ended",
	}
	at := 0
	for _, kind := range got {
		if at < len(want) && kind == want[at] {
			at++
		}
	}
	if at != len(want) {
		t.Errorf("audit %q lacks %q", got, want[at])
	}
	answer := details["decision.answered"]
	if answer["asked"] != hex.EncodeToString(d.Asked[:]) || len(answer["view"]) != 64 || answer["revision"] != "1" || answer["surface"] != "APP" {
		t.Errorf("the answer is noted with %v", answer)
	}
	for _, word := range details["alert.summary"] {
		if word != "accepted" {
			t.Errorf("the call is summed up as %q", word)
		}
	}
	if len(details["alert.summary"]) != 1 {
		t.Errorf("summed up: %v", details["alert.summary"])
	}
}

// An account reads its own chain only, and programs none.
func TestListAudit_IsOfOneAccount(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.createTask("one")
	stranger := h.newDevice(h.newAccount(), store.PlatformIOS)
	if lines, page := h.export(stranger.Principal, 0); len(lines) != 0 || page.HeadSeq != 0 {
		t.Errorf("a stranger read %s", lines)
	}
	_, err := h.app.ListAudit(t.Context(), h.agent, app.ListAudit{})
	sameNamed(t, "an agent", err, app.ErrWrongPrincipal)
}
