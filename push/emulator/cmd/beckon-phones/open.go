package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/beckon-dev/beckon/push/emulator/apns"
	"github.com/beckon-dev/beckon/push/emulator/cmd/beckon-phones/phone"
	"github.com/beckon-dev/beckon/push/emulator/device"
	"github.com/beckon-dev/beckon/push/emulator/fcm"
)

// model is a phone to be: its name and whose it is.
type model struct {
	name   string
	vendor phone.Vendor
}

// parsePhones reads --phones: a number of iPhones, or names with their kind.
func parsePhones(arg string) ([]model, error) {
	if n, err := strconv.Atoi(arg); err == nil {
		if n < 1 || n > 1000 {
			return nil, fmt.Errorf("%w: --phones is 1 to 1000, or names", errUsage)
		}
		if n == 1 {
			return []model{{"phone", phone.APNs}}, nil
		}
		var out []model
		for i := range n {
			out = append(out, model{fmt.Sprintf("phone-%d", i+1), phone.APNs})
		}
		return out, nil
	}
	form := regexp.MustCompile(`^([a-z0-9][a-z0-9-]{0,31})(:iphone|:android)?$`)
	var out []model
	taken := map[string]bool{}
	for text := range strings.SplitSeq(arg, ",") {
		m := form.FindStringSubmatch(text)
		if m == nil || taken[m[1]] {
			return nil, fmt.Errorf("%w: --phones: a name is lower-case letters, digits and -, stands once, and may end in :iphone or :android", errUsage)
		}
		taken[m[1]] = true
		vendor := phone.APNs
		if m[2] == ":android" {
			vendor = phone.FCM
		}
		out = append(out, model{m[1], vendor})
	}
	return out, nil
}

// open starts the push services on the addresses they had before, then the
// phones, and tells the server by its configuration.
func (h *host) open(r *runCommand, models []model, fault phone.Fault) error {
	dir, err := openFolder(r.Dir)
	if err != nil {
		return err
	}
	h.dir = dir
	before, err := dir.settings()
	if err != nil {
		return err
	}
	certFile, keyFile, err := dir.authority()
	if err != nil {
		return err
	}
	if err := h.startAPNs(dir, before, certFile, keyFile); err != nil {
		return err
	}
	if err := h.startFCM(dir, before, certFile, keyFile); err != nil {
		return err
	}
	for _, m := range models {
		if err := h.add(dir, r, m, fault); err != nil {
			return err
		}
	}
	return dir.write(settings{
		KeyFile: dir.file(providerName), KeyID: keyID, TeamID: teamID, App: r.App, Topics: []string{r.Topic},
		SandboxHost: h.apns.URL(apns.Sandbox), ProductionHost: h.apns.URL(apns.Production), CAFile: certFile,
		FCMAccountFile: dir.file(accountName), FCMProject: fcm.DefaultProject, FCMApp: r.App, FCMPackages: []string{r.Topic},
		FCMEndpoint: h.fcm.URL() + "/v1", FCMTokenURI: h.fcm.TokenURL(), FCMCAFile: certFile,
	})
}

func (h *host) startAPNs(dir folder, before settings, certFile, keyFile string) error {
	key, err := dir.providerKey()
	if err != nil {
		return err
	}
	h.apns, err = apns.Start(h.ctx, apns.Config{
		SandboxAddr: address(before.SandboxHost), ProductionAddr: address(before.ProductionHost),
		CACertFile: certFile, CAKeyFile: keyFile, Log: lines{h.log, entry{Source: "apns"}, h.readAPNs}, Keep: keep,
	})
	if err != nil {
		return err
	}
	return h.apns.RegisterKey(key)
}

func (h *host) startFCM(dir folder, before settings, certFile, keyFile string) error {
	var err error
	h.fcm, err = fcm.Start(h.ctx, fcm.Config{
		Addr: address(before.FCMEndpoint), CACertFile: certFile, CAKeyFile: keyFile,
		Log: lines{h.log, entry{Source: "fcm"}, h.readFCM}, Keep: keep,
	})
	if err != nil {
		return err
	}
	return dir.serviceAccount(h.fcm)
}

func (h *host) add(dir folder, r *runCommand, m model, fault phone.Fault) error {
	token, err := dir.deviceToken(m)
	if err != nil {
		return err
	}
	auto, err := parseAuto(r.Auto)
	if err != nil {
		return err
	}
	system := device.IOS
	if m.vendor == phone.FCM {
		system = device.Android
	}
	u := &unit{topic: r.Topic, vendor: m.vendor, env: apns.Sandbox, device: device.New(device.Config{
		Name: m.name, System: system, Log: lines{h.log, entry{Source: "phone", Phone: m.name, Vendor: m.vendor}, readPhone}, Keep: keep,
	})}
	if r.Production {
		u.env = apns.Production
	}
	h.phones[m.name] = u // before its app may tell of anything
	u.app, err = phone.New(phone.Config{
		Device: u.device, Store: phone.File(dir.file(filepath.Join("phones", m.name+".json"))), Vendor: m.vendor,
		Topic: r.Topic, DeviceToken: token, Production: r.Production, AppID: r.App, Auto: auto,
		Observe: h.showAlert, Record: h.recordApp,
	})
	if err != nil {
		u.device.Close()
		delete(h.phones, m.name)
		return err
	}
	u.app.SetFault(fault)
	h.order = append(h.order, m.name)
	return h.register(u, token)
}
