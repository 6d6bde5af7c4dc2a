package app

import (
	"context"
	"time"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/task"
	"github.com/beckon-dev/beckon/sync/thread"
)

// ClaimOptions is under which name and for how long a lease is wanted.
type ClaimOptions struct {
	ID     string
	Length time.Duration
}

// CreateTask starts a task.
type CreateTask struct {
	Key string
	// Account is an account id; agents linked to one account may leave it out.
	Account string
	// Agent does the work; persons name it, agents are it.
	Agent string
	// Thread is continued; empty makes a new one.
	Thread      string
	Title       string
	Input       []byte
	Labels      map[string]string
	MaxAttempts int
	// Claim creates the task in the hands of the caller.
	Claim      *ClaimOptions
	NoMessages bool
	// Review: a person accepts the result before it ends the task.
	Review bool
	// Deadline is when the task is no longer wanted; zero is never.
	Deadline time.Time
	// SilenceAfter is how long a worker may say nothing; zero is the default.
	SilenceAfter time.Duration
}

// CreateTaskResult is the task and, where asked for, the claim on it.
type CreateTaskResult struct {
	Task  task.State
	Claim *Claim
}

// CreateTask starts a task in a new or an existing thread. Errors: ErrScope,
// ErrNoAccount, ErrKeyReused, *QuotaError, store.ErrNotFound.
func (a *App) CreateTask(ctx context.Context, p policy.Principal, c CreateTask) (CreateTaskResult, error) {
	account, err := a.targetAccount(ctx, p, c.Account)
	if err != nil {
		return CreateTaskResult{}, err
	}
	if p.Kind == policy.Agent {
		c.Agent = p.Agent
	} else if c.Claim != nil {
		return CreateTaskResult{}, &FieldError{Field: "claim", Reason: "NOT_ALLOWED"}
	}
	var result CreateTaskResult
	err = a.update(ctx, account, func(tx *store.Tx) error {
		if err := mayCreate(tx.Read, p); err != nil {
			return err
		}
		result, err = once(a, tx, p, "CreateTask", c.Key, c, func() (CreateTaskResult, error) {
			return a.createTask(tx, p, c)
		})
		return err
	})
	return result, err
}

// mayCreate refuses an agent that is stopped. One without a link here learns
// nothing of the account, not even that.
func mayCreate(tx *store.Read, p policy.Principal) error {
	if p.Person() {
		return nil
	}
	if err := linked(tx, p.Agent, store.ScopeTaskCreate); err != nil {
		return err
	}
	return mayAct(tx, p)
}

// targetAccount is where an agent works: a target to be checked against its
// link, never an identity.
func (a *App) targetAccount(ctx context.Context, p policy.Principal, named string) (string, error) {
	if p.Person() {
		if named != "" && named != store.AccountID(p.Account) {
			return "", store.ErrNotFound
		}
		return p.Account, nil
	}
	if named != "" {
		key, ok := store.AccountKey(named)
		if !ok {
			return "", store.ErrNotFound
		}
		return key, nil
	}
	accounts, err := a.store.LinkedAccounts(ctx, p.Agent, 2)
	if err != nil {
		return "", err
	}
	if len(accounts) != 1 {
		return "", ErrNoAccount
	}
	return accounts[0], nil
}

func (a *App) createTask(tx *store.Tx, p policy.Principal, c CreateTask) (CreateTaskResult, error) {
	if err := linked(tx.Read, c.Agent, store.ScopeTaskCreate); err != nil {
		return CreateTaskResult{}, err
	}
	if c.Review && c.MaxAttempts == 1 {
		return CreateTaskResult{}, &FieldError{Field: "review", Reason: "NOT_ALLOWED"}
	}
	if !c.Deadline.IsZero() && !c.Deadline.After(tx.Now()) {
		return CreateTaskResult{}, &FieldError{Field: "deadline", Reason: "INVALID"}
	}
	th, err := a.threadFor(tx, p, c)
	if err != nil {
		return CreateTaskResult{}, err
	}
	s := task.State{
		Agent: c.Agent, Title: c.Title, Input: c.Input, Labels: c.Labels,
		MaxAttempts: c.MaxAttempts, NoMessages: c.NoMessages, Review: c.Review, Deadline: c.Deadline.Truncate(time.Microsecond),
		SilenceAfter: c.SilenceAfter.Truncate(time.Microsecond),
	}
	var lease task.Lease
	if c.Claim != nil {
		if lease, err = a.lease(c.Claim.ID, c.Claim.Length, tx.Now()); err != nil {
			return CreateTaskResult{}, err
		}
	}
	if s, err = a.startTask(tx, &th, s, lease, p.ID()); err != nil {
		return CreateTaskResult{}, err
	}
	result := CreateTaskResult{Task: s}
	if c.Claim != nil {
		claim, err := a.claimView(tx.Read, s)
		if err != nil {
			return CreateTaskResult{}, err
		}
		result.Claim = &claim
	}
	return result, tx.PutThread(th, true)
}

// startTask makes a task the newest of a thread; the caller stores the thread.
func (a *App) startTask(tx *store.Tx, th *thread.State, s task.State, lease task.Lease, actor string) (task.State, error) {
	if tx.LiveTaskCount() >= a.limits.OpenTasks {
		return s, &QuotaError{What: "open_tasks", Max: int64(a.limits.OpenTasks)}
	}
	if s.MaxAttempts == 0 {
		s.MaxAttempts = a.limits.MaxAttemptsDefault
	}
	if s.SilenceAfter == 0 {
		s.SilenceAfter = a.limits.SilenceDefault
	}
	id, err := a.newID(tx.Read, store.KindTask)
	if err != nil {
		return s, err
	}
	s.ID, s.Thread = id, th.ID
	s = task.Create(s, lease, tx.Now()).Attended(a.patience(), tx.Now())
	*th = thread.TaskStarted(*th, thread.Live{Task: s.ID, Agent: s.Agent, NoMessages: s.NoMessages}, tx.Now())
	if err := tx.PutTask(s, true); err != nil {
		return s, err
	}
	return s, tx.Audit(actor, "task.created", s.ID, "")
}

// threadFor finds or makes the thread of a new task. An agent may only go on in
// a thread where it has worked.
func (a *App) threadFor(tx *store.Tx, p policy.Principal, c CreateTask) (thread.State, error) {
	if c.Thread != "" {
		if account, err := accountOf(store.KindThread, c.Thread); err != nil || account != tx.Account() {
			return thread.State{}, store.ErrNotFound
		}
		th, err := tx.Thread(c.Thread)
		if err == nil && p.Kind == policy.Agent {
			err = worked(tx.Read, p.Agent, th.ID)
		}
		return th, err
	}
	id, err := a.newID(tx.Read, store.KindThread)
	return thread.State{ID: id, Title: c.Title, CreateTime: tx.Now(), UpdateTime: tx.Now()}, err
}

// worked reports ErrNotFound unless the agent has a task in the thread.
func worked(tx *store.Read, agent, thread string) error {
	tasks, err := tx.TasksOf(thread, 50)
	if err != nil {
		return err
	}
	for _, s := range tasks {
		if s.Agent == agent {
			return nil
		}
	}
	return store.ErrNotFound
}
