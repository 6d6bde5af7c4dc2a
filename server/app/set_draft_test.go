package app_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/changelog"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/draft"
	"github.com/beckon-dev/beckon/sync/thread"
)

// base names a rev in the present epoch.
func (h *harness) base(rev uint64) draft.Base { return draft.Base{Epoch: h.store.Epoch(), Rev: rev} }

// writeDraft writes a draft and returns it.
func (h *harness) writeDraft(d device, subject string, rev uint64, words string) app.SetDraftResult {
	h.t.Helper()
	r, err := h.app.SetDraft(h.t.Context(), d.Principal, app.SetDraft{Subject: subject, Base: h.base(rev), Words: words})
	check(h.t, err)
	return r
}

// draftTexts reads the texts of a draft as a client gets them: "rev words".
func (h *harness) draftTexts(subject string) []string {
	h.t.Helper()
	out := []string{}
	h.view(h.account, func(tx *store.Read) error {
		all, err := tx.Living(changelog.AccountScope, []changelog.Key{{Kind: changelog.Draft, ID: subject}})
		for _, e := range all {
			body, err := store.DecodeEntity(e.Kind, e.Body)
			if err != nil {
				return err
			}
			for _, x := range body.(draft.State).Texts {
				out = append(out, fmt.Sprintf("%d %s", x.Rev, x.Words))
			}
		}
		return err
	})
	return out
}

// R24, R27: a draft goes from device to device, moves nothing and calls nobody.
func TestSetDraft_HandsOver(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.newAddress(h.phone, "aa")
	desk := h.newDevice(h.account, store.PlatformDesktop)
	h.newAddress(desk, "bb")
	s, held := h.startTask("one")
	d := h.ask(held, "a", decision.WriteReversible)
	w := h.watch(s.Thread)
	before := h.threadState(s.Thread)
	badge := store.Counters{OpenDecisions: 1}

	first := h.writeDraft(h.phone, s.Thread, 0, "on the phone")
	w.expect("a draft", effects{Commits: 1, Account: []string{"draft"}, Badge: badge})
	if again := h.writeDraft(h.phone, s.Thread, 0, "on the phone"); again.Draft.Rev != first.Draft.Rev {
		t.Errorf("the same again has rev %d", again.Draft.Rev)
	}
	w.expect("the same again", effects{Commits: 1, Badge: badge})
	if r := h.writeDraft(desk, s.Thread, 0, "at the desk"); !r.Diverged {
		t.Error("two texts that did not know of each other did not diverge")
	}
	h.writeDraft(h.phone, s.Thread, 1, "on the phone, more")
	if diff := cmp.Diff([]string{"3 on the phone, more", "2 at the desk"}, h.draftTexts(s.Thread)); diff != "" {
		t.Errorf("draft (-want +got):\n%s", diff)
	}
	h.writeDraft(h.phone, d.ID, 0, "perhaps")
	if got := h.draft(d.ID); got.Thread != s.Thread || got.Texts[0].Label != "Phone" || got.Texts[0].Installation != h.phone.Installation {
		t.Errorf("draft of a question: %+v", got)
	}
	if diff := cmp.Diff(before, h.threadState(s.Thread)); diff != "" {
		t.Errorf("drafts moved the thread:\n%s", diff)
	}
	if e := w.look(); e.Outbox != nil || e.Audit != nil || e.Badge != badge {
		t.Errorf("drafts called, counted or were noted: %+v", e)
	}
	// Gone, the revs it had are not given again.
	_, err := h.app.SetDraft(t.Context(), desk.Principal, app.SetDraft{Subject: s.Thread, Base: h.base(3), Merged: []uint64{2, 3}})
	check(t, err)
	w.expect("a draft that is given up", effects{Commits: 1, Account: []string{"-draft"}, Badge: badge})
	if r := h.writeDraft(desk, s.Thread, 3, "anew"); r.Draft.Texts[0].Rev != 4 {
		t.Errorf("begun anew with rev %d", r.Draft.Texts[0].Rev)
	}
}

func (h *harness) draft(subject string) (s draft.State) {
	h.t.Helper()
	h.view(h.account, func(tx *store.Read) (err error) {
		s, err = tx.Draft(subject)
		return err
	})
	return s
}

