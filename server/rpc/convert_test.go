package rpc

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/changelog"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
	"github.com/beckon-dev/beckon/sync/thread"
)

// TestEnumsAgree holds numbers of the domain against names of the wire, since
// they are converted by number.
func TestEnumsAgree(t *testing.T) {
	t.Parallel()
	for _, p := range task.Phases {
		agree(t, v1.TaskPhase(p), p.String())
	}
	for _, h := range task.Holds {
		agree(t, v1.HoldKind(h), h.String())
	}
	for _, s := range decision.Statuses {
		agree(t, v1.DecisionState(s), s.String())
	}
	for k := decision.ConfirmAction; k <= decision.OpenURL; k++ {
		agree(t, v1.DecisionKind(k), k.String())
	}
	for k := decision.AllowOnce; k <= decision.Cancel; k++ {
		agree(t, v1.OptionKind(k), k.String())
	}
	for o := decision.Applied; o <= decision.NeedsStepUp; o++ {
		agree(t, v1.AnswerOutcome(o), o.String())
	}
	for number, word := range map[protoreflect.Enum]string{
		v1.WaitMode(task.Any): "ANY", v1.WaitMode(task.All): "ALL",
		v1.SignalKind(task.DecisionClosed): "DECISION_CLOSED", v1.SignalKind(task.Message): "MESSAGE",
		v1.SignalKind(task.HoldLifted): "HOLD_LIFTED", v1.SignalKind(task.WaitTimeout): "WAIT_TIMEOUT",
		v1.SignalKind(task.ApprovalRevoked): "APPROVAL_REVOKED", v1.SignalKind(task.ResultSentBack): "RESULT_SENT_BACK",
		v1.SignalKind(task.Silence):            "SILENCE",
		v1.DecisionKind(decision.ReviewResult): "REVIEW_RESULT",
		v1.TextRule(decision.TextNone):         "NONE", v1.TextRule(decision.TextRequired): "REQUIRED",
		v1.DecisionJoin(decision.PerItem): "PER_ITEM", v1.DecisionJoin(decision.AllItems): "ALL_ITEMS",
		v1.EvidenceType(decision.EvidenceCommand): "COMMAND", v1.EvidenceType(decision.EvidenceCost): "COST",
		v1.FieldType(decision.FieldString): "STRING", v1.FieldType(decision.FieldBoolean): "BOOLEAN",
		v1.FieldType(decision.FieldChoice): "CHOICE", v1.FieldType(decision.FieldChoices): "CHOICES",
		v1.OnExpiry(decision.TellAgent): "TELL_AGENT", v1.OnExpiry(decision.StopTask): "STOP_TASK",
		v1.Surface(decision.SurfaceNotification): "NOTIFICATION", v1.Surface(decision.SurfaceTerminal): "TERMINAL",
		v1.GrantState(decision.Armed): "ARMED", v1.GrantState(decision.GrantExpired): "EXPIRED",
		v1.Step(decision.StepCredential): "CREDENTIAL", v1.Step(decision.StepOtherDevice): "OTHER_DEVICE",
		classOut(decision.ReadPublic): "READ_PUBLIC", classOut(decision.Irreversible): "IRREVERSIBLE",
		v1.ItemRole(thread.RolePerson): "PERSON", v1.ItemRole(thread.RoleServer): "SERVER",
		v1.ItemKind(thread.Notice): "NOTICE", v1.OutputStream(thread.Stderr): "STDERR",
		v1.ContentLevel(store.LevelFull): "FULL", v1.Platform(store.PlatformTerminal): "TERMINAL",
		v1.InstallationState(store.InstallationRevoked): "REVOKED", v1.PushHealth(store.PushDead): "DEAD",
		v1.AgentScope(store.ScopeReadOwn): "READ_OWN", v1.PairingState(store.OfferDead): "DEAD",
		v1.StopOutcome(app.AlreadyFinished): "ALREADY_FINISHED", v1.WithdrawReason(app.Obsolete): "OBSOLETE",
		v1.EntityKind(changelog.AgentLink): "AGENT_LINK", v1.EntityKind(changelog.Decision): "DECISION",
		v1.EntityKind(changelog.ThreadHeader): "THREAD_HEADER", v1.EntityKind(changelog.Item): "ITEM",
		resetOut(changelog.TooOld): "TOO_OLD", resetOut(changelog.Ahead): "AHEAD", resetOut(changelog.UnknownEpoch): "EPOCH",
		resetOut(changelog.Malformed): "MALFORMED", resetOut(changelog.Forbidden): "FORBIDDEN",
	} {
		agree(t, number, word)
	}
}

