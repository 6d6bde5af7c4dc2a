package load

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/beckon-dev/beckon/push/emulator/apns"
	"github.com/beckon-dev/beckon/push/emulator/fcm"
)

// VendorsVariable, when set, makes the program the push services of a trial; see
// [Vendors].
const VendorsVariable = "BECKON_LOAD_VENDORS"

// Where the push services of a trial listen: hosts are fixed in some senders.
const (
	productionHost = "127.0.0.2"
	sandboxHost    = "127.0.0.3"
	googleHost     = "127.0.0.4"
)

// hosts is the hosts file of a trial.
const hosts = "127.0.0.1 localhost\n" +
	productionHost + " api.push.apple.com\n" +
	sandboxHost + " api.sandbox.push.apple.com api.development.push.apple.com\n" +
	googleHost + " fcm.googleapis.com oauth2.googleapis.com\n"

// vendorsHello is the first line of the push services: Apple's key and Google's
// account file for a sender.
type vendorsHello struct {
	Key     []byte `json:"key"`
	Account []byte `json:"account"`
}

// vendorsOrder asks for the count once it has reached a number, or nothing came
// for a while. Zero numbers do not count.
type vendorsOrder struct {
	Accepted int           `json:"accepted"`
	Named    int           `json:"named"`
	Quiet    time.Duration `json:"quiet"`
}

// vendorsCount is what the push services took.
type vendorsCount struct {
	Accepted int       `json:"accepted"`
	First    time.Time `json:"first"`
	Last     time.Time `json:"last"`
	Refused  int       `json:"refused"`
	Reason   string    `json:"reason"`
	// Named is how often a push of each name was accepted.
	Named map[string]int `json:"named"`
	// Identities is under how many ids of the sender Apple took them.
	Identities int `json:"identities"`
	// Silent tells that nothing came for as long as was asked for.
	Silent bool   `json:"silent"`
	Failed string `json:"failed"`
}

// Vendors is the emulators of both push services on the addresses of a trial. It
// reads the trial and then orders from in, and answers on out, until in ends.
func Vendors(ctx context.Context, in io.Reader, out io.Writer) error {
	lines, answers := json.NewDecoder(in), json.NewEncoder(out)
	var t Trial
	if err := lines.Decode(&t); err != nil {
		return err
	}
	cert, key := filepath.Join(t.Folder, certName), filepath.Join(t.Folder, keyName)
	apple, err := apns.Start(ctx, apns.Config{
		Keep: keep, CACertFile: cert, CAKeyFile: key, SandboxAddr: sandboxHost + ":443", ProductionAddr: productionHost + ":443",
	})
	if err != nil {
		return err
	}
	defer apple.Close()
	google, err := fcm.Start(ctx, fcm.Config{Keep: keep, CACertFile: cert, CAKeyFile: key, Addr: googleHost + ":443"})
	if err != nil {
		return err
	}
	defer google.Close()
	hello, err := t.furnish(apple, google)
	if err != nil {
		return err
	}
	c := &counter{count: vendorsCount{Named: map[string]int{}}, ids: map[string]bool{}, changed: make(chan struct{})}
	ctx, cancel := context.WithCancel(ctx)
	defer c.reading.Wait()
	defer cancel()
	c.follow(ctx, apple, google)
	if err := answers.Encode(hello); err != nil {
		return err
	}
	for {
		var o vendorsOrder
		if err := lines.Decode(&o); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if err := answers.Encode(c.await(o)); err != nil {
			return err
		}
	}
}

// furnish gives the push services phones, senders and their distance.
func (t Trial) furnish(apple *apns.Server, google *fcm.Server) (h vendorsHello, err error) {
	key, p8, err := apns.NewProviderKey(keyID, teamID)
	if err != nil {
		return h, err
	}
	h.Key = p8
	if err := apple.RegisterKey(key); err != nil {
		return h, err
	}
	if h.Account, err = google.Issue(""); err != nil {
		return h, err
	}
	h.Account = bytes.Replace(h.Account, []byte(google.TokenURL()), []byte("https://oauth2.googleapis.com/token"), 1)
	for i := range t.Accounts {
		vendor, token := t.phone(i)
		if vendor == Apple {
			err = apple.AddDevice(apns.Registration{Token: token, Topic: topic, Env: apns.Sandbox})
		} else {
			err = google.AddDevice(fcm.Registration{Token: token, App: topic})
		}
		if err != nil {
			return h, err
		}
	}
	if t.Delay == 0 {
		return h, nil
	}
	return h, errors.Join(apple.Script(apns.Match{Times: -1}, apns.Fault{Delay: t.Delay}), google.Script(fcm.Match{Times: -1}, fcm.Fault{Delay: t.Delay}))
}

