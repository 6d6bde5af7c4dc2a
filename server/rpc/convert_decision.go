package rpc

import (
	"fmt"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
)

// classOut: on the wire 0 means that no class was given.
func classOut(c decision.Class) v1.EffectClass { return v1.EffectClass(c) + 1 }

// classIn is nil where no class was given.
func classIn(field string, c v1.EffectClass) (*decision.Class, error) {
	n, err := enumIn(field, c, decision.Irreversible+1)
	if err != nil || n == 0 {
		return nil, err
	}
	class := n - 1
	return &class, nil
}

func decisionOut(s decision.State) *v1.Decision {
	return &v1.Decision{
		Id: s.ID, TaskId: s.Task, ThreadId: s.Thread, AgentId: s.Agent, Key: s.Key,
		Revision: s.Revision, State: v1.DecisionState(s.Status), Kind: v1.DecisionKind(s.Kind),
		Title: s.Title, AgentReason: s.Reason, Items: mapAll(s.Items, itemOfDecisionOut),
		AskedDigest: digestOut(s.Asked), EffectClass: classOut(s.Class), ExpireTime: timeOut(s.ExpireTime),
		OnExpiry: v1.OnExpiry(s.OnExpiry), Answer: answerOut(s.Answer), Grants: mapAll(s.Grants, grantOut),
		CreateTime: timeOut(s.CreateTime), CloseTime: timeOut(s.CloseTime), CloseReason: s.CloseReason,
		AboutId: s.About, AboutVersion: s.AboutVersion, Join: v1.DecisionJoin(s.Join),
		RemindTimes: mapAll(s.Reminders, timeOut), SnoozeUntil: timeOut(s.SnoozeUntil), Origin: originShown(s.Origin),
	}
}

func decisionHeaderOut(h store.DecisionHeader) *v1.DecisionHeader {
	return &v1.DecisionHeader{
		Id: h.ID, TaskId: h.Task, ThreadId: h.Thread, AgentId: h.Agent,
		State: v1.DecisionState(h.Status), Kind: v1.DecisionKind(h.Kind), Title: h.Title,
		Revision: h.Revision, EffectClass: classOut(h.Class), ExpireTime: timeOut(h.ExpireTime),
		Winner: winnerOut(h.Winner), CreateTime: timeOut(h.CreateTime), SnoozeUntil: timeOut(h.SnoozeUntil),
	}
}

func winnerOut(w *store.Winner) *v1.Winner {
	if w == nil {
		return nil
	}
	return &v1.Winner{
		InstallationId: w.Installation, InstallationLabel: w.Label,
		AnswerTime: timeOut(w.Time), Surface: v1.Surface(w.Surface),
	}
}

func itemOfDecisionOut(it decision.Item) *v1.DecisionItem {
	out := &v1.DecisionItem{
		Id: it.ID, Question: it.Question, Action: actionOut(it.Action),
		Options: mapAll(it.Options, optionOut), Facts: mapAll(it.Facts, factOut),
		Header: it.Header, ResponseSchemaJson: it.Schema, Url: it.URL, Form: formOut(it.Schema),
		Evidence: mapAll(it.Evidence, shownEvidenceOut),
	}
	if it.Max > 0 {
		out.Multi = &v1.MultiChoice{Min: it.Min, Max: it.Max}
	}
	return out
}

func factOut(f decision.Fact) *v1.Fact {
	return &v1.Fact{Label: f.Label, Value: f.Value, Marked: f.Marked}
}

// formOut draws a schema for clients that have no reader of schemas.
func formOut(schema []byte) *v1.Form {
	if len(schema) == 0 {
		return nil
	}
	fields, flat := decision.ReadForm(schema)
	return &v1.Form{WebOnly: !flat, Fields: mapAll(fields, func(f decision.FormField) *v1.FormField {
		return &v1.FormField{
			Name: f.Name, Title: f.Title, Description: f.Help, Type: v1.FieldType(f.Type), Required: f.Required,
			Format: f.Format, DefaultJson: f.DefaultJSON,
			Choices: mapAll(f.Choices, func(c decision.FormChoice) *v1.FormChoice {
				return &v1.FormChoice{Value: c.Value, Label: c.Label}
			}),
		}
	})}
}

func optionOut(o decision.Option) *v1.Option {
	return &v1.Option{Id: o.ID, Label: o.Label, Kind: v1.OptionKind(o.Kind), Text: v1.TextRule(o.Text), Prefill: o.Prefill}
}

func actionOut(a *decision.Action) *v1.Action {
	if a == nil {
		return nil
	}
	out := &v1.Action{
		App: a.App, Connection: a.Connection, Operation: a.Operation,
		ArgsJson: a.ArgsJSON, TargetJson: a.TargetJSON, ActionDigest: digestOut(a.Digest),
		ArgsSchemaJson: a.ArgsSchema,
	}
	if a.Class != nil {
		out.EffectClass = classOut(*a.Class)
	}
	return out
}

