package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/beckon-dev/beckon/push/emulator/apns"
	"github.com/beckon-dev/beckon/push/emulator/cmd/beckon-phones/phone"
	"github.com/beckon-dev/beckon/push/emulator/fcm"
)

// readOrder finds out whose fault is meant and lays the call over its kind.
func (h *host) readOrder(body []byte) (*order, error) {
	var asked order
	if err := decode(body, &asked); err != nil {
		return nil, err
	}
	vendor, token, err := h.target(asked)
	if err != nil {
		return nil, err
	}
	o := order{}
	if asked.Fault != "" {
		if o, err = named(asked.Fault, vendor); err != nil {
			return nil, err
		}
	}
	if err := decode(body, &o); err != nil {
		return nil, err
	}
	var given struct {
		Nth *int `json:"nth"`
	}
	if err := json.Unmarshal(body, &given); err != nil {
		return nil, fmt.Errorf("%w: the body: %w", errUsage, err)
	}
	o.ID, o.Given, o.Vendor, o.Token = 0, 0, vendor, token
	switch nothing := o.Status == 0 && o.Reason == "" && o.Body == "" && o.Delay == "" && o.Answer == "" && o.Header == nil && o.RetryAfter == "" &&
		o.GoAway == "" && o.Streams == 0 && o.Then == ""; {
	case nothing:
		return nil, fmt.Errorf("%w: say what is to happen: fault, or status, reason, body, delay or answer", errUsage)
	case o.Nth < 0 || given.Nth != nil && *given.Nth == 0:
		return nil, fmt.Errorf("%w: nth counts from 1", errUsage)
	}
	return &o, nil
}

// target is whose fault it is and for which address.
func (h *host) target(o order) (phone.Vendor, string, error) {
	if o.Phone == "" {
		if o.Vendor != phone.APNs && o.Vendor != phone.FCM {
			return "", "", fmt.Errorf("%w: name a phone, or vendor apns or fcm", errUsage)
		}
		return o.Vendor, o.Token, nil
	}
	u, ok := h.phones[o.Phone]
	switch {
	case !ok:
		return "", "", errNoPhone
	case o.Vendor != "" && o.Vendor != u.vendor:
		return "", "", fmt.Errorf("%w: %s is called by %s", errUsage, o.Phone, u.vendor)
	case o.Token != "":
		return "", "", fmt.Errorf("%w: a phone or a token, not both", errUsage)
	case o.Endpoint == string(fcm.TokenEndpoint) || o.Endpoint == "" && o.Fault == "no-access":
		return "", "", fmt.Errorf("%w: access tokens are for no phone; name vendor fcm", errUsage)
	case u.app.Address() == "":
		return "", "", errNotInstalled
	}
	return u.vendor, u.app.Address(), nil
}

func named(name string, v phone.Vendor) (order, error) {
	var names []string
	for _, k := range kinds() {
		o, ok := k.of(v)
		switch {
		case ok && k.name == name:
			return o, nil
		case k.name == name:
			return order{}, fmt.Errorf("%w: %s has no fault %q", errUsage, v, name)
		case ok:
			names = append(names, k.name)
		}
	}
	return order{}, fmt.Errorf("%w: no fault %q; %s has %s", errUsage, name, v, strings.Join(names, ", "))
}

