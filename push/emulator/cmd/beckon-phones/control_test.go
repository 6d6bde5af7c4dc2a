package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/push/emulator/cmd/beckon-phones/phone"
)

const alertPayload = `{"aps":{"alert":{"title":"t"}}}`

// post makes a call and gives its status and text.
func (p *program) post(path, body string) (int, string) {
	p.t.Helper()
	res, text := p.visit(http.MethodPost, path, "", body)
	return res.StatusCode, text
}

// phone is one phone as the state shows it.
func (p *program) phone(name string) phoneState {
	p.t.Helper()
	var out struct{ Phones []phoneState }
	_, text := p.visit(http.MethodGet, "/state", "", "")
	check(p.t, json.Unmarshal([]byte(text), &out))
	for _, s := range out.Phones {
		if s.Name == name {
			return s
		}
	}
	p.t.Fatal("no phone", name)
	return phoneState{}
}

// faults is the list of those that are scripted.
func (p *program) faults() []order {
	p.t.Helper()
	var out struct{ Faults []order }
	_, text := p.visit(http.MethodGet, "/faults", "", "")
	check(p.t, json.Unmarshal([]byte(text), &out))
	return out.Faults
}

func TestControl_BadInputIsToldWhatIsWrong(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir(), "--phones", "anna,ben:android,carl")
	if status, text := p.post("/phones/carl/set", `{"condition":"uninstall"}`); status != http.StatusOK {
		t.Fatal(text)
	}
	for _, c := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"/faults", `{"phone":"dora","fault":"reset"}`, 404, "no such phone"},
		{"/faults", `{"phone":"carl","fault":"reset"}`, 409, "not installed"},
		{"/faults", `{"fault":"reset"}`, 400, "name a phone, or vendor"},
		{"/faults", `{"vendor":"windows","fault":"reset"}`, 400, "name a phone, or vendor"},
		{"/faults", `{"vendor":"fcm","phone":"anna","fault":"reset"}`, 400, "anna is called by apns"},
		{"/faults", `{"phone":"anna","token":"aabb","fault":"reset"}`, 400, "a phone or a token"},
		{"/faults", `{"phone":"anna"}`, 400, "say what is to happen"},
		{"/faults", `{"phone":"anna","fault":"lazy"}`, 400, "apns has unregistered, bad-token"},
		{"/faults", `{"phone":"ben","fault":"black-hole"}`, 400, "fcm has no fault"},
		{"/faults", `{"phone":"anna","fault":"quota"}`, 400, "apns has no fault"},
		{"/faults", `{"phone":"anna","reason":"Unregisterd"}`, 400, "Apple has no reason"},
		{"/faults", `{"phone":"ben","reason":"GONE"}`, 400, "Google has no error code"},
		{"/faults", `{"phone":"anna","status":99}`, 400, "status 99"},
		{"/faults", `{"phone":"ben","reason":"INTERNAL","status":200}`, 400, "an error code with status 200"},
		{"/faults", `{"phone":"anna","answer":"shrug"}`, 400, "answer"},
		{"/faults", `{"phone":"ben","answer":"black-hole"}`, 400, "answer"},
		{"/faults", `{"phone":"anna","delay":"soon"}`, 400, "delay is a time"},
		{"/faults", `{"phone":"anna","delay":"25h"}`, 400, "at most an hour"},
		{"/faults", `{"phone":"anna","fault":"unregistered","timestamp":"yesterday"}`, 400, "timestamp is a time"},
		{"/faults", `{"phone":"ben","fault":"unregistered","timestamp":"-1h"}`, 400, "fcm has no timestamp"},
		{"/faults", `{"phone":"anna","fault":"reset","field":"x","quota":"device"}`, 400, "apns has no field, quota"},
		{"/faults", `{"phone":"ben","reason":"QUOTA_EXCEEDED","quota":"moon"}`, 400, "quota is project"},
		{"/faults", `{"vendor":"apns","env":"moon","fault":"reset"}`, 400, "env is sandbox"},
		{"/faults", `{"vendor":"fcm","endpoint":"moon","fault":"reset"}`, 400, "endpoint is send"},
		{"/faults", `{"phone":"ben","fault":"no-access"}`, 400, "access tokens are for no phone"},
		{"/faults", `{"phone":"anna","fault":"reset","nth":-1}`, 400, "nth counts from 1"},
		{"/faults", `{"phone":"anna","answer":"unseen"}`, 400, "GOAWAY"},
		{"/faults", `{"phone":"anna","faultt":"reset"}`, 400, "faultt"},
		{"/phones/anna/set", `{"condition":"asleep"}`, 400, "there are offline, online"},
		{"/phones/anna/set", `{"condition":"doze"}`, 400, "an iPhone knows no doze"},
		{"/phones/anna/set", `{"condition":"install"}`, 400, "is installed"},
		{"/phones/dora/set", `{"condition":"offline"}`, 404, "no such phone"},
		{"/phones/carl/set", `{"condition":"new-token"}`, 409, "not installed"},
		{"/phones/carl/sync", `{}`, 409, "not installed"},
		{"/phones/anna/claim", `{"link":"bk_own_x"}`, 400, "not a claim link"},
		{"/phones/anna/claim", `{"link":"http://example.com/claim#x"}`, 400, "not the address of a server"},
		{"/phones/anna/open", `{"thread":"thr_x"}`, 409, "not paired"},
		{"/phones/anna/dismiss", `{}`, 409, "no such alert"},
		{"/phones/anna/tap", `[]`, 400, "the body"},
	} {
		status, text := p.post(c.path, c.body)
		if status != c.status || !strings.Contains(text, c.want) {
			t.Errorf("%s %s: %d %s, want %d %q", c.path, c.body, status, text, c.status, c.want)
		}
	}
	if list := p.faults(); len(list) != 0 {
		t.Errorf("scripted %+v", list)
	}
	for path, want := range map[string]int{"/faults/7": 404, "/faults?vendor=windows": 400} {
		if res, text := p.visit(http.MethodDelete, path, "", "{}"); res.StatusCode != want {
			t.Errorf("DELETE %s: %s %s", path, res.Status, text)
		}
	}
	if res, _ := p.visit(http.MethodGet, "/log?from=x", "", ""); res.StatusCode != http.StatusBadRequest {
		t.Errorf("GET /log?from=x: %s", res.Status)
	}
}