// counter reads the logs of both push services, in order.
type counter struct {
	reading sync.WaitGroup

	mu      sync.Mutex
	count   vendorsCount
	ids     map[string]bool
	changed chan struct{} // closed and made anew with each push
}

func (c *counter) follow(ctx context.Context, apple *apns.Server, google *fcm.Server) {
	c.reading.Go(func() {
		for at := 0; ; {
			r, next, err := apple.Log().Next(ctx, at)
			if err != nil {
				return
			}
			var body struct{ Beckon json.RawMessage }
			_ = json.Unmarshal(r.Payload, &body) // an unnamed push is seen as such
			c.note(r.Time, r.Status, string(r.Reason), r.ID, body.Beckon, next != at+1)
			at = next
		}
	})
	c.reading.Go(func() {
		for at := 0; ; {
			r, next, err := google.Log().Next(ctx, at)
			if err != nil {
				return
			}
			if r.Endpoint == fcm.SendEndpoint || r.Status != 200 {
				c.note(r.Time, r.Status, string(r.Code), "", []byte(r.Data["beckon"]), next != at+1)
			}
			at = next
		}
	})
}

// note counts one request. Both systems put the name of a push where Beckon's
// payload has it.
func (c *counter) note(at time.Time, status int, reason, id string, payload []byte, lost bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if lost {
		c.count.Failed = "the log was overtaken"
	}
	if status != 200 {
		c.count.Refused++
		if c.count.Reason == "" {
			c.count.Reason = reason
		}
		return
	}
	var body struct{ Decision string }
	_ = json.Unmarshal(payload, &body)
	if c.count.Accepted++; c.count.Accepted == 1 || at.Before(c.count.First) {
		c.count.First = at
	}
	if at.After(c.count.Last) {
		c.count.Last = at
	}
	c.count.Named[body.Decision]++
	c.ids[id] = true
	c.count.Identities = len(c.ids)
	close(c.changed)
	c.changed = make(chan struct{})
}

// await gives the count when there is enough, or nothing came for a while.
func (c *counter) await(o vendorsOrder) vendorsCount {
	timer := time.NewTimer(o.Quiet)
	defer timer.Stop()
	for {
		c.mu.Lock()
		changed := c.changed
		enough := c.count.Failed != "" || o.Accepted > 0 && c.count.Accepted >= o.Accepted || o.Named > 0 && len(c.count.Named) >= o.Named
		c.mu.Unlock()
		if enough {
			return c.now()
		}
		select {
		case <-changed:
			timer.Reset(o.Quiet)
		case <-timer.C:
			silent := c.now()
			silent.Silent = true
			return silent
		}
	}
}

// now is the count for somebody who reads it later.
func (c *counter) now() vendorsCount {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.count
	out.Named = maps.Clone(out.Named)
	return out
}

// vendors is the push services as the one who started them sees them.
type vendors struct {
	hello vendorsHello

	cmd     *exec.Cmd
	in      io.WriteCloser
	orders  *json.Encoder
	answers *json.Decoder
}

// startVendors runs this program once more as [Vendors], with a certificate that
// the trial's folder holds.
func startVendors(ctx context.Context, t Trial) (*vendors, error) {
	if _, err := makeCertificate(t.Folder); err != nil {
		return nil, err
	}
	v := &vendors{}
	var err error
	if v.cmd, err = again(ctx, VendorsVariable); err != nil {
		return nil, err
	}
	if v.in, err = v.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := v.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	v.orders, v.answers = json.NewEncoder(v.in), json.NewDecoder(out)
	if err := v.cmd.Start(); err != nil {
		return nil, err
	}
	if err := errors.Join(v.orders.Encode(t), v.answers.Decode(&v.hello)); err != nil {
		return nil, errors.Join(err, v.close())
	}
	return v, nil
}

// again is this program with a variable set, in place of the one it may have
// been started with itself.
func again(ctx context.Context, variable string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env, cmd.Stderr = append(os.Environ(), StageVariable+"=", variable+"=1"), os.Stderr
	return cmd, nil
}

// close ends the push services by the end of their input.
func (v *vendors) close() error { return errors.Join(v.in.Close(), v.cmd.Wait()) }

// wait gives an order and returns what it waited for.
func (v *vendors) wait(o vendorsOrder) (c vendorsCount, err error) {
	if err := errors.Join(v.orders.Encode(o), v.answers.Decode(&c)); err != nil {
		return c, err
	}
	if c.Failed != "" {
		return c, errors.New("emulators: " + c.Failed)
	}
	return c, nil
}
