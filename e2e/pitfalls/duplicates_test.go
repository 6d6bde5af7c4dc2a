package pitfalls_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	beckon "github.com/beckon-dev/beckon/clients/go"
	"github.com/beckon-dev/beckon/e2e/faultproxy"
	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

// patient repeats a call for as long as a bad network may need.
func patient() beckon.Retry { return beckon.Retry{Attempts: 60, Base: time.Millisecond} }

// unsure sends each request one to three times, loses many answers, and lets
// proxies answer for the server now and then.
func unsure(path string, together bool) []faultproxy.Rule {
	return []faultproxy.Rule{
		{Path: path, Status: 503, Percent: 10},
		{Path: path, Status: 502, Percent: 10},
		{Path: path, Status: 429, RetryAfter: 1, Percent: 10},
		{Path: path, Percent: 40, DropAnswer: true, Copies: -1, Together: together},
		{Path: path, Copies: -1, Together: together},
	}
}

// unsureHouse runs a test over networks of several seeds, with the copies of a
// request one after another and at the same time.
func unsureHouse(t *testing.T, path string, test func(t *testing.T, h *house, p *beckon.Person)) {
	t.Helper()
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, usual)
			n := h.requests(seed)
			n.http.Rules(unsure(path, seed%2 == 1)...)
			test(t, h, h.over(n, patient()))
			c := n.http.Counts()
			t.Logf("%d sent, %d answers lost, %d inserted", c.Sent, c.Dropped, c.Inserted)
			if c.Dropped == 0 || c.Inserted == 0 || c.Sent <= c.Requests-c.Inserted {
				t.Errorf("the network was too good: %+v", c)
			}
		})
	}
}

const rounds = 12

// Each message is in the thread once, told to the agent once, and starts at most
// one task.
func TestSendMessage_S24_DuplicatesAndLostAnswers(t *testing.T) {
	unsureHouse(t, "ThreadService/SendMessage", func(t *testing.T, h *house, p *beckon.Person) {
		work := h.started("live")
		thread := work.Task.GetThreadId()
		want := map[string]int{}
		send := func(text string) *v1.SendMessageResponse {
			want[text] = 1
			return must(p.Threads.SendMessage(t.Context(), &v1.SendMessageRequest{IdempotencyKey: text, ThreadId: thread, Text: text}))(t)
		}
		for i := range rounds {
			if got := send(fmt.Sprint("message ", i)); got.GetTask().GetId() != work.ID() {
				t.Error("a message went to", got.GetTask())
			}
		}
		told := map[string]int{}
		beat := must(h.agent.Tasks.Heartbeat(t.Context(), &v1.HeartbeatRequest{TaskId: work.ID(), LeaseId: work.Lease}))(t)
		for _, s := range beat.GetSignals() {
			told[s.GetText()]++
		}
		same(t, "told to the agent", told, want)
		must(work.Complete(t.Context(), &v1.TaskResult{Summary: "done"}, lastOf(beat.GetSignals())))(t)
		first := send("and another thing")
		if again := send("and more"); first.GetTask().GetId() == work.ID() || again.GetTask().GetId() != first.GetTask().GetId() {
			t.Errorf("went to %s and %s", first.GetTask().GetId(), again.GetTask().GetId())
		}
		same(t, "in the thread", h.messages(thread), want)
		inbox := h.owner.Inbox()
		check(t, inbox.Sync(t.Context(), 0))
		if n := len(inbox.Tasks()); n != 2 {
			t.Errorf("%d tasks, want the one that ended and one that was started", n)
		}
	})
}

func lastOf(signals []*v1.Signal) uint64 {
	if len(signals) == 0 {
		return 0
	}
	return signals[len(signals)-1].GetId()
}

// messages counts what the person has written, by its text.
func (h *house) messages(thread string) map[string]int {
	h.t.Helper()
	out := map[string]int{}
	res := must(h.owner.Items.ListItems(h.t.Context(), &v1.ListItemsRequest{ThreadId: thread}))(h.t)
	for _, item := range res.GetItems() {
		if item.GetRole() != v1.ItemRole_ITEM_ROLE_PERSON {
			continue
		}
		for _, part := range item.GetParts() {
			out[part.GetText()]++
		}
	}
	return out
}

