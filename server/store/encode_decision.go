package store

import (
	"time"

	storagev1 "github.com/beckon-dev/beckon/proto/gen/beckon/storage/v1"
	"github.com/beckon-dev/beckon/sync/decision"
)

// decisionCodec stores a question and all that came of it.
type decisionCodec struct{}

func (decisionCodec) encode(v decision.State) ([]byte, error) { return marshal(packDecision(v)) }
func (decisionCodec) decode(b []byte) (decision.State, error) { return unmarshal(b, unpackDecision) }

func packDecision(s decision.State) *storagev1.Decision {
	return &storagev1.Decision{
		Id: s.ID, Task: s.Task, Thread: s.Thread, Agent: s.Agent, Key: s.Key, Revision: s.Revision,
		Status: uint32(s.Status), Kind: uint32(s.Kind), Title: s.Title, Reason: s.Reason,
		Items: each(s.Items, packQuestion), Asked: from32(s.Asked), Class: uint32(s.Class),
		ExpireTime: micros(s.ExpireTime), OnExpiry: uint32(s.OnExpiry),
		Answer: packAnswer(s.Answer), Grants: each(s.Grants, packGrant),
		CreateTime: micros(s.CreateTime), CloseTime: micros(s.CloseTime), CloseReason: s.CloseReason,
		About: s.About, AboutVersion: s.AboutVersion, Join: uint32(s.Join),
		Reminders: each(s.Reminders, micros), SnoozeUntil: micros(s.SnoozeUntil), Round: s.Round, Origin: packOrigin(s.Origin),
	}
}

func unpackDecision(m *storagev1.Decision, r *reading) decision.State {
	return decision.State{
		ID: m.GetId(), Task: m.GetTask(), Thread: m.GetThread(), Agent: m.GetAgent(), Key: m.GetKey(), Revision: m.GetRevision(),
		Status: number[decision.Status](r, "status", m.GetStatus()),
		Kind:   number[decision.Kind](r, "kind", m.GetKind()),
		Title:  m.GetTitle(), Reason: m.GetReason(),
		Items:      each(m.GetItems(), func(m *storagev1.Question) decision.Item { return unpackQuestion(m, r) }),
		Asked:      bytes32[decision.Digest](r, "asked", m.GetAsked()),
		Class:      number[decision.Class](r, "class", m.GetClass()),
		ExpireTime: moment(m.GetExpireTime()),
		OnExpiry:   number[decision.OnExpiry](r, "on_expiry", m.GetOnExpiry()),
		Answer:     unpackAnswer(m.GetAnswer(), r),
		Grants:     each(m.GetGrants(), func(m *storagev1.Grant) decision.Grant { return unpackGrant(m, r) }),
		CreateTime: moment(m.GetCreateTime()), CloseTime: moment(m.GetCloseTime()), CloseReason: m.GetCloseReason(),
		About: m.GetAbout(), AboutVersion: m.GetAboutVersion(),
		Join:      number[decision.Join](r, "join", m.GetJoin()),
		Reminders: each(m.GetReminders(), moment), SnoozeUntil: moment(m.GetSnoozeUntil()), Round: m.GetRound(),
		Origin: unpackOrigin(m.GetOrigin(), r),
	}
}

func packQuestion(it decision.Item) *storagev1.Question {
	return &storagev1.Question{
		Id: it.ID, Question: it.Question, Action: packAction(it.Action),
		Options: each(it.Options, func(o decision.Option) *storagev1.Option {
			return &storagev1.Option{Id: o.ID, Label: o.Label, Kind: uint32(o.Kind), Text: uint32(o.Text), Prefill: o.Prefill}
		}),
		Facts: each(it.Facts, func(f decision.Fact) *storagev1.Fact {
			return &storagev1.Fact{Label: f.Label, Value: f.Value, Marked: f.Marked}
		}),
		Header: it.Header, Schema: it.Schema, Url: it.URL, Min: it.Min, Max: it.Max,
		Evidence: each(it.Evidence, func(e decision.Evidence) *storagev1.Evidence {
			return &storagev1.Evidence{Kind: uint32(e.Kind), Sha256: from32(e.SHA256), Bytes: e.Bytes, Title: e.Title, MustView: e.MustView}
		}),
	}
}

func unpackQuestion(m *storagev1.Question, r *reading) decision.Item {
	return decision.Item{
		ID: m.GetId(), Question: m.GetQuestion(), Action: unpackAction(m.GetAction(), r),
		Options: each(m.GetOptions(), func(m *storagev1.Option) decision.Option {
			return decision.Option{
				ID: m.GetId(), Label: m.GetLabel(),
				Kind: number[decision.OptionKind](r, "items.options.kind", m.GetKind()),
				Text: number[decision.TextRule](r, "items.options.text", m.GetText()), Prefill: m.GetPrefill(),
			}
		}),
		Facts: each(m.GetFacts(), func(m *storagev1.Fact) decision.Fact {
			return decision.Fact{Label: m.GetLabel(), Value: m.GetValue(), Marked: m.GetMarked()}
		}),
		Header: m.GetHeader(), Schema: m.GetSchema(), URL: m.GetUrl(), Min: m.GetMin(), Max: m.GetMax(),
		Evidence: each(m.GetEvidence(), func(m *storagev1.Evidence) decision.Evidence {
			return decision.Evidence{
				Kind:   number[decision.EvidenceKind](r, "items.evidence.kind", m.GetKind()),
				SHA256: bytes32[decision.Digest](r, "items.evidence.sha256", m.GetSha256()),
				Bytes:  m.GetBytes(), Title: m.GetTitle(), MustView: m.GetMustView(),
			}
		}),
	}
}

