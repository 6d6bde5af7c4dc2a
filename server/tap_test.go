package server_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/push/emulator/apns"
	"github.com/beckon-dev/beckon/server"
	"github.com/beckon-dev/beckon/sync/proof"
)

const (
	topic = "dev.beckon.test"
	token = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
)

// apple starts a stand-in for Apple and points a server at it.
func apple(t *testing.T) (*apns.Server, func(*server.Config)) {
	t.Helper()
	vendor, err := apns.Start(t.Context(), apns.Config{})
	check(t, err)
	t.Cleanup(vendor.Close)
	key, p8, err := apns.NewProviderKey("KEY1234567", "TEAM123456")
	check(t, err)
	check(t, vendor.RegisterKey(key))
	check(t, vendor.AddDevice(apns.Registration{Token: token, Topic: topic, Env: apns.Sandbox}))
	return vendor, withVendor(t, vendor, key, p8)
}

// withVendor points a server with a key at the sandbox of a stand-in for Apple.
func withVendor(t *testing.T, vendor *apns.Server, key apns.Key, p8 []byte) func(*server.Config) {
	t.Helper()
	dir := t.TempDir()
	keyFile, caFile := filepath.Join(dir, "key.p8"), filepath.Join(dir, "ca.pem")
	check(t, os.WriteFile(keyFile, p8, 0o600))
	check(t, os.WriteFile(caFile, vendor.CAPEM(), 0o600))
	return func(c *server.Config) {
		c.APNs.KeyFile, c.APNs.KeyID, c.APNs.TeamID = keyFile, key.ID, key.TeamID
		c.APNs.Topics, c.APNs.SandboxHost, c.APNs.CAFile = []string{topic}, vendor.URL(apns.Sandbox), caFile
	}
}

// buttons is the tap tokens of a push by verb.
func buttons(t *testing.T, payload json.RawMessage) map[string]string {
	t.Helper()
	var body struct {
		Beckon struct {
			Actions []struct{ Verb, Token string } `json:"actions"`
		} `json:"beckon"`
	}
	check(t, json.Unmarshal(payload, &body))
	out := map[string]string{}
	for _, a := range body.Beckon.Actions {
		out[a.Verb] = a.Token
	}
	return out
}

// tapped is what came of a tap.
type tapped struct {
	status  int
	Outcome string
	Winner  struct {
		InstallationID string `json:"installation_id"`
	}
	Error struct{ Code, Reason, Field string }
}

func tap(t *testing.T, s *running, body map[string]any) tapped {
	t.Helper()
	raw, err := json.Marshal(body)
	check(t, err)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/act", bytes.NewReader(raw))
	check(t, err)
	request.Header.Set("Content-Type", "application/json")
	answer, err := httpClient(t, func(p *http.Protocols) { p.SetHTTP1(true) }, nil).Do(request)
	check(t, err)
	defer answer.Body.Close() //nolint:errcheck // read to the end
	out := tapped{status: answer.StatusCode}
	check(t, json.NewDecoder(answer.Body).Decode(&out))
	return out
}

// signTap is what a phone does before it taps.
func signTap(t *testing.T, me phone, key *ecdsa.PrivateKey, d *v1.Decision, option, answerKey string) (view string, signature []byte) {
	t.Helper()
	seen, err := proof.ViewDigest(d.GetId(), uint64(d.GetRevision()), nil)
	check(t, err)
	digest, err := proof.AnswerDigest([]proof.AnswerItem{{ItemID: d.GetItems()[0].GetId(), OptionIDs: []string{option}}})
	check(t, err)
	signature, err = proof.SignAnswer(key, proof.AnswerTuple{
		ServerID: me.server, Account: me.account, Installation: me.id, Decision: d.GetId(), Revision: uint64(d.GetRevision()),
		Asked: proof.Digest(d.GetAskedDigest()), View: seen, Answer: digest, AnswerKey: answerKey,
	})
	check(t, err)
	return hex.EncodeToString(seen[:]), signature
}

