package apns_test

import (
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/beckon-dev/beckon/push/emulator/apns"
)

// with returns a good request with another provider token.
func (b *bench) with(bearer string) *push {
	p := b.good()
	p.set("authorization", bearer)
	return p
}

func TestBearer_SecondTokenWithin20Minutes(t *testing.T) {
	t.Parallel()
	b := start(t, apns.Config{})
	s := b.sender()
	first := b.bearer(0)
	s.want(b.with(first), 200, "")
	b.clock.advance(20*time.Minute - time.Second)
	second := b.bearer(0)
	s.want(b.with(second), 429, apns.TooManyProviderTokenUpdates)
	s.want(b.with(first), 200, "") // the old one stays good
	b.clock.advance(time.Second)
	s.want(b.with(second), 200, "")
	s.want(b.with(first), 200, "") // requests under way at the change are no update
	if n := len(b.Connections()); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}

// A token shared by connections of different age is new to the younger one
// (jchambers/pushy#931): what counts is when the connection saw it.
func TestBearer_HistoryIsPerConnection(t *testing.T) {
	t.Parallel()
	b := start(t, apns.Config{})
	old, young := b.sender(), b.sender()
	first := b.bearer(0)
	old.want(b.with(first), 200, "")
	b.clock.advance(49 * time.Minute)
	young.want(b.with(first), 200, "")
	b.clock.advance(time.Minute)
	second := b.bearer(0)
	old.want(b.with(second), 200, "")
	young.want(b.with(second), 429, apns.TooManyProviderTokenUpdates)
	b.sender().want(b.with(second), 200, "")
}

func TestBearer_ExpiredTokenPoisonsTheConnection(t *testing.T) {
	t.Parallel()
	b := start(t, apns.Config{})
	s := b.sender()
	first := b.bearer(0)
	s.want(b.with(first), 200, "")
	b.clock.advance(time.Hour)
	s.want(b.with(first), 200, "")
	b.clock.advance(time.Second)
	s.want(b.with(first), 403, apns.ExpiredProviderToken)
	s.want(b.with(b.bearer(0)), 403, apns.ExpiredProviderToken)
	b.clock.advance(time.Hour)
	s.want(b.with(b.bearer(0)), 403, apns.ExpiredProviderToken)
	b.sender().want(b.with(b.bearer(0)), 200, "")
}

func TestBearer_OneTeamAndScopePerConnection(t *testing.T) {
	t.Parallel()
	b := start(t, apns.Config{})
	token := func(k apns.Key) string {
		return b.sign(b.register(k), k.ID, jwt.MapClaims{"iss": k.TeamID, "iat": b.clock.now().Unix()})
	}
	otherTeam := token(apns.Key{ID: "TEAM2KEY12", TeamID: "TEAM222222"})
	ofTopic := token(apns.Key{ID: "TOPICKEY12", TeamID: teamID, Topics: []string{bundle}})
	sameScope := token(apns.Key{ID: "KEY7654321", TeamID: teamID})

	s := b.sender()
	s.want(b.with(b.bearer(0)), 200, "")
	s.want(b.with(otherTeam), 403, apns.InvalidProviderToken)
	s.want(b.with(ofTopic), 403, apns.UnrelatedKeyIDInToken)
	s.want(b.with(sameScope), 429, apns.TooManyProviderTokenUpdates)
	b.clock.advance(20 * time.Minute)
	s.want(b.with(sameScope), 200, "")
	b.sender().want(b.with(otherTeam), 200, "")
	b.sender().want(b.with(ofTopic), 200, "")
}

// A refused token must not count as the connection's first or newest one.
func TestBearer_InvalidTokensLeaveNoTrace(t *testing.T) {
	t.Parallel()
	b := start(t, apns.Config{})
	s := b.sender()
	stranger := b.sign(b.key, "OTHERKEY99", jwt.MapClaims{"iss": teamID, "iat": b.clock.now().Unix()})
	s.want(b.with(stranger), 403, apns.InvalidProviderToken)
	s.want(b.with(b.bearer(-time.Minute)), 403, apns.InvalidProviderToken)
	s.want(b.with(b.bearer(0)), 200, "")
}

func TestBearer_RevokedKey(t *testing.T) {
	t.Parallel()
	b := start(t, apns.Config{})
	s := b.sender()
	s.want(b.good(), 200, "")
	b.RevokeKey(keyID)
	s.want(b.good(), 200, "")
	b.sender().want(b.good(), 403, apns.InvalidProviderToken)
}

func TestRegisterKey_RefusesWhatAppleCannotIssue(t *testing.T) {
	t.Parallel()
	b := start(t, apns.Config{})
	for name, key := range map[string]apns.Key{
		"no id":     {TeamID: teamID, Public: &b.key.PublicKey},
		"no team":   {ID: keyID, Public: &b.key.PublicKey},
		"no public": {ID: keyID, TeamID: teamID},
	} {
		if err := b.RegisterKey(key); err == nil {
			t.Errorf("%s: registered", name)
		}
	}
}
