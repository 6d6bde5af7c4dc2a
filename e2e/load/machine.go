package load

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Machine is where numbers were made; without it they mean little.
type Machine struct {
	Cores    int
	CPU      string
	MemoryMB int
	Go       string
	// Load is the load average when the run began: others use the machine too.
	Load string
	// Syncs is how often a second a plain file in the data folder can be
	// written (4 KiB) and synced.
	Syncs float64
}

// ReadMachine describes this machine and measures the disk under folder. The
// errors are those of the file system.
func ReadMachine(folder string) (Machine, error) {
	m := Machine{
		Cores: runtime.NumCPU(), Go: runtime.Version(),
		CPU:      field("/proc/cpuinfo", "model name"),
		MemoryMB: kilobytes(field("/proc/meminfo", "MemTotal")) / 1024,
	}
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.Load, _, _ = strings.Cut(string(b), " ")
	}
	var err error
	m.Syncs, err = plainSyncs(folder, time.Second)
	return m, err
}

// plainSyncs writes and syncs one block of one file for a while.
func plainSyncs(folder string, length time.Duration) (float64, error) {
	f, err := os.Create(filepath.Join(folder, "syncs"))
	if err != nil {
		return 0, err
	}
	defer f.Close() //nolint:errcheck // a file of nothing
	block := make([]byte, 4096)
	n, start := 0, time.Now()
	for time.Since(start) < length {
		if _, err := f.WriteAt(block, int64(n%256)*4096); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		n++
	}
	return float64(n) / time.Since(start).Seconds(), nil
}

// RssAnonMB is the memory of this process that no file backs; 0 where the
// system does not tell.
func RssAnonMB() float64 {
	return float64(kilobytes(field("/proc/self/status", "RssAnon"))) / 1024
}

// CPU is the processor time this process has used.
func CPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// field reads "name: value" from a file of the kernel.
func field(path, name string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close() //nolint:errcheck // only read
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func kilobytes(value string) int {
	n, _ := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(value, "kB")))
	return n
}

// String is the line under a table.
func (m Machine) String() string {
	return fmt.Sprintf("%d cores (%s), %d MB memory, %s, limits \"bench\"; plain 4 KiB write and fsync in the same folder: %.0f/s; load average at the start %s",
		m.Cores, m.CPU, m.MemoryMB, m.Go, m.Syncs, m.Load)
}