// Every kind of fault can be scripted at the vendors it names.
func TestControl_EveryKindOfFaultIsTaken(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir(), "--phones", "anna")
	n := 0
	for _, k := range kinds() {
		for _, v := range []phone.Vendor{phone.APNs, phone.FCM} {
			if _, ok := k.of(v); !ok {
				continue
			}
			n++
			if status, text := p.post("/faults", `{"vendor":"`+string(v)+`","fault":"`+k.name+`"}`); status != http.StatusOK {
				t.Errorf("%s %s: %d %s", v, k.name, status, text)
			}
		}
	}
	if list := p.faults(); len(list) != n {
		t.Errorf("lists %d, want %d", len(list), n)
	}
	for _, c := range []struct {
		args []string
		want string
	}{{[]string{"vendor", "clear", "1"}, "taken back: 1"}, {[]string{"vendor", "clear", "fcm"}, "taken back"}, {[]string{"vendor", "clear"}, "taken back"}, {[]string{"vendor", "faults"}, "no fault is scripted"}} {
		if code, out := p.ask(c.args...); code != 0 || !strings.Contains(out, c.want) {
			t.Errorf("%q: %d %s", c.args, code, out)
		}
	}
}

func TestControl_FaultsAreForOneAddressAndCount(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir(), "--phones", "anna,eve,ben:android")
	for _, args := range [][]string{
		{"vendor", "fault", "anna", "unregistered", "--nth", "2", "--timestamp=-1h"},
		{"vendor", "fault", "anna", "too-many", "--nth", "4", "--always", "--retry-after", "77"},
		{"vendor", "fault", "ben", "unavailable-stored"},
		{"vendor", "fault", "ben", "--reason", "QUOTA_EXCEEDED", "--quota", "project", "--nth", "2"},
	} {
		if code, out := p.ask(args...); code != 0 {
			t.Fatalf("%q: %s", args, out)
		}
	}
	var got []int
	for range 4 {
		res := p.push(p.phone("anna").Address, alertPayload)
		got = append(got, res.StatusCode, p.push(p.phone("eve").Address, alertPayload).StatusCode)
		if res.StatusCode == http.StatusTooManyRequests && res.Header.Get("Retry-After") != "77" {
			t.Errorf("Retry-After %q", res.Header.Get("Retry-After"))
		}
	}
	account, err := os.ReadFile(p.config.FCMAccountFile)
	check(t, err)
	for range 3 {
		res := p.message(account, p.phone("ben").Address, map[string]string{"title": "t", "tag": "x", "beckon": "{}"})
		got = append(got, res.StatusCode)
	}
	if diff := cmp.Diff([]int{200, 200, 410, 200, 200, 200, 429, 200, 503, 429, 200}, got); diff != "" {
		t.Error(diff)
	}
	var given []int
	for _, f := range p.faults() {
		given = append(given, f.Given)
	}
	if diff := cmp.Diff([]int{1, 1, 1, 1}, given); diff != "" {
		t.Error(diff)
	}
	_, out := p.ask("log")
	for _, want := range []string{
		`"phone":"anna","vendor":"apns","what":"refused","why":"scripted fault 1 unregistered; 410 Unregistered"`,
		`"phone":"ben","vendor":"fcm","what":"refused","why":"scripted fault 3 unavailable-stored; 503 UNAVAILABLE; the phone gets it all the same"`,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the log lacks %s", want)
		}
	}
	if code, out := p.ask("vendor", "faults"); code != 0 || !strings.Contains(out, "2  anna  all requests from 4: too-many TooManyRequests; given 1 times") {
		t.Errorf("lists %s", out)
	}
}

