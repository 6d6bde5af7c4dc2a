package store

import "github.com/beckon-dev/beckon/sync/effect"

// Effect reads an effect.
func (r *Read) Effect(id string) (effect.State, error) {
	return missing(getRow[effect.State](r.r, tabEffect, accountKey(r.account, id)))
}

// EffectNamed finds the effect that an agent's own name stands for in a task.
func (r *Read) EffectNamed(task, key string) (effect.State, bool, error) {
	id, err := r.r.Get(tabEffectKey, accountKey(r.account, task, key))
	if err != nil || id == nil {
		return effect.State{}, false, err
	}
	s, err := r.Effect(string(id))
	return s, err == nil, err
}

// EffectsOf lists the effects of a task, newest first, at most n, those before
// an effect where one is named.
func (r *Read) EffectsOf(task, before string, n int) ([]effect.State, error) {
	prefix := append(accountKey(r.account, task), 0)
	to := after(prefix)
	if before != "" {
		to = accountKey(r.account, task, before)
	}
	return r.effects(tabEffectsOf, prefix, to, n)
}

// EffectsAtWork lists the effects of a task that its lease or its person still
// has to do with, newest first: begun, uncertain, or open for another try.
func (r *Read) EffectsAtWork(task string) ([]effect.State, error) {
	prefix := append(accountKey(r.account, task), 0)
	return r.effects(tabAtWork, prefix, after(prefix), 1<<20)
}

// EffectsAtWorkCount is how many EffectsAtWork would list.
func (r *Read) EffectsAtWorkCount(task string) (int, error) {
	n := 0
	prefix := append(accountKey(r.account, task), 0)
	err := r.r.Scan(tabAtWork, prefix, after(prefix), func(_, _ []byte) bool {
		n++
		return true
	})
	return n, err
}

func (r *Read) effects(table Table, prefix, to []byte, n int) ([]effect.State, error) {
	var ids []string
	err := r.r.ScanBack(table, prefix, to, func(k, _ []byte) bool {
		ids = append(ids, string(k[len(prefix):]))
		return len(ids) < n
	})
	if err != nil {
		return nil, err
	}
	out := make([]effect.State, 0, len(ids))
	for _, id := range ids {
		s, err := r.Effect(id)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// PutEffect writes an effect and where it is found.
func (t *Tx) PutEffect(s effect.State) error {
	if err := putRow(t.w, tabEffect, accountKey(t.account, s.ID), s); err != nil {
		return err
	}
	if err := t.w.Put(tabEffectsOf, accountKey(t.account, s.Task, s.ID), []byte{1}); err != nil {
		return err
	}
	if err := t.w.Put(tabEffectKey, accountKey(t.account, s.Task, s.Key), []byte(s.ID)); err != nil {
		return err
	}
	own := accountKey(t.account, s.Task, s.ID)
	if s.Unsettled() {
		return t.w.Put(tabAtWork, own, []byte{1})
	}
	return t.w.Delete(tabAtWork, own)
}
