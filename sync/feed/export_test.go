package feed

// Topics is the number of topics somebody waits for.
func (h *Hub) Topics() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.subs)
}

// Agents is the number of agents somebody waits for.
func (q *Queue) Agents() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.lines)
}