// TestTaps rings a phone through the real lane and answers from its lock
// screen, after every way of doing so wrongly has changed nothing.
func TestTaps(t *testing.T) {
	t.Parallel()
	vendor, withAPNs := apple(t)
	s := start(t, withAPNs)
	wire := transports(t)[0].connect(t, s)
	me := claim(t, s, wire)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, err := me.PutAddress(ctx, &v1.PutAddressRequest{
		Kind: v1.AddressKind_ADDRESS_KIND_APNS, Token: token, Topic: topic,
		Environment: v1.ApnsEnvironment_APNS_ENVIRONMENT_SANDBOX,
	})
	check(t, err)
	_, err = me.UpdateSettings(ctx, &v1.UpdateSettingsRequest{ContentLevel: v1.ContentLevel_CONTENT_LEVEL_FULL.Enum()})
	check(t, err)
	created, err := me.CreateAgent(ctx, &v1.CreateAgentRequest{IdempotencyKey: "a", Name: "Builder", LockScreenApproval: true})
	check(t, err)
	issued, err := me.IssueKey(ctx, &v1.IssueKeyRequest{AgentId: created.GetLink().GetAgentId()})
	check(t, err)
	agent := as(wire, issued.GetSecret())
	asked, err := agent.RequestDecision(ctx, question(held(t, agent, "taps"), "x"))
	check(t, err)

	rung, err := vendor.Wait(ctx, 1)
	check(t, err)
	tokens := buttons(t, rung[0].Payload)
	if tokens["approve"] == "" || tokens["deny"] == "" {
		t.Fatalf("the push has the buttons %v: %s", tokens, rung[0].Payload)
	}
	view, good := signTap(t, me, me.key, asked.GetDecision(), "approve", "tap")
	_, strange := signTap(t, me, newKey(t), asked.GetDecision(), "approve", "tap")
	forged := tokens["approve"][:len(tokens["approve"])-2] + "AA"
	for name, wrong := range map[string]struct {
		body    map[string]any
		status  int
		outcome string
		reason  string
	}{
		"forged token":        {map[string]any{"token": forged, "answer_key": "tap", "view": view, "proof": good}, 401, "", "BAD_TOKEN"},
		"an access token":     {map[string]any{"token": me.tokens.GetAccessToken(), "answer_key": "tap"}, 401, "", "BAD_TOKEN"},
		"an agent's key":      {map[string]any{"token": issued.GetSecret(), "answer_key": "tap"}, 401, "", "BAD_TOKEN"},
		"another key's proof": {map[string]any{"token": tokens["approve"], "answer_key": "tap", "view": view, "proof": strange}, 403, "", "BAD_PROOF"},
		"proof of approve with the deny button": {
			map[string]any{"token": tokens["deny"], "answer_key": "tap", "view": view, "proof": good}, 403, "", "BAD_PROOF",
		},
		"proof under another name": {map[string]any{"token": tokens["approve"], "answer_key": "tip", "view": view, "proof": good}, 403, "", "BAD_PROOF"},
		"no view":                  {map[string]any{"token": tokens["approve"], "answer_key": "tap"}, 200, "NEEDS_VIEW", ""},
		"no proof":                 {map[string]any{"token": tokens["approve"], "answer_key": "tap", "view": view}, 200, "NEEDS_STEP_UP", ""},
		"no answer key":            {map[string]any{"token": tokens["approve"]}, 400, "", "MISSING"},
		"a long answer key":        {map[string]any{"token": tokens["approve"], "answer_key": strings.Repeat("k", 65)}, 400, "", "LIMIT"},
		"a member too many":        {map[string]any{"token": tokens["approve"], "answer_key": "tap", "verb": "approve"}, 400, "", "MALFORMED"},
		"view that is no digest":   {map[string]any{"token": tokens["approve"], "answer_key": "tap", "view": "zz"}, 400, "", "MALFORMED"},
		"a body without end":       {map[string]any{"token": strings.Repeat("x", 9<<10), "answer_key": "tap"}, 400, "", "LIMIT"},
	} {
		got := tap(t, s, wrong.body)
		if got.status != wrong.status || got.Outcome != wrong.outcome || got.Error.Reason != wrong.reason {
			t.Errorf("%s met %+v", name, got)
		}
	}
	still, err := me.GetDecision(ctx, &v1.GetDecisionRequest{DecisionId: asked.GetDecision().GetId()})
	check(t, err)
	if still.GetDecision().GetState() != v1.DecisionState_DECISION_STATE_PENDING {
		t.Fatal("a wrong tap left the question", still.GetDecision().GetState())
	}

	right := map[string]any{"token": tokens["approve"], "answer_key": "tap", "view": view, "proof": good}
	if got := tap(t, s, right); got.status != 200 || got.Outcome != "APPLIED" || got.Winner.InstallationID != me.id {
		t.Fatalf("the tap met %+v", got)
	}
	if got := tap(t, s, right); got.Outcome == "APPLIED" || got.status == 200 && got.Outcome != "SAME" {
		t.Errorf("the tap again met %+v", got)
	}
	if got := tap(t, s, map[string]any{"token": tokens["deny"], "answer_key": "other"}); got.Outcome == "APPLIED" || got.status == 200 && got.Outcome != "CONFLICT" {
		t.Errorf("the other button met %+v", got)
	}
	woken, err := agent.WaitDecision(ctx, &v1.WaitDecisionRequest{DecisionId: asked.GetDecision().GetId()})
	check(t, err)
	if woken.GetDecision().GetAnswer().GetSurface() != v1.Surface_SURFACE_NOTIFICATION || len(woken.GetDecision().GetGrants()) != 1 {
		t.Error("the agent sees", woken.GetDecision())
	}
	if rung := vendor.Requests(); len(rung) != 1 {
		t.Errorf("the phone rang %d times", len(rung))
	}
}

