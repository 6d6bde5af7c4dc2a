package decision_test

import (
	"errors"
	"testing"
	"time"

	"github.com/beckon-dev/beckon/sync/decision"
)

// A grant is used once, by one effect, and never again in whatever way it
// ended.
func TestGrant_UsedOnce(t *testing.T) {
	t.Parallel()
	use := decision.UseGrant{ID: "g1", Effect: "eff_1", Digest: one}
	for name, c := range map[string]struct {
		first decision.Command
		want  error
	}{
		"used":    {decision.UseGrant{ID: "g1", Effect: "eff_0", Digest: one}, decision.ErrGrantUsed},
		"revoked": {decision.RevokeGrant{ID: "g1"}, decision.ErrGrantVoid},
		"ended":   {decision.VoidGrants{}, decision.ErrGrantVoid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := at(decision.Resolved)
			events, _, err := decision.Decide(s, c.first, now)
			if err != nil || len(events) != 1 {
				t.Fatal(events, err)
			}
			s = decision.ApplyAll(s, events, now)
			if events, _, err := decision.Decide(s, use, now); !errors.Is(err, c.want) || events != nil {
				t.Errorf("%v, %v, want %v", events, err, c.want)
			}
			for _, later := range []decision.Command{decision.RevokeGrant{ID: "g1"}, decision.VoidGrants{}, decision.ExpireGrants{}} {
				if events, _, err := decision.Decide(s, later, now.Add(48*time.Hour)); err != nil || events != nil {
					t.Errorf("%T afterwards: %v, %v", later, events, err)
				}
			}
		})
	}
}

// What was used stays good for another try of the same effect until its time.
func TestGrant_Good(t *testing.T) {
	t.Parallel()
	s := at(decision.Resolved)
	if g := s.Grants[0]; g.Good("", now) || g.Good("eff_1", now) {
		t.Error("an armed grant stands behind an effect")
	}
	events, _, err := decision.Decide(s, decision.UseGrant{ID: "g1", Effect: "eff_1", Digest: one}, now)
	if err != nil {
		t.Fatal(err)
	}
	g := decision.ApplyAll(s, events, now).Grants[0]
	if !g.UseTime.Equal(now) || !g.Good("eff_1", now) || g.Good("eff_2", now) || g.Good("eff_1", g.ExpireTime) {
		t.Errorf("%+v", g)
	}
}