// itemsOfDecisionIn drops what only the server sets: facts and digests.
func itemsOfDecisionIn(items []*v1.DecisionItem) ([]decision.Item, error) {
	out := make([]decision.Item, len(items))
	for i, it := range items {
		action, err := actionIn(fmt.Sprintf("items[%d].action", i), it.GetAction())
		if err != nil {
			return nil, err
		}
		out[i] = decision.Item{
			ID: it.GetId(), Question: it.GetQuestion(), Action: action, Header: it.GetHeader(),
			Schema: it.GetResponseSchemaJson(), URL: it.GetUrl(), Min: it.GetMulti().GetMin(), Max: it.GetMulti().GetMax(),
		}
		if out[i].Evidence, err = shownEvidenceIn(fmt.Sprintf("items[%d].evidence", i), it.GetEvidence()); err != nil {
			return nil, err
		}
		for j, o := range it.GetOptions() {
			option, err := optionIn(fmt.Sprintf("items[%d].options[%d]", i, j), o)
			if err != nil {
				return nil, err
			}
			out[i].Options = append(out[i].Options, option)
		}
	}
	return out, nil
}

func optionIn(field string, o *v1.Option) (decision.Option, error) {
	kind, err := enumIn(field+".kind", o.GetKind(), decision.Cancel)
	if err != nil {
		return decision.Option{}, err
	}
	text, err := enumIn(field+".text", o.GetText(), decision.TextRequired)
	return decision.Option{ID: o.GetId(), Label: o.GetLabel(), Kind: kind, Text: text, Prefill: o.GetPrefill()}, err
}

func actionIn(field string, a *v1.Action) (*decision.Action, error) {
	if a == nil {
		return nil, nil
	}
	class, err := classIn(field+".effect_class", a.GetEffectClass())
	return &decision.Action{
		App: a.GetApp(), Connection: a.GetConnection(), Operation: a.GetOperation(),
		ArgsJSON: a.GetArgsJson(), TargetJSON: a.GetTargetJson(), Class: class,
		ArgsSchema: a.GetArgsSchemaJson(),
	}, err
}

func answerOut(a *decision.Answer) *v1.Answer {
	if a == nil {
		return nil
	}
	return &v1.Answer{
		Items: mapAll(a.Items, answerItemOut), InstallationId: a.Installation, InstallationLabel: a.Label,
		Surface: v1.Surface(a.Surface), AnswerTime: timeOut(a.Time), AnswerKey: a.Key,
		DeliverTime: timeOut(a.DeliverTime),
	}
}

func answerItemOut(a decision.AnswerItem) *v1.AnswerItem {
	out := &v1.AnswerItem{ItemId: a.Item, OptionIds: a.Options, Text: a.Text, EditedArgsJson: a.EditedArgs, ContentJson: a.Content}
	if len(a.EditedArgs) > 0 {
		out.EditedDigest = digestOut(a.Edited)
	}
	return out
}

func answerItemIn(a *v1.AnswerItem) decision.AnswerItem {
	return decision.AnswerItem{
		Item: a.GetItemId(), Options: a.GetOptionIds(), Text: a.GetText(),
		EditedArgs: a.GetEditedArgsJson(), Content: a.GetContentJson(),
	}
}

func grantOut(g decision.Grant) *v1.Grant {
	return &v1.Grant{
		Id: g.ID, ItemId: g.Item, ActionDigest: digestOut(g.Digest),
		State: v1.GrantState(g.State), ExpireTime: timeOut(g.ExpireTime),
		EffectId: g.Effect, UseTime: timeOut(g.UseTime),
	}
}

func requestDecisionIn(r *v1.RequestDecisionRequest) (app.RequestDecision, error) {
	items, err := itemsOfDecisionIn(r.GetItems())
	if err != nil {
		return app.RequestDecision{}, err
	}
	kind, err := enumIn("kind", r.GetKind(), decision.OpenURL)
	if err != nil {
		return app.RequestDecision{}, err
	}
	join, err := enumIn("join", r.GetJoin(), decision.AllItems)
	if err != nil {
		return app.RequestDecision{}, err
	}
	silence, err := enumIn("on_expiry", r.GetOnExpiry(), decision.StopTask)
	return app.RequestDecision{
		Held: app.Held{Task: r.GetTaskId(), Lease: r.GetLeaseId()}, Name: r.GetKey(), Kind: kind, Title: r.GetTitle(),
		Reason: r.GetAgentReason(), Items: items, Timeout: waitIn(r.GetTimeout()), OnExpiry: silence, Supersedes: r.GetSupersedes(),
		Join: join, Origin: originIn(r.GetOrigin()),
		Calls: decision.Calls{After: mapAll(r.GetRemindAfter(), waitIn), Off: r.GetNoReminders()},
	}, err
}

func answerDecisionIn(r *v1.AnswerDecisionRequest) (app.AnswerDecision, error) {
	asked, err := digestIn("asked_digest", r.GetAskedDigest())
	if err != nil {
		return app.AnswerDecision{}, err
	}
	view, err := digestIn("view_digest", r.GetViewDigest())
	if err != nil {
		return app.AnswerDecision{}, err
	}
	surface, err := enumIn("surface", r.GetSurface(), decision.SurfaceTerminal)
	return app.AnswerDecision{
		Decision: r.GetDecisionId(), Revision: r.GetRevision(), Asked: asked, View: view, Key: r.GetAnswerKey(),
		Items: mapAll(r.GetItems(), answerItemIn), Proof: r.GetProof(), Surface: surface,
		Interactive: r.GetInteractive(), Unlocked: r.GetUnlocked(),
	}, err
}
