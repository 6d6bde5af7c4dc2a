package phone

import (
	"context"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/sync/changelog"
)

// ThreadLine is a thread in the app's list.
type ThreadLine struct {
	ID     string    `json:"id"`
	Title  string    `json:"title"`
	Unread uint64    `json:"unread,omitempty"`
	Time   time.Time `json:"time,omitzero"`
}

// maxThreads is how many threads the list has, the newest ones.
const maxThreads = 20

// Threads is the app's list of threads as last read, newest first.
func (a *App) Threads() []ThreadLine {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.threads)
}

// Opened is the card on the app's screen; false where there is none.
func (a *App) Opened() (Card, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.opened == nil {
		return Card{}, false
	}
	return *a.opened, true
}

// list writes down the threads for those who do not read; a.reading is held.
func (a *App) list() {
	out := []ThreadLine{}
	for e := range a.views[""].All() {
		var t v1.Thread
		if e.Kind == changelog.ThreadHeader && proto.Unmarshal(e.Body, &t) == nil {
			out = append(out, ThreadLine{t.GetId(), t.GetTitle(), t.GetUnread(), t.GetUpdateTime().AsTime()})
		}
	}
	slices.SortFunc(out, func(x, y ThreadLine) int {
		if c := y.Time.Compare(x.Time); c != 0 {
			return c
		}
		return strings.Compare(x.ID, y.ID)
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	a.threads = out[:min(len(out), maxThreads)]
}

// OpenThread is the person choosing a thread inside the app: it shows the
// question that is open there, else how its newest task ended, which is read by
// that. Errors: ErrGone, those of the server.
func (a *App) OpenThread(ctx context.Context, thread string) (Card, error) {
	a.pressing.Lock()
	defer a.pressing.Unlock()
	a.cfg.Device.Launch(a.cfg.Topic)
	card, err := a.showThread(ctx, thread)
	if err != nil {
		a.fail(Event{Thread: thread}, err)
		return Card{}, err
	}
	a.present(card) //nolint:contextcheck // presence outlasts the tap
	a.tell(Event{Kind: Opened, Thread: thread, Task: card.Task, Decision: card.Decision, Revision: card.Revision})
	return card, a.Sync(ctx)
}

// present puts a card on the app's screen, and with it the thread before its
// person. The server is told of both: of a question, that its card is open.
func (a *App) present(card Card) {
	a.mu.Lock()
	a.opened = &card
	a.mu.Unlock()
	a.look(card.Thread)
	if card.State != "PENDING" {
		return
	}
	ctx, cancel := context.WithTimeout(a.ctx, callLimit)
	defer cancel()
	a.fail(Event{Thread: card.Thread, Decision: card.Decision}, a.do(ctx, func(ctx context.Context, srv *server) error {
		_, err := srv.decisions.AcknowledgeDecision(ctx, &v1.AcknowledgeDecisionRequest{DecisionId: card.Decision})
		return err
	}))
}

func (a *App) showThread(ctx context.Context, thread string) (Card, error) {
	a.reading.Lock()
	defer a.reading.Unlock()
	if err := a.read(ctx, "", ""); err != nil {
		return Card{}, err
	}
	var head v1.Thread
	if !a.held("", changelog.ThreadHeader, thread, &head) {
		return Card{}, ErrGone
	}
	if err := a.read(ctx, thread, ""); err != nil {
		return Card{}, err
	}
	for e := range a.views[thread].All() {
		d := &v1.Decision{}
		if e.Kind == changelog.Decision && proto.Unmarshal(e.Body, d) == nil && d.GetState() == v1.DecisionState_DECISION_STATE_PENDING {
			return decisionCard(d), nil
		}
	}
	card := a.resultCard(thread, head.GetLastTaskId())
	if card.Title == "" {
		card.Title = head.GetTitle()
	}
	return card, a.markRead(ctx, thread)
}