// notOf refuses members that a vendor does not have.
func notOf(v phone.Vendor, members map[string]string) error {
	var wrong []string
	for name, value := range members {
		if value != "" {
			wrong = append(wrong, name)
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	slices.Sort(wrong)
	return fmt.Errorf("%w: %s has no %s", errUsage, v, strings.Join(wrong, ", "))
}

func (h *host) scriptAPNs(o *order) error {
	if err := notOf(phone.APNs, map[string]string{"endpoint": o.Endpoint, "message": o.Message, "field": o.Field, "quota": o.Quota}); err != nil {
		return err
	}
	reason := apns.Reason(o.Reason)
	delay, err := parseDelay(o.Delay)
	switch {
	case err != nil:
		return err
	case o.Env != "" && o.Env != string(apns.Sandbox) && o.Env != string(apns.Production):
		return fmt.Errorf("%w: env is sandbox or production", errUsage)
	case o.Reason != "" && o.Status == 0 && !reason.Known():
		return fmt.Errorf("%w: Apple has no reason %q; give the status that goes with it", errUsage, o.Reason)
	}
	at, err := parseTimestamp(o.Timestamp)
	if err != nil {
		return err
	}
	header := map[string]string{}
	maps.Copy(header, o.Header)
	if o.RetryAfter != "" {
		header["Retry-After"] = o.RetryAfter
	}
	return refused(h.apns.Script(apns.Match{Env: apns.Env(o.Env), Token: o.Token, Nth: o.Nth, Times: o.Times}, apns.Fault{
		Status: o.Status, Reason: reason, Timestamp: at, Header: header, Body: bodyOf(o.Body),
		Delay: delay, Answer: apns.Answer(o.Answer), Store: o.Store, Name: strconv.Itoa(o.ID),
		GoAway: apns.Reason(o.GoAway), Streams: o.Streams, Then: apns.Then(o.Then),
	}))
}

func (h *host) scriptFCM(o *order) error {
	if err := notOf(phone.FCM, map[string]string{"env": o.Env, "timestamp": o.Timestamp, "goaway": o.GoAway, "streams": numberText(int(o.Streams)), "then": o.Then}); err != nil {
		return err
	}
	code := fcm.ErrorCode(o.Reason)
	delay, err := parseDelay(o.Delay)
	switch {
	case err != nil:
		return err
	case o.Endpoint != "" && o.Endpoint != string(fcm.SendEndpoint) && o.Endpoint != string(fcm.TokenEndpoint):
		return fmt.Errorf("%w: endpoint is send or token", errUsage)
	case o.Reason != "" && o.Status == 0 && !code.Known():
		return fmt.Errorf("%w: Google has no error code %q; give the status that goes with it", errUsage, o.Reason)
	case o.Quota != "" && !slices.Contains([]fcm.Quota{fcm.ProjectQuota, fcm.DeviceQuota, fcm.TopicQuota}, fcm.Quota(o.Quota)):
		return fmt.Errorf("%w: quota is project, device or topic", errUsage)
	}
	return refused(h.fcm.Script(fcm.Match{Endpoint: fcm.Endpoint(o.Endpoint), Token: o.Token, Nth: o.Nth, Times: o.Times}, fcm.Fault{
		Code: code, Status: o.Status, Message: o.Message, Field: o.Field, Quota: fcm.Quota(o.Quota),
		RetryAfter: o.RetryAfter, Header: o.Header, Body: bodyOf(o.Body), Delay: delay,
		Answer: fcm.Answer(o.Answer), Store: o.Store, Name: strconv.Itoa(o.ID),
	}))
}

// refused marks what a vendor's script does not take as the caller's mistake.
func refused(err error) error {
	if errors.Is(err, apns.ErrBadFault) || errors.Is(err, fcm.ErrBadFault) {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	return err
}

func bodyOf(text string) []byte {
	if text == "" {
		return nil
	}
	return []byte(text)
}

// maxDelay is longer than any sender waits.
const maxDelay = time.Hour

func parseDelay(text string) (time.Duration, error) {
	d, err := time.ParseDuration(cmp.Or(text, "0s"))
	if err != nil || d < 0 || d > maxDelay {
		return 0, fmt.Errorf("%w: delay is a time such as 5s, at most an hour", errUsage)
	}
	return d, nil
}

func parseTimestamp(text string) (time.Time, error) {
	if d, err := time.ParseDuration(cmp.Or(text, "0s")); err == nil {
		return time.Now().Add(d), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, fmt.Errorf("%w: timestamp is a time such as 2026-01-02T15:04:05Z, or -1h for an hour ago", errUsage)
	}
	return at, nil
}
