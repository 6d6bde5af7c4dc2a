package beckon

import (
	"context"
	"encoding/json"
	"fmt"
)

// Checkpoint stores the handler's state as JSON, for [Task.Load] in the next
// run. What was taken from [Task.Signals] is settled in the same commit and
// does not come again. Errors: [ErrTooLarge], [*Error], those of
// [context.Cause].
func (t *Task) Checkpoint(ctx context.Context, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return t.save(ctx, true, func(s *stored) { s.State, s.Tries = raw, 0 })
}

// Load reads the state of the last [Task.Checkpoint] into v and says whether
// there was one. A handler that has changed the shape of its state raises
// Worker.Schema and looks at [Task.Schema] first.
func (t *Task) Load(v any) (bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stored.State == nil {
		return false, nil
	}
	if err := json.Unmarshal(t.stored.State, v); err != nil {
		return true, fmt.Errorf("beckon: the state of the task: %w", err)
	}
	return true, nil
}

// Schema is the Worker.Schema under which the state was stored, never a higher
// one than this worker's.
func (t *Task) Schema() uint32 { return t.work.Checkpoint.GetSchemaVersion() }

// Step runs fn once in the life of a task and keeps what it returns: later runs
// get that without running it. It is for work inside of the agent. A worker that
// dies between fn and the commit runs it again, so what changes the world
// outside belongs into [Task.Effect]. Errors: those of fn, [*KeyError] for a
// name used twice in one run, and those of [Task.Checkpoint].
func Step[T any](ctx context.Context, t *Task, name string, fn func(context.Context) (T, error)) (T, error) {
	var out T
	raw, err := t.step(ctx, name)
	if err != nil {
		return out, err
	}
	if raw != nil {
		if err := json.Unmarshal(raw, &out); err != nil {
			return out, &KeyError{Key: name, Why: "names a step that has returned something else: " + err.Error()}
		}
		return out, nil
	}
	if out, err = fn(ctx); err != nil {
		return out, err
	}
	if raw, err = json.Marshal(out); err != nil {
		return out, err
	}
	return out, t.save(ctx, false, func(s *stored) {
		if s.Steps == nil {
			s.Steps = map[string]json.RawMessage{}
		}
		s.Steps[name], s.Tries = raw, 0
	})
}

// step begins a step and gives what it has returned in an earlier run.
func (t *Task) step(ctx context.Context, name string) (json.RawMessage, error) {
	if err := t.usable(ctx); err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if name == "" || t.steps[name] {
		return nil, &KeyError{Key: name, Why: "names two steps of one run: each needs its own name"}
	}
	t.steps[name] = true
	return t.stored.Steps[name], nil
}

// tries is how many runs have failed in a row.
func (t *Task) tries() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stored.Tries
}
