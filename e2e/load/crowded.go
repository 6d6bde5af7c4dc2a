package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/sync/changelog"
)

// crowded is a crowd in a process of its own, as its parent sees it: what the
// watchers cost is not counted with the server.
type crowded struct {
	cmd     *exec.Cmd
	wishes  io.WriteCloser
	encoder *json.Encoder
	answers *json.Decoder
}

// gather runs this program once more as [Crowd] and returns once all watchers
// are level.
func gather(ctx context.Context, g gathering) (*crowded, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &crowded{cmd: exec.CommandContext(ctx, self)}
	c.cmd.Env, c.cmd.Stderr = append(os.Environ(), CrowdVariable+"=1"), os.Stderr
	if c.wishes, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.encoder, c.answers = json.NewEncoder(c.wishes), json.NewDecoder(out)
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	if _, err := c.ask(g); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// ask sends one line and waits for its answer.
func (c *crowded) ask(line any) (report, error) {
	var r report
	if err := c.encoder.Encode(line); err != nil {
		return r, fmt.Errorf("the crowd is gone: %w", err)
	}
	if err := c.answers.Decode(&r); err != nil {
		return r, fmt.Errorf("the crowd went silent: %w", err)
	}
	if r.Failed != "" {
		return r, errors.New("crowd: " + r.Failed)
	}
	return r, nil
}

// close ends the child by the end of its input.
func (c *crowded) close() error { return errors.Join(c.wishes.Close(), c.cmd.Wait()) }

// seats are where the watchers of each person begin: level with everything.
func (p *place) seats(ctx context.Context) ([]seat, error) {
	all := make([]seat, len(p.people))
	err := each(len(all), crowd, func(i int) error {
		who := p.people[i]
		page, err := p.app.Bootstrap(ctx, who.device, app.Bootstrap{Scope: changelog.AccountScope})
		if err != nil {
			return err
		}
		all[i] = seat{Token: who.access, Cursor: page.Cursor, Horizon: page.AsOf}
		return nil
	})
	return all, err
}
