package store

import (
	storagev1 "github.com/beckon-dev/beckon/proto/gen/beckon/storage/v1"
	"github.com/beckon-dev/beckon/sync/changelog"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/draft"
	"github.com/beckon-dev/beckon/sync/thread"
)

// draftCodec stores what a person has begun to write.
type draftCodec struct{}

func (draftCodec) encode(v draft.State) ([]byte, error) { return marshal(packDraft(v)) }
func (draftCodec) decode(b []byte) (draft.State, error) { return unmarshal(b, unpackDraft) }

// viewCodec stores where a person left a thread.
type viewCodec struct{}

func (viewCodec) encode(v thread.View) ([]byte, error) { return marshal(packView(v)) }
func (viewCodec) decode(b []byte) (thread.View, error) { return unmarshal(b, unpackView) }

func packDraft(s draft.State) *storagev1.Draft {
	return &storagev1.Draft{
		Subject: s.Subject, Thread: s.Thread, Rev: s.Rev,
		Texts: each(s.Texts, func(t draft.Text) *storagev1.DraftText {
			m := &storagev1.DraftText{
				Rev: t.Rev, BaseRev: t.Base.Rev, Installation: t.Installation, Label: t.Label, Words: t.Words,
				Items: each(t.Items, packAnswerItem), Revision: t.Revision, Time: micros(t.Time),
			}
			if t.Base.Epoch != (changelog.Epoch{}) {
				m.BaseEpoch = t.Base.Epoch[:]
			}
			return m
		}),
	}
}

func unpackDraft(m *storagev1.Draft, r *reading) draft.State {
	return draft.State{
		Subject: m.GetSubject(), Thread: m.GetThread(), Rev: m.GetRev(),
		Texts: each(m.GetTexts(), func(m *storagev1.DraftText) draft.Text {
			t := draft.Text{
				Rev: m.GetRev(), Base: draft.Base{Rev: m.GetBaseRev()}, Installation: m.GetInstallation(), Label: m.GetLabel(), Words: m.GetWords(),
				Items:    each(m.GetItems(), func(m *storagev1.AnswerItem) decision.AnswerItem { return unpackAnswerItem(m, r) }),
				Revision: m.GetRevision(), Time: moment(m.GetTime()),
			}
			if b := m.GetBaseEpoch(); len(b) != 0 && len(b) != len(t.Base.Epoch) {
				r.refuse("texts.base_epoch")
			}
			copy(t.Base.Epoch[:], m.GetBaseEpoch())
			return t
		}),
	}
}

func packView(v thread.View) *storagev1.View {
	return &storagev1.View{
		Thread: v.Thread, Anchor: v.Anchor, Offset: v.Offset, Decision: v.Decision,
		Installation: v.Installation, Label: v.Label, Time: micros(v.Time),
	}
}

func unpackView(m *storagev1.View, _ *reading) thread.View {
	return thread.View{
		Thread: m.GetThread(), Anchor: m.GetAnchor(), Offset: m.GetOffset(), Decision: m.GetDecision(),
		Installation: m.GetInstallation(), Label: m.GetLabel(), Time: moment(m.GetTime()),
	}
}
