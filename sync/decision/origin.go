package decision

import "time"

// MaxOrigin is how long the request of a host may be, in bytes.
const MaxOrigin = 64 << 10

// Origin is where a question came from, for the program that carries it back: a
// host with a dialect of its own and its own powers. Only its dialect is shown
// to people. The core never reads Raw.
type Origin struct {
	Dialect, Version string
	// Raw is the host's request, byte for byte.
	Raw       []byte
	RawDigest Digest
	// Correlation is the host's own names for it.
	Correlation map[string]string
	// CanEdit, CanText and CanMulti say which answers the host can honour;
	// CanPersist, whether it can remember one.
	CanEdit, CanPersist, CanText, CanMulti bool
	// HostTimeout is how long the host waits; zero where it does not say.
	HostTimeout time.Duration
}

// honour takes from a question what its host could not carry out: what the agent
// asks for by name is refused, what is only offered beside is left out. A
// question does not outlive the wait of its host.
func honour(s State, now time.Time) (State, error) {
	o := s.Origin
	if o == nil {
		return s, nil
	}
	if len(o.Raw) > MaxOrigin {
		return s, invalid("LIMIT", "origin.raw")
	}
	for i := range s.Items {
		it := &s.Items[i]
		if it.Max > 1 && !o.CanMulti {
			return s, invalid("HOST_CANNOT", "items[%d].multi", i)
		}
		for j := range it.Options {
			option := &it.Options[j]
			switch {
			case option.Kind == Edit && !o.CanEdit:
				return s, invalid("HOST_CANNOT", "items[%d].options[%d].kind", i, j)
			case o.CanText || option.Text == TextNone:
			case option.Text == TextRequired:
				return s, invalid("HOST_CANNOT", "items[%d].options[%d].text", i, j)
			default:
				option.Text, option.Prefill = TextNone, ""
			}
		}
	}
	if o.HostTimeout < 0 {
		return s, invalid("LIMIT", "origin.host_timeout")
	}
	if end := now.Add(o.HostTimeout); o.HostTimeout > 0 && (s.ExpireTime.IsZero() || end.Before(s.ExpireTime)) {
		s.ExpireTime = end
	}
	return s, nil
}