func TestSet_ConditionsShowInState(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir, "--phones", "ben:android")
	usual := conditionState{Installed: true, Online: true, Notifications: true}
	for _, c := range []struct {
		condition string
		want      func(*conditionState)
	}{
		{"offline", func(s *conditionState) { s.Online = false }},
		{"online", nil},
		{"doze", func(s *conditionState) { s.Doze = true }},
		{"maintenance", func(s *conditionState) { s.Doze = true }},
		{"awake", nil},
		{"quit", func(s *conditionState) { s.Quit = true }},
		{"launch", nil},
		{"notifications-off", func(s *conditionState) { s.Notifications = false }},
		{"notifications-on", nil},
		{"uninstall", func(s *conditionState) { s.Installed, s.Notifications = false, false }},
		{"install", nil},
	} {
		want := usual
		if c.want != nil {
			c.want(&want)
		}
		if code, out := p.ask("set", "ben", c.condition); code != 0 {
			t.Errorf("%s: %s", c.condition, out)
		}
		if diff := cmp.Diff(want, p.phone("ben").conditionState); diff != "" {
			t.Errorf("%s: %s", c.condition, diff)
		}
	}
}

// A phone's old address is dead at the vendor, or soon will be, and its new one
// is good, also after a restart.
func TestSet_MovesTheAddress(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir, "--phones", "anna,ben:android")
	account, err := os.ReadFile(p.config.FCMAccountFile)
	check(t, err)
	data := map[string]string{"title": "t", "tag": "x", "beckon": "{}"}
	anna, ben := []string{p.phone("anna").Address}, []string{p.phone("ben").Address}
	for _, c := range []string{"new-token", "uninstall", "install"} {
		if status, text := p.post("/phones/anna/set", `{"condition":"`+c+`"}`); status != http.StatusOK {
			t.Fatal(text)
		}
		if now := p.phone("anna").Address; now != "" {
			anna = append(anna, now)
		}
	}
	for _, c := range []string{"new-token", "new-fid", "new-token"} {
		if status, text := p.post("/phones/ben/set", `{"condition":"`+c+`"}`); status != http.StatusOK {
			t.Fatal(text)
		}
		ben = append(ben, p.phone("ben").Address)
	}
	var got []int
	for _, token := range anna {
		got = append(got, p.push(token, alertPayload).StatusCode)
	}
	for i, token := range ben {
		if i != 2 { // an installation id
			got = append(got, p.message(account, token, data).StatusCode)
		}
	}
	// Google takes the first token for a while longer; the app went from the second
	// to an installation id, which ends it.
	if diff := cmp.Diff([]int{410, 410, 200, 200, 404, 200}, got); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(ben[2], ":") {
		t.Errorf("%q is no installation id", ben[2])
	}
	kept, err := os.ReadFile(filepath.Join(dir, "phones", "anna.token"))
	check(t, err)
	if string(kept) != anna[2] || p.phone("anna").Paired {
		t.Errorf("kept %q", kept)
	}
}