func (h *harness) threadState(id string) (s thread.State) {
	h.t.Helper()
	h.view(h.account, func(tx *store.Read) (err error) {
		s, err = tx.Thread(id)
		return err
	})
	return s
}

// R8, R27: a message clears the text it was made of and no other.
func TestSendMessage_ConsumesItsDraft(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, _ := h.startTask("one")
	desk := h.newDevice(h.account, store.PlatformDesktop)
	h.writeDraft(h.phone, s.Thread, 0, "hello")
	h.writeDraft(desk, s.Thread, 0, "at the desk")
	h.writeDraft(h.phone, s.Thread, 1, "hello, and more")
	send := func(key string, of draft.Base) {
		_, err := h.app.SendMessage(t.Context(), h.phone.Principal, app.SendMessage{Key: key, Thread: s.Thread, Text: "hello", Draft: of})
		check(t, err)
	}
	send("older", h.base(1))
	send("another epoch", draft.Base{Epoch: changelog.Epoch{9}, Rev: 3})
	send("none", draft.Base{})
	if diff := cmp.Diff([]string{"3 hello, and more", "2 at the desk"}, h.draftTexts(s.Thread)); diff != "" {
		t.Errorf("what was written since (-want +got):\n%s", diff)
	}
	send("this", h.base(3))
	if diff := cmp.Diff([]string{"2 at the desk"}, h.draftTexts(s.Thread)); diff != "" {
		t.Errorf("the text that was sent (-want +got):\n%s", diff)
	}
	send("this", h.base(3))
	refused := app.SendMessage{Key: "nobody", Thread: h.silent().Thread, Text: "x", Draft: h.base(1)}
	h.writeDraft(h.phone, refused.Thread, 0, "x")
	_, err := h.app.SendMessage(t.Context(), h.phone.Principal, refused)
	sameError(t, err, thread.ErrNoAgent)
	if diff := cmp.Diff([]string{"1 x"}, h.draftTexts(refused.Thread)); diff != "" {
		t.Errorf("a message that nobody takes (-want +got):\n%s", diff)
	}
}

// silent is a task that reads no messages.
func (h *harness) silent() (s struct{ Thread string }) {
	h.t.Helper()
	r, err := h.app.CreateTask(h.t.Context(), h.agent, app.CreateTask{Key: "silent", Title: "silent", NoMessages: true})
	check(h.t, err)
	s.Thread = r.Task.Thread
	return s
}

// What a device had begun goes with its answer; what was begun elsewhere stays
// until the person clears it, however the question was closed.
func TestAnswerDecision_ClearsItsDraft(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	_, held := h.startTask("one")
	desk := h.newDevice(h.account, store.PlatformDesktop)
	d := h.ask(held, "a", decision.WriteReversible)
	h.writeDraft(h.phone, d.ID, 0, "on the phone")
	h.writeDraft(desk, d.ID, 0, "at the desk")
	h.answer(h.phone, d, "deny")
	if diff := cmp.Diff([]string{"2 at the desk"}, h.draftTexts(d.ID)); diff != "" {
		t.Errorf("after the answer (-want +got):\n%s", diff)
	}
	h.writeDraft(desk, d.ID, 2, "")
	if got := h.draftTexts(d.ID); len(got) != 0 {
		t.Errorf("after it was cleared: %q", got)
	}
	gone := h.ask(held, "b", decision.WriteReversible)
	h.writeDraft(desk, gone.ID, 0, "begun")
	_, err := h.app.WithdrawDecision(t.Context(), h.agent, gone.ID, app.Obsolete)
	check(t, err)
	if diff := cmp.Diff([]string{"1 begun"}, h.draftTexts(gone.ID)); diff != "" {
		t.Errorf("after it was withdrawn (-want +got):\n%s", diff)
	}
}

