package load

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/beckon-dev/beckon/e2e/stack"
)

// The version of gorush in the comparison, and the checksum of its source. It is
// a tool of the measurement alone and no part of this module.
const (
	gorushModule  = "github.com/appleboy/gorush"
	GorushVersion = "v1.22.0"
	gorushSum     = "h1:8Og7AuJSr+b7ZFK6i8dKWFb9GdCr6XdWJNIWaU3c2uU="
)

// ErrAbsent tells that there is nothing to compare with on this machine, and why.
var ErrAbsent = errors.New("absent")

// builtFolder is where the comparison builds its programs.
func builtFolder() (string, error) {
	root, err := stack.Root()
	return filepath.Join(root, ".build", "load"), err
}

// BuildGorush gets gorush from the module proxy and builds it, unless an earlier
// run has. The error is ErrAbsent when it cannot be had.
func BuildGorush(ctx context.Context) (string, error) {
	folder, err := builtFolder()
	if err != nil {
		return "", err
	}
	out := filepath.Join(folder, "gorush-"+GorushVersion)
	if _, err := os.Stat(out); err == nil {
		return out, nil
	}
	// Outside of any module, so that it comes with its own dependencies.
	get := exec.CommandContext(ctx, "go", "mod", "download", "-json", gorushModule+"@"+GorushVersion)
	get.Dir, get.Env = os.TempDir(), append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	text, err := get.Output()
	var got struct{ Dir, Sum, Error string }
	if decoded := json.Unmarshal(text, &got); err != nil || decoded != nil {
		return "", fmt.Errorf("%w: download gorush: %w %s", ErrAbsent, errors.Join(err, decoded), got.Error)
	}
	if got.Sum != gorushSum {
		return "", fmt.Errorf("%w: gorush %s is %s, want %s", ErrAbsent, GorushVersion, got.Sum, gorushSum)
	}
	build := exec.CommandContext(ctx, "go", "build", "-mod=readonly", "-o", out, ".")
	build.Dir, build.Env = got.Dir, get.Env
	if text, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: build gorush: %w\n%s", ErrAbsent, err, text)
	}
	return out, nil
}

// atOnce is how many addresses a call of Thousands carries: gorush hands those of
// Android phones to Google's kit, which takes 500.
func atOnce(vendor string) int {
	if vendor == Google {
		return 500
	}
	return 1000
}

// lot is one call of Thousands.
type lot struct {
	vendor string
	size   int
}

// lots are the calls that make n pushes.
func lots(vendors []string, n int) (all []lot) {
	for i := 0; n > 0; i++ {
		vendor := vendors[i%len(vendors)]
		size := min(atOnce(vendor), n)
		all, n = append(all, lot{vendor, size}), n-size
	}
	return all
}

const gorushAddress = "127.0.0.1:8088"

// gorushConfig is its own defaults, except that it logs errors only and that its
// queue, in memory as it comes, holds a whole trial: the default of 8,192 would
// refuse pushes.
const gorushConfig = `core: {address: 127.0.0.1, port: "8088", queue_num: %d, mode: release}
log: {access_level: error, error_level: error}
ios: {enabled: %t, key_path: %q, key_type: p8, key_id: %s, team_id: %s, production: false}
android: {enabled: %t, key_path: %q}
`

// gorush is the one of the comparison.
type gorush struct {
	Trial

	config string
	client *http.Client
}

func openGorush(t Trial, v vendorsHello) (*gorush, error) {
	key, account := filepath.Join(t.Folder, "key.p8"), filepath.Join(t.Folder, "account.json")
	g := &gorush{Trial: t, config: filepath.Join(t.Folder, "gorush.yml")}
	g.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: crowd}}
	text := fmt.Appendf(nil, gorushConfig, max(t.Pushes, 8192), t.uses(Apple), key, keyID, teamID, t.uses(Google), account)
	return g, errors.Join(os.WriteFile(key, v.Key, 0o600), os.WriteFile(account, v.Account, 0o600), os.WriteFile(g.config, text, 0o600))
}

func (g *gorush) start(ctx context.Context) (*process, error) {
	cmd := exec.CommandContext(ctx, g.Binary, "-c", g.config)
	cmd.Dir, cmd.Env = g.Folder, append(os.Environ(), "SSL_CERT_FILE="+filepath.Join(g.Folder, certName), "SSL_CERT_DIR=/nowhere")
	return startProcess(ctx, cmd, gorushAddress)
}

func (g *gorush) close() { g.client.CloseIdleConnections() }

// gorushPush is one notification of a call.
type gorushPush struct {
	Tokens   []string       `json:"tokens"`
	Platform int            `json:"platform"` // 1 is iOS, 2 Android
	Title    string         `json:"title"`
	Message  string         `json:"message"`
	Topic    string         `json:"topic,omitempty"`
	PushType string         `json:"push_type,omitempty"`
	Priority string         `json:"priority"`
	Data     map[string]any `json:"data"`
}

func (g *gorush) call(ctx context.Context, i int) (string, error) {
	name := fmt.Sprintf("q%d", i)
	vendor, token := g.phone(i % g.Accounts)
	push := gorushPush{
		Tokens: []string{token}, Title: "Move this mail?", Message: "Builder asks: move the mail to Archive?", Priority: "high",
		Data: map[string]any{"beckon": map[string]any{"kind": "decision_required", "decision": name, "task": "tsk_" + name, "thread": "thr_" + name}},
	}
	if g.Shape == Thousands {
		l := lots(g.Vendors, g.Pushes)[i]
		vendor, push.Tokens = l.vendor, g.addresses(l)
	}
	if push.Platform = 2; vendor == Apple {
		push.Platform, push.Topic, push.PushType = 1, topic, "alert"
	}
	body, err := json.Marshal(map[string]any{"notifications": []gorushPush{push}})
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+gorushAddress+"/api/push", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := g.client.Do(req)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(io.Discard, res.Body)
	if err := errors.Join(err, res.Body.Close()); err != nil {
		return "", err
	}
	if res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("gorush answered %s", res.Status)
	}
	return name, nil
}

// addresses are those of one call, over and over the phones there are.
func (g *gorush) addresses(l lot) (tokens []string) {
	for n := 0; len(tokens) < l.size; n++ {
		if of, token := g.phone(n % g.Accounts); of == l.vendor {
			tokens = append(tokens, token)
		}
	}
	return tokens
}
