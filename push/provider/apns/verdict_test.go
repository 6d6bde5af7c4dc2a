package apns_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/push"
	emulator "github.com/beckon-dev/beckon/push/emulator/apns"
	"github.com/beckon-dev/beckon/push/provider/apns"
	"github.com/beckon-dev/beckon/push/verdicttest"
)

// refusal is one row of the table of verdicts and how Apple is brought to say
// so. Where the provider cannot be made to deserve it, the stand-in is told to.
type refusal struct {
	reason string
	class  push.Class
	config func(*apns.Config)
	world  func(*testing.T, *bundle)
	change func(*push.Message)
	fault  *emulator.Fault
	// sends is how many requests one attempt makes; 0 means one.
	sends int
}

// told lets the stand-in answer a reason by script.
func told(reason emulator.Reason, class push.Class) refusal {
	return refusal{reason: string(reason), class: class, fault: &emulator.Fault{Reason: reason}}
}

// restricted replaces the team's key by one that is good for less.
func restricted(change func(*emulator.Key)) (func(*apns.Config), func(*testing.T, *bundle)) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	k := emulator.Key{ID: "KEY7654321", TeamID: "TEAM123456", Public: &private.PublicKey}
	change(&k)
	return func(c *apns.Config) { c.Key, c.KeyID = private, k.ID }, func(t *testing.T, b *bundle) {
		if err := b.emulator.RegisterKey(k); err != nil {
			t.Fatal(err)
		}
	}
}

func refusals() []refusal {
	gone := time.UnixMilli(1_700_000_000_123).UTC()
	foreign := func(c *apns.Config) { c.Key, _ = ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }
	otherTopic, registerTopic := restricted(func(k *emulator.Key) { k.Topics = []string{"dev.beckon.other"} })
	otherEnv, registerEnv := restricted(func(k *emulator.Key) { k.Envs = []emulator.Env{emulator.Production} })
	return []refusal{
		{reason: "BadCollapseId", class: push.Bug, change: func(m *push.Message) { m.CollapseID = strings.Repeat("x", 65) }},
		told(emulator.BadExpirationDate, push.Bug),
		{reason: "BadMessageId", class: push.Bug, change: func(m *push.Message) { m.ProviderID = "42" }},
		told(emulator.BadPriority, push.Bug),
		{reason: "BadTopic", class: push.Bug, change: func(m *push.Message) { m.Address.Topic = "com example" }},
		{reason: "MissingTopic", class: push.Bug, change: func(m *push.Message) { m.Address.Topic = "" }},
		told(emulator.MissingDeviceToken, push.Bug),
		told(emulator.PayloadEmpty, push.Bug),
		told(emulator.InvalidPushType, push.Bug),
		told(emulator.DuplicateHeaders, push.Bug),
		told(emulator.BadPath, push.Bug),
		told(emulator.MethodNotAllowed, push.Bug),
		told(emulator.PayloadTooLarge, push.Bug),

		told(emulator.IdleTimeout, push.Backoff),
		told(emulator.InternalServerError, push.Backoff),
		told(emulator.ServiceUnavailable, push.Backoff),
		told(emulator.Shutdown, push.Backoff),

		{reason: "BadDeviceToken", class: push.Suspect, change: func(m *push.Message) { m.Address.Token = strings.Repeat("b2", 32) }},
		{reason: "DeviceTokenNotForTopic", class: push.Suspect, change: func(m *push.Message) { m.Address.Topic = "dev.beckon.other" }},

		{reason: "TopicDisallowed", class: push.Cred, config: otherTopic, world: registerTopic},
		{reason: "InvalidProviderToken", class: push.Cred, config: foreign},
		told(emulator.MissingProviderToken, push.Cred),
		told(emulator.BadCertificate, push.Cred),
		told(emulator.BadCertificateEnvironment, push.Cred),
		told(emulator.Forbidden, push.Cred),
		{reason: "ExpiredProviderToken", class: push.Cred, world: func(_ *testing.T, b *bundle) { b.ours.Set(-70 * time.Minute) }, sends: 2},
		told(emulator.UnrelatedKeyIDInToken, push.Cred),
		{reason: "BadEnvironmentKeyIdInToken", class: push.Cred, config: otherEnv, world: registerEnv},
		{reason: "BadEnvironmentKeyInToken", class: push.Cred, fault: &emulator.Fault{Status: 403, Reason: "BadEnvironmentKeyInToken"}},

		{reason: "Unregistered", class: push.Dead, world: func(_ *testing.T, b *bundle) { b.emulator.Unregister(decision().Address.Token, gone) }},
		{reason: "ExpiredToken", class: push.Dead, world: func(_ *testing.T, b *bundle) { b.emulator.ExpireToken(decision().Address.Token, gone) }},

		told(emulator.TooManyProviderTokenUpdates, push.SlowAll),
		told(emulator.TooManyRequests, push.SlowDevice),
	}
}

// meet sends one message into a refusal.
func (r refusal) meet(t *testing.T, header map[string]string) (push.Verdict, *bundle) {
	t.Helper()
	b, m := setup(t, func(c *apns.Config) {
		if r.config != nil {
			r.config(c)
		}
	}), decision()
	if r.world != nil {
		r.world(t, b)
	}
	if r.change != nil {
		r.change(&m)
	}
	if r.fault != nil {
		f := *r.fault
		f.Header = header
		b.script(t, f)
	}
	return b.send(t, m), b
}