func TestSetDraft_Refused(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	d := h.ask(held, "a", decision.WriteReversible)
	h.writeDraft(h.phone, s.Thread, 0, "kept")
	w := h.watch(s.Thread)
	other := h.newDevice(h.newAccount(), store.PlatformIOS)
	set := func(p policy.Principal, c app.SetDraft) error {
		_, err := h.app.SetDraft(t.Context(), p, c)
		return err
	}
	for _, id := range []string{s.Thread, d.ID, s.ID, "", "thr_x"} {
		refused(t, "another account, "+id, set(other.Principal, app.SetDraft{Subject: id, Words: "x"}), store.ErrNotFound)
	}
	refused(t, "a task", set(h.phone.Principal, app.SetDraft{Subject: s.ID, Words: "x"}), store.ErrNotFound)
	refused(t, "an agent", set(h.agent, app.SetDraft{Subject: s.Thread, Words: "x"}), app.ErrWrongPrincipal)
	refusedField(t, "a long text", set(h.phone.Principal, app.SetDraft{Subject: s.Thread, Words: strings.Repeat("x", draft.MaxWords+1)}), "text")
	refusedField(t, "much chosen", set(h.phone.Principal, app.SetDraft{
		Subject: d.ID, Items: []decision.AnswerItem{{Item: "it", EditedArgs: make([]byte, draft.MaxItems)}},
	}), "items")
	for i := range 3 {
		h.writeDraft(h.newDevice(h.account, store.PlatformDesktop), s.Thread, 0, fmt.Sprint("device ", i))
	}
	w.look()
	full := h.draftTexts(s.Thread)
	refused(t, "a fifth text", set(h.newDevice(h.account, store.PlatformDesktop).Principal, app.SetDraft{Subject: s.Thread, Words: "x"}), draft.ErrFull)
	if diff := cmp.Diff(full, h.draftTexts(s.Thread)); diff != "" {
		t.Errorf("what was refused changed (-before +after):\n%s", diff)
	}
}

// R27: the last one to be recorded counts, whoever it is.
func TestSetView(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	desk := h.newDevice(h.account, store.PlatformDesktop)
	s, held := h.startTask("one")
	_, elsewhere := h.startTask("two")
	h.append(held, thread.RoleAgent, thread.Message, true, "Look.")
	d, other := h.ask(held, "a", decision.WriteReversible), h.ask(elsewhere, "b", decision.WriteReversible)
	w := h.watch(s.Thread)
	badge := w.look().Badge
	r, err := h.app.SetView(t.Context(), h.phone.Principal, app.SetView{Thread: s.Thread, Anchor: 1, Offset: 250, Decision: d.ID})
	check(t, err)
	w.expect("leaving", effects{Commits: 1, Account: []string{"view"}, Badge: badge})
	want := thread.View{Thread: s.Thread, Anchor: 1, Offset: 250, Decision: d.ID, Installation: h.phone.Installation, Label: "Phone", Time: h.clock.Now()}
	if diff := cmp.Diff(want, r.View); diff != "" {
		t.Errorf("view (-want +got):\n%s", diff)
	}
	r, err = h.app.SetView(t.Context(), desk.Principal, app.SetView{Thread: s.Thread, Anchor: 99})
	check(t, err)
	var left thread.View
	h.view(h.account, func(tx *store.Read) (err error) {
		left, err = tx.View(s.Thread)
		return err
	})
	if diff := cmp.Diff(r.View, left); diff != "" || left.Anchor != 0 || left.Installation != desk.Installation {
		t.Errorf("left at %+v:\n%s", left, diff)
	}
	w.look()
	for name, c := range map[string]app.SetView{
		"an unknown thread": {Thread: "thr_x"}, "a question as a thread": {Thread: d.ID}, "an unknown question": {Thread: s.Thread, Decision: "dec_x"},
	} {
		_, err := h.app.SetView(t.Context(), h.phone.Principal, c)
		refused(t, name, err, store.ErrNotFound)
	}
	_, err = h.app.SetView(t.Context(), h.phone.Principal, app.SetView{Thread: s.Thread, Decision: other.ID})
	refusedField(t, "a question of another thread", err, "decision_id")
	_, err = h.app.SetView(t.Context(), h.newDevice(h.newAccount(), store.PlatformIOS).Principal, app.SetView{Thread: s.Thread})
	refused(t, "another account", err, store.ErrNotFound)
	if e := w.look(); e.Account != nil {
		t.Errorf("what was refused changed %v", e.Account)
	}
}