func agree(t *testing.T, number protoreflect.Enum, word string) {
	t.Helper()
	value := number.Descriptor().Values().ByNumber(number.Number())
	if value == nil || !strings.HasSuffix(string(value.Name()), "_"+word) {
		t.Errorf("%s %d is %v on the wire and %s in the domain", number.Descriptor().Name(), number.Number(), value, word)
	}
}

func moment() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 8000, time.UTC) }

func TestTimes(t *testing.T) {
	t.Parallel()
	for _, at := range []time.Time{{}, moment(), time.Unix(0, 0).UTC(), time.Date(9999, 12, 31, 23, 59, 59, 999999000, time.UTC)} {
		got, err := timeIn("f", timeOut(at))
		if err != nil || !got.Equal(at) {
			t.Errorf("%v came back as %v, %v", at, got, err)
		}
	}
	for _, bad := range []*timestamppb.Timestamp{{Seconds: 1 << 60}, {Seconds: -1 << 60}, {Nanos: -1}, {Nanos: 1e9}} {
		refused(t, "f", func() error { _, err := timeIn("f", bad); return err })
	}
	for in, want := range map[time.Duration]time.Duration{-time.Second: 0, 0: 0, time.Minute: time.Minute} {
		if got := waitIn(durationpb.New(in)); got != want {
			t.Errorf("a wait of %v became %v", in, got)
		}
	}
	if waitIn(nil) != 0 {
		t.Error("no wait became one")
	}
}

func TestWaitSets(t *testing.T) {
	t.Parallel()
	want := task.Wait{Mode: task.All, Decisions: []string{"dec_1", "dec_2"}, Until: moment()}
	got, err := waitSetIn(waitSetOut(task.Waiting, want))
	if err != nil {
		t.Fatal(err)
	}
	same(t, want, got)
	if waitSetOut(task.Running, want) != nil {
		t.Error("a running task shows what it waited for")
	}
	if got, err := waitSetIn(&v1.WaitSet{}); err != nil || got.Mode != task.Any {
		t.Errorf("an unspecified mode is %v, %v", got.Mode, err)
	}
	refused(t, "wait.mode", func() error { _, err := waitSetIn(&v1.WaitSet{Mode: 9}); return err })
	refused(t, "wait.mode", func() error { _, err := waitSetIn(&v1.WaitSet{Mode: -1}); return err })
}

func TestTaskParts(t *testing.T) {
	t.Parallel()
	status := int32(137)
	percent := uint32(7)
	result := task.Result{Summary: "s", Body: "b", DataJSON: []byte(`{}`), ExitStatus: &status}
	same(t, &result, resultIn(resultOut(&result)))
	failure := task.Failure{Code: "c", Text: "t", Retriable: true, ExitStatus: &status}
	same(t, failure, failureIn(failureOut(&failure)))
	progress := task.Progress{Text: "half", Percent: &percent, Time: moment()}
	back := progressIn(progressOut(progress))
	back.Time = progress.Time // set by the server
	same(t, progress, back)
	if resultIn(nil) != nil || resultOut(nil) != nil || failureOut(nil) != nil || checkpointIn(nil) != nil {
		t.Error("what is absent became something")
	}
	wire := checkpointOut(store.Checkpoint{Version: 3, Data: []byte("x"), SchemaVersion: 2, NextStep: "n", CreateTime: moment()})
	want := &v1.Checkpoint{Version: 3, Data: []byte("x"), SchemaVersion: 2, NextStep: "n", CreateTime: timeOut(moment())}
	same(t, want, wire)
	if checkpointOut(store.Checkpoint{}) != nil {
		t.Error("no checkpoint became one")
	}
}