// Every row of the table, met at the strict stand-in: class, Apple's word, and
// what becomes of row, address and lane.
func TestVerdicts_EveryAnswerOfApple(t *testing.T) {
	t.Parallel()
	documented := verdicttest.Documented(t, "../../doc.go")
	for _, r := range refusals() {
		t.Run(r.reason, func(t *testing.T) {
			t.Parallel()
			v, b := r.meet(t, nil)
			if v.Class != r.class || v.Reason != r.reason || v.RetryAfter != 0 || (v.DeadAt.IsZero()) != (r.class != push.Dead) {
				t.Errorf("%+v, want %s", v, r.class)
			}
			seen := b.emulator.Requests()
			if want := max(r.sends, 1); len(seen) != want || string(seen[0].Reason) != r.reason || seen[0].Scripted != (r.fault != nil) {
				t.Errorf("the stand-in answered %+v", seen)
			}
			verdicttest.Check(t, r.reason, documented, v, decision().Address)
		})
	}
	b := setup(t)
	verdicttest.Check(t, "200", documented, b.send(t, decision()), decision().Address)
}

// What Apple asks for as a least wait, in seconds and as a date, is one.
func TestVerdicts_AppleSaysWhenToComeAgain(t *testing.T) {
	t.Parallel()
	documented := verdicttest.Documented(t, "../../doc.go")
	for _, reason := range []emulator.Reason{emulator.ServiceUnavailable, emulator.TooManyRequests, emulator.TooManyProviderTokenUpdates} {
		for header, least := range map[string]time.Duration{
			"90": 90 * time.Second,
			t0.Add(time.Minute).Format(http.TimeFormat): time.Minute,
			"1": time.Second,
		} {
			r := told(reason, "")
			r.config = func(c *apns.Config) {
				// The date is read by our clock, which Apple's goes with.
				c.Now = func() time.Time { return t0 }
			}
			r.world = func(_ *testing.T, b *bundle) { b.apple.Set(time.Until(t0)) }
			v, _ := r.meet(t, map[string]string{"Retry-After": header})
			if v.Reason != string(reason) || v.RetryAfter != least {
				t.Errorf("%s, %q: %+v", reason, header, v)
			}
			verdicttest.Check(t, header, documented, v, decision().Address)
		}
	}
}

// The row of the table for everybody: nobody there, no trust, no answer.
func TestVerdicts_NoAnswerFromApple(t *testing.T) {
	t.Parallel()
	documented := verdicttest.Documented(t, "../../doc.go")
	refused := setup(t, func(c *apns.Config) { c.Hosts[push.EnvSandbox] = "https://127.0.0.1:1" })
	v := refused.send(t, decision())
	if v.Class != push.Backoff || v.Reason != "not_sent" {
		t.Errorf("%+v", v)
	}
	verdicttest.Check(t, "nobody there", documented, v, decision().Address)
	for _, answer := range []emulator.Answer{emulator.Reset, emulator.Closed} {
		b := setup(t)
		b.script(t, emulator.Fault{Answer: answer})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		v := b.provider.Send(ctx, decision())
		cancel()
		if v.Class != push.Ambiguous || v.Reason != "no_answer" {
			t.Errorf("%s: %+v", answer, v)
		}
		verdicttest.Check(t, string(answer), documented, v, decision().Address)
	}
}

// The table in the documentation, the one the provider goes by, the rows that
// are tested, and the reasons the stand-in knows from Apple are one list.
func TestVerdicts_TheTablesAgree(t *testing.T) {
	t.Parallel()
	known, documented, tested := apns.Reasons(), map[string]push.Class{}, map[string]push.Class{}
	for _, cells := range verdicttest.Table(t, "doc.go", "class") {
		for reason := range strings.FieldsSeq(cells[1]) {
			documented[reason] = push.Class(cells[0])
		}
	}
	for _, r := range refusals() {
		tested[r.reason] = r.class
	}
	if diff := cmp.Diff(known, documented); diff != "" {
		t.Errorf("(-provider +documentation):\n%s", diff)
	}
	if diff := cmp.Diff(known, tested); diff != "" {
		t.Errorf("(-provider +tests):\n%s", diff)
	}
	for _, reason := range standInReasons(t) {
		if _, ok := known[reason]; !ok && reason != string(emulator.EmulatorStrict) {
			t.Errorf("Apple says %s, and the provider has not heard of it", reason)
		}
	}
}

// standInReasons reads the stand-in's list of reasons from its source.
func standInReasons(t *testing.T) (reasons []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../emulator/apns/reason.go", nil, 0)
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			for _, v := range spec.Values {
				lit, ok := v.(*ast.BasicLit)
				if !ok {
					continue
				}
				reason, bad := strconv.Unquote(lit.Value)
				reasons, err = append(reasons, reason), errors.Join(err, bad)
			}
		}
		return true
	})
	if err != nil || len(reasons) < 30 {
		t.Fatalf("%d reasons: %v", len(reasons), err)
	}
	return reasons
}
