package server_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/push/emulator/fcm"
	"github.com/beckon-dev/beckon/server"
)

// google starts a stand-in for Google with one phone and points a server at it.
func google(t *testing.T) (vendor *fcm.Server, registration string, with func(*server.Config)) {
	t.Helper()
	vendor, err := fcm.Start(t.Context(), fcm.Config{})
	check(t, err)
	t.Cleanup(vendor.Close)
	account, err := vendor.Issue("")
	check(t, err)
	registration = fcm.NewToken()
	check(t, vendor.AddDevice(fcm.Registration{Token: registration, App: topic}))
	dir := t.TempDir()
	accountFile, caFile := filepath.Join(dir, "account.json"), filepath.Join(dir, "ca.pem")
	check(t, os.WriteFile(accountFile, account, 0o600))
	check(t, os.WriteFile(caFile, vendor.CAPEM(), 0o600))
	return vendor, registration, func(c *server.Config) {
		c.FCM.AccountFile, c.FCM.CAFile, c.FCM.Packages = accountFile, caFile, []string{topic}
		c.FCM.Endpoint, c.FCM.TokenURI = vendor.URL()+"/v1", vendor.TokenURL()
	}
}

// TestBothVendors rings an Android phone and an iPhone through their own lanes,
// while Google answers nothing.
func TestBothVendors(t *testing.T) {
	t.Parallel()
	apple, withAPNs := apple(t)
	android, registration, withFCM := google(t)
	s := start(t, withAPNs, withFCM)
	wire := transports(t)[0].connect(t, s)
	me := claim(t, s, wire)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	tags := map[string]bool{}
	for _, r := range []*v1.PutAddressRequest{
		{Kind: v1.AddressKind_ADDRESS_KIND_APNS, Token: token, Topic: topic, Environment: v1.ApnsEnvironment_APNS_ENVIRONMENT_SANDBOX},
		{Kind: v1.AddressKind_ADDRESS_KIND_FCM_TOKEN, Token: registration, Topic: topic},
	} {
		put, err := me.PutAddress(ctx, r)
		check(t, err)
		tags[put.GetAccountTag()] = true
	}
	created, err := me.CreateAgent(ctx, &v1.CreateAgentRequest{IdempotencyKey: "a", Name: "Builder"})
	check(t, err)
	issued, err := me.IssueKey(ctx, &v1.IssueKeyRequest{AgentId: created.GetLink().GetAgentId()})
	check(t, err)
	agent := as(wire, issued.GetSecret())

	hold := android.Hold(fcm.Match{})
	defer hold.Release()
	asked, err := agent.RequestDecision(ctx, question(held(t, agent, "both"), "x"))
	check(t, err)
	got, err := hold.Reached(ctx)
	check(t, err)
	if _, err := apple.Wait(ctx, 1); err != nil {
		t.Error("Google's silence holds up Apple:", err)
	}
	if got.Target != "token" || got.Token != registration || got.Priority != "high" || got.Data["title"] == "" || got.Data["channel"] != "beckon_decision_1" {
		t.Errorf("%+v", got)
	}
	var payload struct{ Account, Decision string }
	check(t, json.Unmarshal([]byte(got.Data["beckon"]), &payload))
	if !tags[payload.Account] || payload.Decision != asked.GetDecision().GetId() {
		t.Errorf("payload %+v", payload)
	}
}

// TestAndroidAddresses: a kind has its own form of address.
func TestAndroidAddresses(t *testing.T) {
	t.Parallel()
	_, registration, withFCM := google(t)
	s := start(t, withFCM)
	me := claim(t, s, transports(t)[0].connect(t, s))
	_, err := me.PutAddress(t.Context(), &v1.PutAddressRequest{Kind: v1.AddressKind_ADDRESS_KIND_FCM_FID, Token: registration, Topic: topic})
	if err == nil {
		t.Error("a token was taken for an installation id")
	}
	_, err = me.PutAddress(t.Context(), &v1.PutAddressRequest{Kind: v1.AddressKind_ADDRESS_KIND_FCM_FID, Token: fcm.NewFID(), Topic: topic})
	check(t, err)
}
