package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"sync"
	"time"
)

// process is a server that is measured from outside.
type process struct {
	cmd *exec.Cmd

	stop    context.CancelFunc
	looking sync.WaitGroup
	most    float64 // of its memory, in MB; read it when looking is over
}

// startProcess runs a server and returns once something listens at addr. Its
// output goes nowhere: both systems log.
func startProcess(ctx context.Context, cmd *exec.Cmd, addr string) (*process, error) {
	p := &process{cmd: cmd}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ctx, p.stop = context.WithCancel(ctx)
	p.looking.Go(func() { p.look(ctx) })
	if err := listens(ctx, addr); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", cmd.Path, err), p.kill())
	}
	return p, nil
}

// startup is how long a server may take until it listens.
const startup = 30 * time.Second

// listens waits until somebody accepts at addr.
func listens(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, startup)
	defer cancel()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	var dialer net.Dialer
	for {
		c, err := dialer.DialContext(ctx, "tcp", addr)
		if err == nil {
			return c.Close()
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return err
		}
	}
}

// look keeps the most memory it had.
func (p *process) look(ctx context.Context) {
	ticker := time.NewTicker(rssEvery)
	defer ticker.Stop()
	status := fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid)
	for {
		p.most = max(p.most, float64(kilobytes(field(status, "RssAnon")))/1024)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// peak ends looking at the memory and gives the most it was, in MB.
func (p *process) peak() float64 {
	p.stop()
	p.looking.Wait()
	return p.most
}

// cpu is the processor time, user and system, of all its threads so far.
func (p *process) cpu() time.Duration { return processCPU(p.cmd.Process.Pid) }

// kill ends the process as a power cut would, and waits for the end.
func (p *process) kill() error {
	p.peak()
	err := p.cmd.Process.Kill()
	var exit *exec.ExitError
	if ended := p.cmd.Wait(); ended != nil && !errors.As(ended, &exit) {
		err = errors.Join(err, ended)
	}
	return err
}
