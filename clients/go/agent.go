package beckon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

// Where an agent finds its credential; see [AgentFromEnv].
const (
	// EnvKeyFile names a file with an agent's key, as `beckon agent add` writes.
	EnvKeyFile = "BECKON_KEY_FILE"
	// EnvTaskFile names a file with a token for one task, as `beckon run` gives
	// to the command it runs.
	EnvTaskFile = "BECKON_TASK_FILE"
	// EnvServer names the server where neither flag nor file does.
	EnvServer = "BECKON_SERVER"
)

var (
	// ErrNoAgent is returned where no credential of an agent is to be found.
	ErrNoAgent = errors.New("beckon: no agent key: add one with `beckon agent add`, or set " + EnvKeyFile)
	// ErrKeyFile is returned for a file that holds no agent's key.
	ErrKeyFile = errors.New("beckon: not an agent's key file")
	// ErrTaskFile is returned for a file that holds no task token.
	ErrTaskFile = errors.New("beckon: not a task file")
)

// KeyFile is an agent's key with what is needed to use it. It is stored as
// JSON, readable by its owner only; a file with nothing but the key's text is
// read as well.
type KeyFile struct {
	// Server and CAFile say how the server is reached.
	Server string `json:"server,omitempty"`
	CAFile string `json:"ca_file,omitempty"`
	// AgentID and KeyID name what the key belongs to; for people.
	AgentID string `json:"agent_id,omitempty"`
	KeyID   string `json:"key_id,omitempty"`
	// Key is the secret.
	Key string `json:"key"`
	// ExpireTime is when it ends.
	ExpireTime time.Time `json:"expire_time,omitzero"`
}

// AgentKeyPath is where an agent's key is kept when nobody says otherwise.
func AgentKeyPath() (string, error) {
	dir, err := ConfigDir()
	return filepath.Join(dir, "agent.json"), err
}

// ReadKeyFile reads an agent's key. Errors: [ErrNoAgent] where there is no such
// file, [ErrReadable], [ErrKeyFile].
func ReadKeyFile(path string) (KeyFile, error) {
	raw, err := readPrivate(path)
	if errors.Is(err, os.ErrNotExist) {
		return KeyFile{}, fmt.Errorf("%w (%s)", ErrNoAgent, path)
	}
	if err != nil {
		return KeyFile{}, err
	}
	text := strings.TrimSpace(string(raw))
	k := KeyFile{Key: text}
	if strings.HasPrefix(text, "{") {
		k = KeyFile{}
		if json.Unmarshal(raw, &k) != nil { // its text could quote the key
			return KeyFile{}, fmt.Errorf("%w: %s", ErrKeyFile, path)
		}
	}
	if !strings.HasPrefix(k.Key, "bk_agt_") || strings.ContainsAny(k.Key, " \r\n\t") {
		return KeyFile{}, fmt.Errorf("%w: %s", ErrKeyFile, path)
	}
	return k, nil
}

// WriteKeyFile stores an agent's key, readable by its owner only. A file that is
// there already is left alone.
func WriteKeyFile(path string, k KeyFile) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("beckon: %s: %w", path, os.ErrExist)
	}
	return writeJSON(path, k)
}

// TaskFile is a token for one task under one lease, for processes that an agent
// starts and that must not hold its key. Whoever made it renews it, so it is
// read again before each call.
type TaskFile struct {
	// Server and CAFile say how the server is reached.
	Server string `json:"server"`
	CAFile string `json:"ca_file,omitempty"`
	// TaskID and LeaseID name what the token is good for.
	TaskID  string `json:"task_id"`
	LeaseID string `json:"lease_id"`
	// Token is the secret, good until ExpireTime.
	Token      string    `json:"token"`
	ExpireTime time.Time `json:"expire_time"`
}

