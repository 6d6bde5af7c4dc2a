package cli_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/push/emulator/apns"
	"github.com/beckon-dev/beckon/push/emulator/device"
	"github.com/beckon-dev/beckon/server/config"
)

const (
	phoneTopic = "dev.beckon.phone"
	phoneToken = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
)

// startVendor is Apple's push service, and what a server needs to send by it.
func startVendor(dir string) (*apns.Server, config.APNs, error) {
	vendor, err := apns.Start(context.Background(), apns.Config{})
	if err != nil {
		return nil, config.APNs{}, err
	}
	key, p8, err := apns.NewProviderKey("KEY1234567", "TEAM123456")
	keyFile, caFile := filepath.Join(dir, "key.p8"), filepath.Join(dir, "ca.pem")
	err = errors.Join(err, vendor.RegisterKey(key), os.WriteFile(keyFile, p8, 0o600), os.WriteFile(caFile, vendor.CAPEM(), 0o600))
	if err != nil {
		vendor.Close()
		return nil, config.APNs{}, err
	}
	return vendor, config.APNs{
		KeyFile: keyFile, KeyID: key.ID, TeamID: key.TeamID, App: "beckon", Topics: []string{phoneTopic},
		SandboxHost: vendor.URL(apns.Sandbox), ProductionHost: vendor.URL(apns.Production), CAFile: caFile,
	}, nil
}

// register lets the phone be called.
func (w *world) register(ctx context.Context) error {
	w.handset = device.New(device.Config{Name: "Phone"})
	if err := w.handset.Install(phoneTopic, nil); err != nil {
		return err
	}
	err := w.server.vendor.AddDevice(apns.Registration{Token: phoneToken, Topic: phoneTopic, Env: apns.Sandbox, Phone: w.handset})
	if err != nil {
		return err
	}
	_, err = w.phone.Addresses.PutAddress(ctx, &v1.PutAddressRequest{
		Kind: v1.AddressKind_ADDRESS_KIND_APNS, Token: phoneToken, Topic: phoneTopic,
		Environment: v1.ApnsEnvironment_APNS_ENVIRONMENT_SANDBOX,
	})
	return err
}

// rang waits until the phone has rung with a text that begins so.
func (w *world) rang(ctx context.Context, text string) error {
	_, err := w.handset.History().Find(ctx, func(e device.Event) bool {
		return e.Kind == device.Rang && strings.HasPrefix(e.Title, text)
	})
	return err
}

// told waits until the list of deliveries has a row for each "kind STATE".
func (w *world) told(ctx context.Context, ts *testscript.TestScript, want []string) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		res, err := w.phone.Deliveries.ListDeliveries(ctx, &v1.ListDeliveriesRequest{})
		ts.Check(err)
		missing := slices.Clone(want)
		for _, d := range res.GetDeliveries() {
			kind := strings.ToLower(strings.TrimPrefix(d.GetKind().String(), "PUSH_KIND_"))
			row := kind + " " + strings.TrimPrefix(d.GetState().String(), "DELIVERY_STATE_")
			if i := slices.Index(missing, row); i >= 0 {
				missing = slices.Delete(missing, i, i+1)
			}
		}
		if len(missing) == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			ts.Fatalf("no row says %q: %v", missing, res.GetDeliveries())
		}
	}
}
