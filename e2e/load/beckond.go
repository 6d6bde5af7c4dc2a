package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/server"
	"github.com/beckon-dev/beckon/server/app"
)

const beckondAddress = "127.0.0.1:8420"

// BuildBeckond builds the server as it is in the tree.
func BuildBeckond(ctx context.Context) (string, error) {
	folder, err := builtFolder()
	if err != nil {
		return "", err
	}
	out := filepath.Join(folder, "beckond")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", out, "github.com/beckon-dev/beckon/server/cmd/beckond")
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the server: %w\n%s", err, text)
	}
	return out, nil
}

// beckond is the built server of the comparison, on a data folder that was
// furnished before it starts.
type beckond struct {
	Trial

	config  server.Config
	wire    *wire
	callers []services
	held    []app.Held
}

// openBeckond moves people with their phones in, and for a backlog asks them
// everything, in the folder the server will find.
func openBeckond(ctx context.Context, t Trial, v vendorsHello) (*beckond, error) {
	b := &beckond{Trial: t, config: rigConfig(filepath.Join(t.Folder, "data"))}
	b.config.Listen = beckondAddress
	if err := b.useVendors(v); err != nil {
		return nil, err
	}
	rig, err := openRigWith(ctx, b.config)
	if err != nil {
		return nil, err
	}
	defer rig.close()
	p, err := rig.settleWith(ctx, t.Accounts, b.address)
	if err != nil {
		return nil, err
	}
	if err := p.begin(ctx, "work"); err != nil {
		return nil, err
	}
	if t.Shape == Backlog {
		if err := (&pushes{place: p}).fill(ctx, t.Pushes); err != nil {
			return nil, err
		}
	}
	b.wire = openWire("http://"+beckondAddress, crowd)
	for i := range crowd {
		b.callers = append(b.callers, b.wire.services(i, p.secret))
	}
	for _, who := range p.people {
		b.held = append(b.held, who.work)
	}
	return b, nil
}

// address is the phone of the i-th account.
func (b *beckond) address(i int) app.PutAddress {
	vendor, token := b.phone(i)
	if vendor == Apple {
		return app.PutAddress{Kind: push.KindAPNs, Env: push.EnvSandbox, Topic: topic, Token: token}
	}
	return app.PutAddress{Kind: push.KindFCMToken, Topic: topic, Token: token}
}

// useVendors configures the vendors' own hosts: their names lead to the
// emulators here.
func (b *beckond) useVendors(v vendorsHello) error {
	ca := filepath.Join(b.Folder, certName)
	apple, google := &b.config.APNs, &b.config.FCM
	apple.KeyID, apple.TeamID, apple.Topics, apple.CAFile = keyID, teamID, []string{topic}, ca
	google.Packages, google.CAFile = []string{topic}, ca
	apple.KeyFile, google.AccountFile = filepath.Join(b.Folder, "key.p8"), filepath.Join(b.Folder, "account.json")
	return errors.Join(os.WriteFile(apple.KeyFile, v.Key, 0o600), os.WriteFile(google.AccountFile, v.Account, 0o600))
}

func (b *beckond) start(ctx context.Context) (*process, error) {
	cmd := exec.CommandContext(ctx, b.Binary, "serve", "--data", b.config.Data, "--listen", beckondAddress, "--limits", "bench",
		"--apns-key-file", b.config.APNs.KeyFile, "--apns-key-id", keyID, "--apns-team-id", teamID, "--apns-topics", topic, "--apns-ca-file", b.config.APNs.CAFile,
		"--fcm-account-file", b.config.FCM.AccountFile, "--fcm-packages", topic, "--fcm-ca-file", b.config.FCM.CAFile)
	return startProcess(ctx, cmd, beckondAddress)
}

func (b *beckond) close() { b.wire.close() }

// call asks the same small question as the other loads do, over the wire.
func (b *beckond) call(ctx context.Context, i int) (string, error) {
	held, name := b.held[i%len(b.held)], fmt.Sprintf("q%d", i)
	got, err := b.callers[i%len(b.callers)].RequestDecision(ctx, &v1.RequestDecisionRequest{
		TaskId: held.Task, LeaseId: held.Lease, Key: name, Title: "Move this mail?",
		Kind: v1.DecisionKind_DECISION_KIND_CONFIRM_ACTION, OnExpiry: v1.OnExpiry_ON_EXPIRY_TELL_AGENT,
		Items: []*v1.DecisionItem{{Id: "it", Question: "Move this mail?", Action: &v1.Action{
			App: "mail", Operation: "move", EffectClass: v1.EffectClass_EFFECT_CLASS_WRITE_REVERSIBLE,
			ArgsJson: fmt.Appendf(nil, `{"message":%q,"to":"Archive"}`, name),
		}}},
	})
	return got.GetDecision().GetId(), err
}