// ReadTaskFile reads a task token. Errors: [ErrReadable], [ErrTaskFile].
func ReadTaskFile(path string) (TaskFile, error) {
	raw, err := readPrivate(path)
	if err != nil {
		return TaskFile{}, fmt.Errorf("%w: %w", ErrTaskFile, err)
	}
	var t TaskFile
	if json.Unmarshal(raw, &t) != nil || t.TaskID == "" || t.LeaseID == "" || t.Token == "" {
		return TaskFile{}, fmt.Errorf("%w: %s", ErrTaskFile, path)
	}
	return t, nil
}

func writeJSON(path string, v any) error {
	raw, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return writePrivate(path, append(raw, '\n'))
}

// Agent is a program that works for people. It is safe for concurrent use.
type Agent struct {
	*API

	opts Options
}

// NewAgent uses an agent's key. Server and CAFile of opts, where set, stand
// before those of the key file.
func NewAgent(k KeyFile, opts Options) (*Agent, error) {
	if opts.Server == "" {
		opts.Server = k.Server
	}
	if opts.CAFile == "" {
		opts.CAFile = k.CAFile
	}
	return newAgent(opts, fixed(k.Key))
}

func newAgent(opts Options, creds credentials) (*Agent, error) {
	transport, conns, err := opts.transport()
	if err != nil {
		return nil, err
	}
	return &Agent{API: newAPI(transport, conns, opts.Retry, creds), opts: opts}, nil
}

// AgentFromEnv finds an agent's key: keyFile where it is set, else
// $BECKON_KEY_FILE, else the usual place. Errors: [ErrNoAgent] and those of
// [ReadKeyFile] and [NewAgent].
func AgentFromEnv(keyFile string, opts Options) (*Agent, error) {
	if keyFile == "" {
		keyFile = os.Getenv(EnvKeyFile)
	}
	if keyFile == "" {
		path, err := AgentKeyPath()
		if err != nil {
			return nil, err
		}
		keyFile = path
	}
	k, err := ReadKeyFile(keyFile)
	if err != nil {
		return nil, err
	}
	if opts.Server == "" && k.Server == "" {
		opts.Server = os.Getenv(EnvServer)
	}
	return NewAgent(k, opts)
}

// OpenTask works on the task of a task file, as a process that the holder of
// the lease has started. The heartbeats are the holder's business.
func OpenTask(path string, opts Options) (*Work, error) {
	t, err := ReadTaskFile(path)
	if err != nil {
		return nil, err
	}
	if opts.Server == "" {
		opts.Server = t.Server
	}
	if opts.CAFile == "" {
		opts.CAFile = t.CAFile
	}
	agent, err := newAgent(opts, taskToken(path))
	if err != nil {
		return nil, err
	}
	return &Work{agent: agent, Task: &v1.Task{Id: t.TaskID}, Lease: t.LeaseID}, nil
}

// taskToken reads the token of a task file before each call.
type taskToken string

func (p taskToken) token(context.Context) (string, error) {
	t, err := ReadTaskFile(string(p))
	return t.Token, err
}

func (p taskToken) refused(ctx context.Context, token string) (bool, error) {
	next, err := p.token(ctx)
	return next != token, err
}

// WriteTask mints a token for w and leaves it in path, replacing the one that
// was there. It returns when to do so again, well before the token ends.
func (a *Agent) WriteTask(ctx context.Context, w *Work, path string) (again time.Time, err error) {
	res, err := a.Agents.MintTaskToken(ctx, &v1.MintTaskTokenRequest{TaskId: w.ID(), LeaseId: w.Lease})
	if err != nil {
		return time.Time{}, err
	}
	end := res.GetExpireTime().AsTime()
	err = writeJSON(path, TaskFile{
		Server: a.opts.Server, CAFile: a.opts.CAFile, TaskID: w.ID(), LeaseID: w.Lease,
		Token: res.GetToken(), ExpireTime: end,
	})
	now := time.Now()
	return now.Add(end.Sub(now) / 2), err
}