func TestDecisionItems(t *testing.T) {
	t.Parallel()
	class := decision.Outward
	want := []decision.Item{
		{ID: "a", Question: "?", Action: &decision.Action{
			App: "mail", Connection: "work", Operation: "send", ArgsJSON: []byte(`{"to": "x"}`), TargetJSON: []byte(`1`), Class: &class,
			ArgsSchema: []byte(`{"type": "object"}`),
		}, Header: "Mail", Evidence: []decision.Evidence{
			{Kind: decision.EvidenceDiff, SHA256: decision.Digest{7}, Bytes: 3, Title: "e", MustView: true},
		}, Options: []decision.Option{
			{ID: "y", Label: "Yes", Kind: decision.AllowOnce, Text: decision.TextOptional},
			{ID: "n", Label: "No", Kind: decision.RejectOnce, Prefill: "because"},
		}},
		{ID: "b", Question: "Which?", Schema: []byte(`{"type":"object","properties":{"a":{"type":"string"}}}`), URL: "https://x.example", Min: 1, Max: 2},
	}
	got, err := itemsOfDecisionIn(mapAll(want, itemOfDecisionOut))
	if err != nil {
		t.Fatal(err)
	}
	same(t, want, got)

	wire := mapAll(want, itemOfDecisionOut)
	form := &v1.Form{Fields: []*v1.FormField{{Name: "a", Type: v1.FieldType_FIELD_TYPE_STRING}}}
	same(t, form, wire[1].GetForm())
	same(t, &v1.Form{WebOnly: true}, formOut([]byte(`{"type":"object"}`)))
	if wire[0].GetForm() != nil || wire[0].GetMulti() != nil {
		t.Error("a question without a form has one")
	}
	same(t, &v1.Fact{Label: "l", Value: "v", Marked: true}, factOut(decision.Fact{Label: "l", Value: "v", Marked: true}))

	// What only the server sets is not taken from a caller.
	got, err = itemsOfDecisionIn([]*v1.DecisionItem{{
		Id: "a", Facts: []*v1.Fact{{Label: "l", Value: "v"}}, Action: &v1.Action{App: "x", ActionDigest: make([]byte, 32)},
	}})
	if err != nil || got[0].Facts != nil || got[0].Action.Digest != (decision.Digest{}) || got[0].Action.Class != nil {
		t.Errorf("taken from the caller: %+v, %v", got, err)
	}
	refused(t, "items[0].options[1].kind", func() error {
		_, err := itemsOfDecisionIn([]*v1.DecisionItem{{Options: []*v1.Option{{Kind: 1}, {Kind: 8}}}})
		return err
	})
	refused(t, "items[0].action.effect_class", func() error {
		_, err := itemsOfDecisionIn([]*v1.DecisionItem{{Action: &v1.Action{EffectClass: 6}}})
		return err
	})
}

