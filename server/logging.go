package server

import (
	"context"
	"log/slog"
)

// allowList drops every attribute whose key is not known to be harmless, so
// that a careless line cannot put a title, an address or a token into a log.
type allowList struct{ slog.Handler }

func allowed(key string) bool {
	switch key {
	case "request", "procedure", "code", "reason", "kind", "caller", "account", "duration_ms", "cause",
		"lane", "app", "environment", "refused", "tried", "until", "listen", "version":
		return true
	default:
		return false
	}
}

// Handle passes on what is allowed.
func (a allowList) Handle(ctx context.Context, r slog.Record) error {
	kept := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	r.Attrs(func(attr slog.Attr) bool {
		if allowed(attr.Key) {
			kept.AddAttrs(attr)
		}
		return true
	})
	return a.Handler.Handle(ctx, kept)
}

// WithAttrs keeps what is allowed.
func (a allowList) WithAttrs(attrs []slog.Attr) slog.Handler {
	var kept []slog.Attr
	for _, attr := range attrs {
		if allowed(attr.Key) {
			kept = append(kept, attr)
		}
	}
	return allowList{a.Handler.WithAttrs(kept)}
}

// WithGroup keeps the list over what is in the group.
func (a allowList) WithGroup(name string) slog.Handler { return allowList{a.Handler.WithGroup(name)} }
