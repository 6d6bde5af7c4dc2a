package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// StageVariable, when set, makes the program the stage of one trial; see [Stage].
const StageVariable = "BECKON_LOAD_STAGE"

// Run plays a trial in a process of its own with a network, mounts and process
// ids of its own, so that a vendor's name is an emulator and nothing of a trial
// outlives it. The error is ErrAbsent where this machine does not allow that.
func (t Trial) Run(ctx context.Context) (o Outcome, err error) {
	if os.Geteuid() != 0 {
		return o, fmt.Errorf("%w: a network of its own needs root", ErrAbsent)
	}
	cmd, err := again(ctx, StageVariable)
	if err != nil {
		return o, err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID}
	in, err := cmd.StdinPipe()
	if err != nil {
		return o, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return o, err
	}
	if err := cmd.Start(); err != nil {
		if errors.Is(err, syscall.EPERM) {
			return o, fmt.Errorf("%w: no network of its own: %w", ErrAbsent, err)
		}
		return o, err
	}
	err = errors.Join(json.NewEncoder(in).Encode(t), json.NewDecoder(out).Decode(&o))
	if err := errors.Join(err, in.Close(), cmd.Wait()); err != nil {
		return o, fmt.Errorf("stage: %w", err)
	}
	if o.Failed != "" {
		return o, fmt.Errorf("%s, %s: %s", t.System, t.Shape, o.Failed)
	}
	return o, nil
}

// Stage reads a trial from in, plays it, and writes its outcome to out.
func Stage(ctx context.Context, in io.Reader, out io.Writer) error {
	var t Trial
	if err := json.NewDecoder(in).Decode(&t); err != nil {
		return err
	}
	err := t.furnishStage()
	var o Outcome
	if err == nil {
		o, err = t.play(ctx)
	}
	if err != nil {
		o.Failed = err.Error()
	}
	return json.NewEncoder(out).Encode(o)
}

// furnishStage mounts what the stage sees, for itself alone, and brings its
// loopback up.
func (t Trial) furnishStage() error {
	names := filepath.Join(t.Folder, "hosts")
	if err := os.WriteFile(names, []byte(hosts), 0o600); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep mounts to itself: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	if err := unix.Mount(names, "/etc/hosts", "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount /etc/hosts: %w", err)
	}
	return loopbackUp()
}

func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd) //nolint:errcheck // only asked
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
}

// processCPU reads the processor clock of another process; 0 when it is gone.
func processCPU(pid int) time.Duration {
	// The kernel makes clock ids of process ids; 2 is the scheduler's own count,
	// of all threads.
	const scheduled = 2
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|scheduled), &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