func TestDecisionWhole(t *testing.T) {
	t.Parallel()
	s := decision.State{
		ID: "dec", Task: "tsk", Thread: "thr", Agent: "agt", Key: "k", Revision: 2, Status: decision.Resolved,
		Kind: decision.ConfirmAction, Title: "t", Reason: "r", Asked: decision.Digest{1}, Class: decision.WriteReversible,
		ExpireTime: moment(), OnExpiry: decision.StopTask, CreateTime: moment(), CloseTime: moment(), CloseReason: "c",
		About: "tsk", AboutVersion: 7, Join: decision.AllItems,
		Reminders: []time.Time{moment()}, SnoozeUntil: moment(), Origin: &decision.Origin{Dialect: "mcp", Version: "1", Raw: []byte("raw"), Correlation: map[string]string{"k": "v"}},
		Answer: &decision.Answer{
			Items: []decision.AnswerItem{{
				Item: "a", Options: []string{"y"}, Text: "x", EditedArgs: []byte("{}"), Edited: decision.Digest{4}, Content: []byte(`{"c":1}`),
			}}, Installation: "ins", Label: "Phone",
			Surface: decision.SurfaceApp, Key: "ak", View: decision.Digest{2}, Proof: []byte("p"), Time: moment(), DeliverTime: moment(),
		},
		Grants: []decision.Grant{{ID: "grt", Item: "a", Digest: decision.Digest{3}, State: decision.Armed, ExpireTime: moment()}},
	}
	at := timeOut(moment())
	digest := func(b byte) []byte { d := make([]byte, 32); d[0] = b; return d }
	want := &v1.Decision{
		Id: "dec", TaskId: "tsk", ThreadId: "thr", AgentId: "agt", Key: "k", Revision: 2,
		State: v1.DecisionState_DECISION_STATE_RESOLVED, Kind: v1.DecisionKind_DECISION_KIND_CONFIRM_ACTION,
		Title: "t", AgentReason: "r", AskedDigest: digest(1), EffectClass: v1.EffectClass_EFFECT_CLASS_WRITE_REVERSIBLE,
		ExpireTime: at, OnExpiry: v1.OnExpiry_ON_EXPIRY_STOP_TASK, CreateTime: at, CloseTime: at, CloseReason: "c",
		AboutId: "tsk", AboutVersion: 7, Join: v1.DecisionJoin_DECISION_JOIN_ALL_ITEMS,
		RemindTimes: []*timestamppb.Timestamp{at}, SnoozeUntil: at, Origin: &v1.Origin{Dialect: "mcp"},
		Answer: &v1.Answer{
			Items: []*v1.AnswerItem{{
				ItemId: "a", OptionIds: []string{"y"}, Text: "x", EditedArgsJson: []byte("{}"), EditedDigest: digest(4), ContentJson: []byte(`{"c":1}`),
			}},
			InstallationId: "ins", InstallationLabel: "Phone", Surface: v1.Surface_SURFACE_APP,
			AnswerTime: at, AnswerKey: "ak", DeliverTime: at,
		},
		Grants: []*v1.Grant{{Id: "grt", ItemId: "a", ActionDigest: digest(3), State: v1.GrantState_GRANT_STATE_ARMED, ExpireTime: at}},
	}
	same(t, want, decisionOut(s))
}

// A host's request goes back to its program, and never to a person.
func TestOrigins(t *testing.T) {
	t.Parallel()
	o := decision.Origin{
		Dialect: "mcp", Version: "1", Raw: []byte("raw"), Correlation: map[string]string{"k": "v"},
		CanEdit: true, CanPersist: true, CanText: true, CanMulti: true, HostTimeout: time.Minute,
	}
	same(t, &o, originIn(originOut(&o)))
	o.RawDigest = decision.Digest{1}
	wire := decisionFor(policy.Principal{Kind: policy.Agent}, decision.State{Origin: &o}).GetOrigin()
	if string(wire.GetRaw()) != "raw" || len(wire.GetRawSha256()) != 32 {
		t.Error("the program gets", wire)
	}
	for _, kind := range []policy.Kind{policy.Installation, policy.Probation} {
		same(t, &v1.Origin{Dialect: "mcp"}, decisionFor(policy.Principal{Kind: kind}, decision.State{Origin: &o}).GetOrigin())
	}
	if originIn(nil) != nil || originOut(nil) != nil || originShown(nil) != nil {
		t.Error("no host became one")
	}
	if originIn(&v1.Origin{RawSha256: make([]byte, 32)}).RawDigest != (decision.Digest{}) {
		t.Error("a digest was taken from the caller")
	}
}

