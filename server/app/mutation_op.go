package app

import (
	"context"
	"time"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/thread"
)

// Op is what a mutation does: a command of a verb that a person also calls by
// itself, made ready in the same way.
type Op interface {
	// change makes the verb ready under the name of its mutation, which stands
	// in for a key of its own.
	change(ctx context.Context, a *App, p policy.Principal, key string) change[Said]
}

// Commands of verbs that take their arguments one by one.
type (
	// MarkReadOp is MarkRead.
	MarkReadOp struct {
		Thread string
		Mark   thread.ReadMark
	}
	// SnoozeOp is SnoozeDecision.
	SnoozeOp struct {
		Decision string
		Length   time.Duration
	}
	// AcknowledgeOp is AcknowledgeDecision.
	AcknowledgeOp struct{ Decision string }
	// ArchiveOp is ArchiveThread.
	ArchiveOp struct {
		Thread string
		Away   bool
	}
)

// saying makes a verb say how it ended.
func saying[R any](c change[R], what func(R) Said) change[Said] {
	return change[Said]{account: c.account, point: c.point, err: c.err, run: func(tx *store.Tx) (Said, error) {
		result, err := c.run(tx)
		if err != nil {
			return Said{}, err
		}
		return what(result), nil
	}}
}

// nothing is said beyond that something changed, or not.
func nothing[R any](R) Said { return Said{} }

func (c SendMessage) change(_ context.Context, a *App, p policy.Principal, key string) change[Said] {
	c.Key = key
	return saying(a.sending(p, c), func(r SendMessageResult) Said { return Said{Created: r.Item.ID} })
}

func (c AnswerDecision) change(ctx context.Context, a *App, p policy.Principal, _ string) change[Said] {
	return saying(a.answering(ctx, p, c), func(r AnswerResult) Said {
		return Said{Result: MutationResult(r.Outcome), Winner: r.Winner}
	})
}

func (c MarkReadOp) change(_ context.Context, a *App, p policy.Principal, _ string) change[Said] {
	return saying(a.markingRead(p, c.Thread, c.Mark), nothing)
}

func (c SetDraft) change(_ context.Context, a *App, p policy.Principal, _ string) change[Said] {
	return saying(a.settingDraft(p, c), func(r SetDraftResult) Said {
		if r.Diverged {
			return Said{Result: MutationConflict}
		}
		return Said{}
	})
}

func (c SetView) change(_ context.Context, a *App, p policy.Principal, _ string) change[Said] {
	return saying(a.settingView(p, c), nothing)
}

func (c SnoozeOp) change(_ context.Context, a *App, p policy.Principal, _ string) change[Said] {
	return saying(a.snoozing(p, c.Decision, c.Length), nothing)
}

func (c AcknowledgeOp) change(_ context.Context, a *App, p policy.Principal, _ string) change[Said] {
	return saying(a.acknowledging(p, c.Decision), func(due time.Time) Said {
		if due.IsZero() {
			return Said{}
		}
		return Said{Result: MutationApplied} // no entity shows it
	})
}

func (c StopTask) change(_ context.Context, a *App, p policy.Principal, key string) change[Said] {
	c.Key = key
	return saying(a.stopping(p, c), nothing)
}

func (c PauseTask) change(_ context.Context, a *App, p policy.Principal, key string) change[Said] {
	c.Key = key
	return saying(a.pausing(p, c), nothing)
}

func (c ResumeTask) change(_ context.Context, a *App, p policy.Principal, key string) change[Said] {
	c.Key = key
	return saying(a.resuming(p, c), nothing)
}

func (c ArchiveOp) change(_ context.Context, a *App, p policy.Principal, _ string) change[Said] {
	return saying(a.archiving(p, c.Thread, c.Away), nothing)
}