func packOrigin(o *decision.Origin) *storagev1.Origin {
	if o == nil {
		return nil
	}
	return &storagev1.Origin{
		Dialect: o.Dialect, Version: o.Version, Raw: o.Raw, RawDigest: from32(o.RawDigest), Correlation: o.Correlation,
		CanEdit: o.CanEdit, CanPersist: o.CanPersist, CanText: o.CanText, CanMulti: o.CanMulti, HostTimeout: o.HostTimeout.Microseconds(),
	}
}

func unpackOrigin(m *storagev1.Origin, r *reading) *decision.Origin {
	if m == nil {
		return nil
	}
	return &decision.Origin{
		Dialect: m.GetDialect(), Version: m.GetVersion(), Raw: m.GetRaw(), Correlation: m.GetCorrelation(),
		RawDigest: bytes32[decision.Digest](r, "origin.raw_digest", m.GetRawDigest()),
		CanEdit:   m.GetCanEdit(), CanPersist: m.GetCanPersist(), CanText: m.GetCanText(), CanMulti: m.GetCanMulti(),
		HostTimeout: time.Duration(m.GetHostTimeout()) * time.Microsecond,
	}
}

// packAction keeps the class that the agent gave apart from none given.
func packAction(a *decision.Action) *storagev1.Action {
	if a == nil {
		return nil
	}
	m := &storagev1.Action{
		App: a.App, Connection: a.Connection, Operation: a.Operation,
		ArgsJson: a.ArgsJSON, TargetJson: a.TargetJSON, Digest: from32(a.Digest),
		ArgsSchema: a.ArgsSchema,
	}
	if a.Class != nil {
		class := uint32(*a.Class)
		m.Class = &class
	}
	return m
}

func unpackAction(m *storagev1.Action, r *reading) *decision.Action {
	if m == nil {
		return nil
	}
	a := &decision.Action{
		App: m.GetApp(), Connection: m.GetConnection(), Operation: m.GetOperation(),
		ArgsJSON: m.GetArgsJson(), TargetJSON: m.GetTargetJson(),
		Digest:     bytes32[decision.Digest](r, "items.action.digest", m.GetDigest()),
		ArgsSchema: m.GetArgsSchema(),
	}
	if m.Class != nil {
		class := number[decision.Class](r, "items.action.class", m.GetClass())
		a.Class = &class
	}
	return a
}

func packAnswer(a *decision.Answer) *storagev1.Answer {
	if a == nil {
		return nil
	}
	return &storagev1.Answer{
		Items:        each(a.Items, packAnswerItem),
		Installation: a.Installation, Label: a.Label, Surface: uint32(a.Surface), Key: a.Key,
		View: from32(a.View), Proof: a.Proof, Time: micros(a.Time), DeliverTime: micros(a.DeliverTime),
	}
}

func unpackAnswer(m *storagev1.Answer, r *reading) *decision.Answer {
	if m == nil {
		return nil
	}
	return &decision.Answer{
		Items:        each(m.GetItems(), func(m *storagev1.AnswerItem) decision.AnswerItem { return unpackAnswerItem(m, r) }),
		Installation: m.GetInstallation(), Label: m.GetLabel(),
		Surface: number[decision.Surface](r, "answer.surface", m.GetSurface()), Key: m.GetKey(),
		View:  bytes32[decision.Digest](r, "answer.view", m.GetView()),
		Proof: m.GetProof(), Time: moment(m.GetTime()), DeliverTime: moment(m.GetDeliverTime()),
	}
}

func packAnswerItem(it decision.AnswerItem) *storagev1.AnswerItem {
	return &storagev1.AnswerItem{
		Item: it.Item, Options: it.Options, Text: it.Text, EditedArgs: it.EditedArgs, Edited: from32(it.Edited),
		Content: it.Content, ContentDigest: from32(it.ContentDigest),
	}
}

func unpackAnswerItem(m *storagev1.AnswerItem, r *reading) decision.AnswerItem {
	return decision.AnswerItem{
		Item: m.GetItem(), Options: m.GetOptions(), Text: m.GetText(),
		EditedArgs: m.GetEditedArgs(), Edited: bytes32[decision.Digest](r, "answer.items.edited", m.GetEdited()),
		Content: m.GetContent(), ContentDigest: bytes32[decision.Digest](r, "answer.items.content_digest", m.GetContentDigest()),
	}
}

func packGrant(g decision.Grant) *storagev1.Grant {
	return &storagev1.Grant{
		Id: g.ID, Item: g.Item, Digest: from32(g.Digest), State: uint32(g.State), ExpireTime: micros(g.ExpireTime),
		Effect: g.Effect, UseTime: micros(g.UseTime),
	}
}

func unpackGrant(m *storagev1.Grant, r *reading) decision.Grant {
	return decision.Grant{
		ID: m.GetId(), Item: m.GetItem(),
		Digest:     bytes32[decision.Digest](r, "grants.digest", m.GetDigest()),
		State:      number[decision.GrantState](r, "grants.state", m.GetState()),
		ExpireTime: moment(m.GetExpireTime()),
		Effect:     m.GetEffect(), UseTime: moment(m.GetUseTime()),
	}
}
