package rpc

import (
	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/sync/changelog"
	"github.com/beckon-dev/beckon/sync/draft"
	"github.com/beckon-dev/beckon/sync/thread"
)

func setDraftIn(r *v1.SetDraftRequest) (app.SetDraft, error) {
	base, err := baseIn("epoch", r.GetEpoch(), r.GetBaseRev())
	return app.SetDraft{
		Subject: r.GetSubjectId(), Base: base, Words: r.GetText(), Items: mapAll(r.GetItems(), answerItemIn),
		Revision: r.GetDecisionRevision(), Merged: r.GetMergedRevs(),
	}, err
}

func sendMessageIn(r *v1.SendMessageRequest) (app.SendMessage, error) {
	base, err := baseIn("draft_epoch", r.GetDraftEpoch(), r.GetConsumesDraftRev())
	return app.SendMessage{Key: r.GetIdempotencyKey(), Thread: r.GetThreadId(), Text: r.GetText(), Draft: base}, err
}

func setViewIn(r *v1.SetViewRequest) app.SetView {
	return app.SetView{Thread: r.GetThreadId(), Anchor: r.GetAnchorPosition(), Offset: r.GetOffset(), Decision: r.GetDecisionId()}
}

// baseIn names a text as the caller saw it.
func baseIn(field string, epoch []byte, rev uint64) (draft.Base, error) {
	b := draft.Base{Rev: rev}
	if len(epoch) != 0 && len(epoch) != len(changelog.Epoch{}) {
		return b, &app.FieldError{Field: field, Reason: reasonInvalid}
	}
	copy(b.Epoch[:], epoch)
	return b, nil
}

func draftOut(s draft.State) *v1.Draft {
	out := &v1.Draft{SubjectId: s.Subject, ThreadId: s.Thread, Rev: s.Rev}
	for i, t := range s.Texts {
		if i == 0 {
			out.Own = draftTextOut(t)
		} else {
			out.Siblings = append(out.Siblings, draftTextOut(t))
		}
	}
	return out
}

func draftTextOut(t draft.Text) *v1.DraftText {
	return &v1.DraftText{
		InstallationId: t.Installation, InstallationLabel: t.Label, Text: t.Words, Items: mapAll(t.Items, answerItemOut),
		DecisionRevision: t.Revision, UpdateTime: timeOut(t.Time), Rev: t.Rev,
	}
}

func viewOut(v thread.View) *v1.ViewState {
	return &v1.ViewState{
		ThreadId: v.Thread, AnchorPosition: v.Anchor, Offset: v.Offset, DecisionId: v.Decision,
		InstallationId: v.Installation, InstallationLabel: v.Label, UpdateTime: timeOut(v.Time),
	}
}