func TestAmendments(t *testing.T) {
	t.Parallel()
	digest := make([]byte, 32)
	digest[0] = 7
	piece := &v1.DecisionEvidence{Type: v1.EvidenceType_EVIDENCE_TYPE_DOC, Sha256: digest, Bytes: 3}
	got, err := amendmentIn(&v1.AmendDecisionRequest{AgentReason: "r", Evidence: []*v1.ItemEvidence{
		{ItemId: "a", Evidence: []*v1.DecisionEvidence{piece}}, {ItemId: "a", Evidence: []*v1.DecisionEvidence{piece}},
	}})
	if err != nil || got.Reason != "r" || len(got.Evidence["a"]) != 2 || got.Evidence["a"][0].SHA256 != (decision.Digest{7}) {
		t.Errorf("%+v, %v", got, err)
	}
	refused(t, "evidence[0].evidence[0].type", func() error {
		_, err := amendmentIn(&v1.AmendDecisionRequest{Evidence: []*v1.ItemEvidence{{Evidence: []*v1.DecisionEvidence{{Type: 6}}}}})
		return err
	})
	refused(t, "evidence[0].evidence[0].sha256", func() error {
		_, err := amendmentIn(&v1.AmendDecisionRequest{Evidence: []*v1.ItemEvidence{{Evidence: []*v1.DecisionEvidence{{Type: 1, Sha256: []byte{1}}}}}})
		return err
	})
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	asked := make([]byte, 32)
	asked[0] = 1
	got, err := answerDecisionIn(&v1.AnswerDecisionRequest{
		DecisionId: "dec", Revision: 3, AskedDigest: asked, AnswerKey: "k", Proof: []byte("p"), Surface: v1.Surface_SURFACE_TERMINAL,
		Items: []*v1.AnswerItem{{
			ItemId: "a", OptionIds: []string{"y"}, Text: "t", EditedArgsJson: []byte("{}"), ContentJson: []byte("{ }"), EditedDigest: asked,
		}}, Interactive: true, Unlocked: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	want := app.AnswerDecision{
		Decision: "dec", Revision: 3, Asked: decision.Digest{1}, Key: "k", Proof: []byte("p"), Surface: decision.SurfaceTerminal,
		Items: []decision.AnswerItem{{Item: "a", Options: []string{"y"}, Text: "t", EditedArgs: []byte("{}"), Content: []byte("{ }")}}, Interactive: true, Unlocked: true,
	}
	same(t, want, got)
	refused(t, "view_digest", func() error {
		_, err := answerDecisionIn(&v1.AnswerDecisionRequest{AskedDigest: asked, ViewDigest: []byte{1}})
		return err
	})
}

func TestItems(t *testing.T) {
	t.Parallel()
	parts := []thread.Part{{Text: "hello"}, {Output: &thread.OutputPart{Stream: thread.Stderr, Data: []byte{0xff, 0}, Omitted: 9}}}
	for _, want := range parts {
		got, err := partIn("p", partOut(want))
		if err != nil {
			t.Fatal(err)
		}
		same(t, want, got)
	}
	it := thread.Item{
		ID: "itm", Thread: "thr", Task: "tsk", Position: 4, Role: thread.RoleTool, Kind: thread.Output, Parts: parts[1:],
		Notable: true, NotablePosition: 2, CreateTime: moment(),
	}
	wire := itemOut(it)
	if wire.GetId() != "itm" || wire.GetThreadId() != "thr" || wire.GetTaskId() != "tsk" || wire.GetPosition() != 4 || wire.GetNotablePosition() != 2 ||
		!wire.GetNotable() || len(wire.GetParts()) != 1 || wire.GetRole() != v1.ItemRole_ITEM_ROLE_TOOL || wire.GetKind() != v1.ItemKind_ITEM_KIND_OUTPUT {
		t.Error("an item became", wire)
	}
	refused(t, "items[1].parts[0]", func() error {
		_, err := draftsIn([]*v1.ItemDraft{{Role: 1, Kind: 1}, {Role: 1, Kind: 1, Parts: []*v1.Part{{}}}})
		return err
	})
	refused(t, "items[0].kind", func() error { _, err := draftsIn([]*v1.ItemDraft{{Role: 1, Kind: 3}}); return err })
	refused(t, "items[0].role", func() error { _, err := draftsIn([]*v1.ItemDraft{{Role: 4, Kind: 1}}); return err })
}

func TestThreads(t *testing.T) {
	t.Parallel()
	mark := thread.ReadMark{Generation: 3, Position: 4}
	same(t, mark, readMarkIn(readMarkOut(mark)))
	wire := threadOut(thread.State{ID: "thr", NotableHead: 6, Read: mark})
	if wire.GetUnread() != 2 {
		t.Error("unread", wire.GetUnread())
	}
}

func TestScopes(t *testing.T) {
	t.Parallel()
	for _, want := range []changelog.Scope{changelog.AccountScope, changelog.ThreadScope("thr_1")} {
		got, err := scopeIn("scope", scopeOfSyncOut(want))
		if err != nil || got != want {
			t.Errorf("%v came back as %v, %v", want, got, err)
		}
	}
	for _, bad := range []*v1.Scope{nil, {}, {Scope: &v1.Scope_Account{}}} {
		refused(t, "scope", func() error { _, err := scopeIn("scope", bad); return err })
	}
}

// TestEntitiesAreStable: the same stored thing gives the same bytes, maps
// included, since clients compare versions and not bodies.
func TestEntitiesAreStable(t *testing.T) {
	t.Parallel()
	for _, stored := range []any{
		store.ThreadHeader{ID: "thr", CreateTime: moment()}, store.TaskHeader{ID: "tsk", Phase: task.Running, Hold: task.HoldNone},
		store.DecisionHeader{ID: "dec", Winner: &store.Winner{Label: "Phone"}}, store.Counters{OpenDecisions: 1, UnreadThreads: 2},
		store.Installation{ID: "ins", State: store.InstallationProbation, ProbationEnd: moment(), ApprovalKey: []byte{1}},
		store.Settings{Level: store.LevelTitle, KillSwitch: store.KillSwitch{By: "ins", Since: moment()}}, thread.Item{ID: "itm"}, decision.State{ID: "dec"},
		store.AgentLink{Agent: "agt", Scopes: []store.AgentScope{store.ScopeTaskCreate}, Revoked: true},
	} {
		message, err := entityOut(stored)
		if err != nil {
			t.Fatal(err)
		}
		first, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
		if err != nil || len(first) == 0 {
			t.Errorf("%T became %d bytes, %v", stored, len(first), err)
		}
	}
	if _, err := entityOut(struct{}{}); err == nil {
		t.Error("an unknown thing was sent")
	}
	counters, err := entityOut(store.Counters{OpenDecisions: 1, UnreadThreads: 2})
	if err != nil || counters.(*v1.Counters).GetBadge() != 3 {
		t.Errorf("badge of %v, %v", counters, err)
	}
}

func TestPairingSides(t *testing.T) {
	t.Parallel()
	tokens := &app.TokenPair{}
	p := app.Pairing{
		State: store.OfferConfirmed, Account: "acc", KeyMAC: []byte("mac"), Tokens: tokens,
		Installation: store.Installation{ID: "ins", Platform: store.PlatformIOS, PublicKey: []byte("key")},
	}
	mine := pairingOut(p, true, "srv")
	if mine.GetTokens() == nil || mine.GetAccountId() != "acc" || mine.GetServerId() != "srv" || mine.KeyMac != nil || mine.PublicKey != nil {
		t.Error("the new device sees", mine)
	}
	theirs := pairingOut(p, false, "srv")
	if theirs.GetTokens() != nil || theirs.GetServerId() != "" || string(theirs.GetKeyMac()) != "mac" || string(theirs.GetPublicKey()) != "key" {
		t.Error("the offering device sees", theirs)
	}
}

func same(t *testing.T, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Error("(-want +got):\n", diff)
	}
}

// refused wants a *app.FieldError that names the field.
func refused(t *testing.T, field string, fn func() error) {
	t.Helper()
	wrong, ok := errors.AsType[*app.FieldError](fn())
	if !ok || wrong.Field != field || wrong.Reason == "" {
		t.Errorf("refused with %v, want field %s", wrong, field)
	}
}