// Each answer wins once, also where the word of it got lost: a repeat is SAME
// and names the winner by the key that the device has chosen. It arms one grant,
// tells the agent once and stands in the audit once; another answer afterwards
// meets the winner.
func TestAnswerDecision_S24_DuplicatesAndLostAnswers(t *testing.T) {
	unsureHouse(t, "DecisionService/AnswerDecision", func(t *testing.T, h *house, p *beckon.Person) {
		work := h.started("asks")
		want := map[string]int{}
		for i := range rounds {
			d := must(work.Ask(t.Context(), beckon.AskAction(fmt.Sprint("question ", i), "Write it?", &v1.Action{
				App: "files", Operation: "write", ArgsJson: fmt.Appendf(nil, `{"path":"%d"}`, i),
				EffectClass: v1.EffectClass_EFFECT_CLASS_WRITE_REVERSIBLE,
			}, false)))(t)
			want[d.GetId()] = 1
			yes, no := d.GetItems()[0].GetOptions()[0].GetId(), d.GetItems()[0].GetOptions()[1].GetId()
			answer := func(key, option string) *v1.AnswerDecisionResponse {
				items := must(beckon.Choose(d, option, ""))(t)
				return must(p.Answer(t.Context(), d, beckon.Answer{Key: key, Items: items, Surface: v1.Surface_SURFACE_APP}))(t)
			}
			for _, c := range []struct {
				key, option string
				want        []v1.AnswerOutcome
			}{
				{"first", yes, []v1.AnswerOutcome{v1.AnswerOutcome_ANSWER_OUTCOME_APPLIED, v1.AnswerOutcome_ANSWER_OUTCOME_SAME}},
				{"second", yes, []v1.AnswerOutcome{v1.AnswerOutcome_ANSWER_OUTCOME_SAME}},
				{"third", no, []v1.AnswerOutcome{v1.AnswerOutcome_ANSWER_OUTCOME_CONFLICT}},
			} {
				res := answer(c.key, c.option)
				if !slices.Contains(c.want, res.GetOutcome()) {
					t.Errorf("question %d: %s is %s, want %s", i, c.option, res.GetOutcome(), c.want)
				}
				if key := res.GetDecision().GetAnswer().GetAnswerKey(); key != "first" {
					t.Errorf("question %d: %s meets the winner %q", i, c.key, key)
				}
			}
			got := must(h.owner.Decisions.GetDecision(t.Context(), &v1.GetDecisionRequest{DecisionId: d.GetId()}))(t).GetDecision()
			if got.GetState() != v1.DecisionState_DECISION_STATE_RESOLVED || len(got.GetGrants()) != 1 {
				t.Errorf("question %d is %s", i, got)
			}
		}
		told := map[string]int{}
		beat := must(h.agent.Tasks.Heartbeat(t.Context(), &v1.HeartbeatRequest{TaskId: work.ID(), LeaseId: work.Lease}))(t)
		for _, s := range beat.GetSignals() {
			told[s.GetDecision().GetId()]++
		}
		same(t, "told to the agent", told, want)
		same(t, "in the audit", h.answered(), want)
	})
}

// answered counts the answers of the audit by their decision.
func (h *house) answered() map[string]int {
	h.t.Helper()
	out := map[string]int{}
	for _, raw := range must(h.owner.Audit.ListAudit(h.t.Context(), &v1.ListAuditRequest{PageSize: 500}))(h.t).GetEntries() {
		var e struct{ Kind, Subject string }
		check(h.t, json.Unmarshal(raw, &e))
		if e.Kind == "decision.answered" {
			out[e.Subject]++
		}
	}
	return out
}

// A read mark that is set again is the same mark: the badge is empty, and a mark
// that comes late takes nothing back.
func TestMarkRead_S24_DuplicatesAndLostAnswers(t *testing.T) {
	unsureHouse(t, "ThreadService/MarkRead", func(t *testing.T, h *house, p *beckon.Person) {
		for i := range rounds {
			work := h.started(fmt.Sprint("task ", i))
			must(work.Complete(t.Context(), &v1.TaskResult{Summary: "done"}))(t)
			thread := work.Task.GetThreadId()
			head := must(h.owner.Threads.GetThread(t.Context(), &v1.GetThreadRequest{ThreadId: thread}))(t).GetThread().GetNotableHead()
			if head == 0 {
				t.Fatal("a result is nothing to read")
			}
			for _, position := range []uint64{head, head - 1} {
				res := must(p.Threads.MarkRead(t.Context(), &v1.MarkReadRequest{ThreadId: thread, ReadMark: &v1.ReadMark{NotablePosition: position}}))(t)
				if got := res.GetReadMark().GetNotablePosition(); got != head {
					t.Errorf("task %d: the mark is at %d of %d", i, got, head)
				}
			}
		}
		inbox := h.owner.Inbox()
		check(t, inbox.Sync(t.Context(), 0))
		if got := inbox.Counters().GetBadge(); got != 0 {
			t.Errorf("all is read and the badge is %d", got)
		}
	})
}