func TestARevokedPhoneTapsNothing(t *testing.T) {
	t.Parallel()
	vendor, withAPNs := apple(t)
	s := start(t, withAPNs)
	wire := transports(t)[0].connect(t, s)
	me := claim(t, s, wire)
	_, err := me.PutAddress(t.Context(), &v1.PutAddressRequest{
		Kind: v1.AddressKind_ADDRESS_KIND_APNS, Token: token, Topic: topic,
		Environment: v1.ApnsEnvironment_APNS_ENVIRONMENT_SANDBOX,
	})
	check(t, err)
	_, err = me.UpdateSettings(t.Context(), &v1.UpdateSettingsRequest{ContentLevel: v1.ContentLevel_CONTENT_LEVEL_FULL.Enum()})
	check(t, err)
	agent := me.agent(t, wire)
	_, err = agent.RequestDecision(t.Context(), question(held(t, agent, "gone"), "x"))
	check(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	rung, err := vendor.Wait(ctx, 1)
	check(t, err)
	deny := buttons(t, rung[0].Payload)["deny"]
	_, err = me.RevokeInstallation(t.Context(), &v1.RevokeInstallationRequest{InstallationId: me.id})
	check(t, err)
	if got := tap(t, s, map[string]any{"token": deny, "answer_key": "k"}); got.status != 401 || got.Error.Reason != "REVOKED" {
		t.Errorf("the tap met %+v", got)
	}
	if _, err := me.GetAccount(t.Context(), &v1.GetAccountRequest{}); err == nil {
		t.Error("the access token outlived its device")
	} else if _, info := infoOf(t, err); info.GetReason() != "REVOKED" {
		t.Error("the access token met", info)
	}
}

func TestActIsPostOnly(t *testing.T) {
	t.Parallel()
	s := start(t)
	client := httpClient(t, func(p *http.Protocols) { p.SetHTTP1(true) }, nil)
	for _, try := range []struct {
		method, contentType string
		status              int
	}{
		{http.MethodGet, "", 405}, {http.MethodHead, "", 405}, {http.MethodOptions, "", 405}, {http.MethodPut, "application/json", 405},
		{http.MethodPost, "", 415}, {http.MethodPost, "text/plain", 415}, {http.MethodPost, "application/x-www-form-urlencoded", 415},
		{http.MethodPost, "application/json", 400},
	} {
		request, err := http.NewRequestWithContext(t.Context(), try.method, s.URL()+"/act?token=x", strings.NewReader("token=x"))
		check(t, err)
		if try.contentType != "" {
			request.Header.Set("Content-Type", try.contentType)
		}
		answer, err := client.Do(request)
		check(t, err)
		check(t, answer.Body.Close())
		if answer.StatusCode != try.status {
			t.Errorf("%s as %q met %d, want %d", try.method, try.contentType, answer.StatusCode, try.status)
		}
	}
}
