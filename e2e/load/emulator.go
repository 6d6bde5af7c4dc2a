package load

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/beckon-dev/beckon/push/emulator/apns"
)

// ChildVariable, when set, makes the program the emulator of another one that
// has started it; see [Child].
const ChildVariable = "BECKON_LOAD_CHILD"

const (
	topic  = "com.example.beckon"
	keyID  = "LOADKEY001"
	teamID = "LOADTEAM01"
	// keep bounds what the emulator holds in memory.
	keep = 20_000
)

// deviceToken is the token of the n-th phone.
func deviceToken(n int) string {
	h := sha256.Sum256(fmt.Appendf(nil, "phone %d", n))
	return hex.EncodeToString(h[:])
}

// order is a line from the parent.
type order struct {
	// Op is "delay", "reset", "wait" or "report".
	Op string `json:"op"`
	// Delay is for how long every answer waits.
	Delay time.Duration `json:"delay,omitempty"`
	// N is how many pushes to wait for.
	N int `json:"n,omitempty"`
}

// hello is the child's first line.
type hello struct {
	URL string `json:"url"`
	CA  []byte `json:"ca"`
	Key []byte `json:"key"`
}

// seen is what the child counted since the last reset.
type seen struct {
	// Accepted are pushes taken, Distinct their provider ids, Refused requests
	// that were answered by anything else.
	Accepted int `json:"accepted"`
	Distinct int `json:"distinct"`
	Refused  int `json:"refused"`
	// Reason is that of the first refusal.
	Reason string `json:"reason,omitempty"`
	// First is when the first request of a decision was there whole.
	First map[string]time.Time `json:"first"`
	// Used is the child's processor time since the last reset.
	Used time.Duration `json:"used"`
	// Connections were opened since the start.
	Connections int    `json:"connections"`
	Lost        bool   `json:"lost"` // entries the tally never saw
	Failed      string `json:"failed,omitempty"`
}

// Child is an APNs emulator with so many phones that takes orders from in and
// answers on out, one JSON line each, until in ends.
func Child(ctx context.Context, phones int, in io.Reader, out io.Writer) error {
	s, err := apns.Start(ctx, apns.Config{Keep: keep})
	if err != nil {
		return err
	}
	defer s.Close()
	key, p8, err := apns.NewProviderKey(keyID, teamID)
	if err != nil {
		return err
	}
	if err := s.RegisterKey(key); err != nil {
		return err
	}
	for i := range phones {
		if err := s.AddDevice(apns.Registration{Token: deviceToken(i), Topic: topic, Env: apns.Sandbox}); err != nil {
			return err
		}
	}
	answers := json.NewEncoder(out)
	if err := answers.Encode(hello{URL: s.URL(apns.Sandbox), CA: s.CAPEM(), Key: p8}); err != nil {
		return err
	}
	t := newTally(s)
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var o order
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			return err
		}
		if err := answers.Encode(t.obey(ctx, o)); err != nil {
			return err
		}
	}
	return lines.Err()
}

// tally reads the emulator's log once, in order.
type tally struct {
	server *apns.Server
	at     int
	seen   seen
	ids    map[string]bool
	used   time.Duration
}

func newTally(s *apns.Server) *tally {
	t := &tally{server: s}
	t.reset()
	return t
}

func (t *tally) reset() {
	t.seen, t.ids, t.used = seen{First: map[string]time.Time{}}, map[string]bool{}, CPU()
}

func (t *tally) obey(ctx context.Context, o order) seen {
	switch o.Op {
	case "delay":
		t.server.ClearScript()
		if o.Delay > 0 {
			if err := t.server.Script(apns.Match{Times: -1}, apns.Fault{Delay: o.Delay}); err != nil {
				return seen{Failed: err.Error()}
			}
		}
	case "reset":
		t.drain(ctx)
		t.reset()
	case "wait":
		for t.seen.Accepted < o.N {
			if err := t.next(ctx); err != nil {
				return seen{Failed: err.Error()}
			}
		}
		return seen{}
	case "report":
		t.drain(ctx)
		t.seen.Distinct, t.seen.Used, t.seen.Connections = len(t.ids), CPU()-t.used, len(t.server.Connections())
		return t.seen
	}
	return seen{}
}

// drain reads what is there already.
func (t *tally) drain(ctx context.Context) {
	for t.at < t.server.Log().Len() {
		if t.next(ctx) != nil {
			return
		}
	}
}

func (t *tally) next(ctx context.Context) error {
	rec, next, err := t.server.Log().Next(ctx, t.at)
	if err != nil {
		return err
	}
	t.seen.Lost = t.seen.Lost || next != t.at+1
	t.at = next
	if rec.Status != 200 {
		t.seen.Refused++
		if t.seen.Reason == "" {
			t.seen.Reason = string(rec.Reason)
		}
		return nil
	}
	t.seen.Accepted++
	t.ids[rec.ID] = true
	var body struct {
		Beckon struct {
			Decision string `json:"decision"`
		} `json:"beckon"`
	}
	if err := json.Unmarshal(rec.Payload, &body); err != nil {
		return err
	}
	if _, again := t.seen.First[body.Beckon.Decision]; !again {
		t.seen.First[body.Beckon.Decision] = rec.Time
	}
	return nil
}

// emulator is the child as its parent sees it.
type emulator struct {
	hello

	cmd    *exec.Cmd
	orders io.WriteCloser
	lines  *bufio.Reader
}

// startEmulator runs this program once more as [Child].
func startEmulator(ctx context.Context, phones int) (*emulator, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	e := &emulator{cmd: exec.CommandContext(ctx, self)}
	e.cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", ChildVariable, phones))
	e.cmd.Stderr = os.Stderr
	if e.orders, err = e.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := e.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	e.lines = bufio.NewReader(out)
	if err := e.cmd.Start(); err != nil {
		return nil, err
	}
	return e, e.read(&e.hello)
}

// close ends the child by the end of its input.
func (e *emulator) close() error { return errors.Join(e.orders.Close(), e.cmd.Wait()) }

func (e *emulator) read(v any) error {
	line, err := e.lines.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("the emulator went silent: %w", err)
	}
	return json.Unmarshal(line, v)
}

// do gives an order and waits until it is carried out.
func (e *emulator) do(o order) (seen, error) {
	line, err := json.Marshal(o)
	if err != nil {
		return seen{}, err
	}
	if _, err := e.orders.Write(append(line, '\n')); err != nil {
		return seen{}, err
	}
	var got seen
	if err := e.read(&got); err != nil {
		return seen{}, err
	}
	if got.Failed != "" {
		return seen{}, errors.New("emulator: " + got.Failed)
	}
	return got, nil
}
