package boltstore_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/server/store/boltstore"
)

// childFolder in the environment makes the test binary a child that opens the
// folder, says "open", and writes until it is killed.
const childFolder = "BECKON_BOLTSTORE_CHILD"

const (
	killRounds = 6
	writers    = 8
	ledger     = store.Table("ledger")
	copies     = store.Table("copies")
	heads      = store.Table("heads")
)

// childMain acknowledges each command by a line "writer number" after Update
// has returned; a line is one write, so a kill cannot tear it.
func childMain(dir string) int {
	e, err := boltstore.Open(dir, boltstore.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("open")
	var wg sync.WaitGroup
	for writer := range writers {
		wg.Go(func() {
			for {
				n, err := writeRow(e, uint32(writer))
				if err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
				fmt.Println(writer, n)
			}
		})
	}
	wg.Wait()
	return 0
}

// writeRow takes the writer's next number and stores it in three tables, with
// values that make the file grow, split pages and free them again.
func writeRow(e *boltstore.Engine, writer uint32) (n uint32, err error) {
	err = e.Update(context.Background(), "", func(w store.Writer) error {
		head := binary.BigEndian.AppendUint32(nil, writer)
		value, err := w.Get(heads, head)
		if err != nil {
			return err
		}
		n = 1
		if value != nil {
			n += binary.BigEndian.Uint32(value)
		}
		key := binary.BigEndian.AppendUint32(head, n)
		body := []byte(strings.Repeat("x", 1+int(n*n%3000)))
		return errors.Join(
			w.Put(heads, head, binary.BigEndian.AppendUint32(nil, n)),
			w.Put(ledger, key, body), w.Put(copies, key, body))
	})
	return n, err
}

func TestKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	random := rand.New(rand.NewPCG(7, 7))
	acknowledged := make(map[uint32]uint32)
	for round := range killRounds {
		runChild(t, dir, 20+random.IntN(300), acknowledged)
		checkFile(t, dir)
		e := open(t, dir)
		for writer := range uint32(writers) {
			expectWhole(t, e, writer, acknowledged[writer])
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if t.Failed() {
			t.Fatalf("after round %d", round)
		}
	}
}

// runChild kills a child after so many acknowledgements and notes all that it
// still managed to send.
func runChild(t *testing.T, dir string, after int, acknowledged map[uint32]uint32) {
	t.Helper()
	child, lines := startChild(t, dir)
	for n := 0; lines.Scan(); n++ {
		if n == after {
			if err := child.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
		var writer, number uint32
		if _, err := fmt.Sscan(lines.Text(), &writer, &number); err != nil {
			t.Fatalf("child said %q: %v", lines.Text(), err)
		}
		acknowledged[writer] = max(acknowledged[writer], number)
	}
	if err := child.Wait(); child.ProcessState.Exited() {
		t.Fatalf("the child ended by itself: %v", err)
	}
}

// startChild returns once the child holds the folder.
func startChild(t *testing.T, dir string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childFolder+"="+dir)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = child.Process.Kill() })
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "open" {
		t.Fatalf("child said %q", lines.Text())
	}
	return child, lines
}

// expectWhole: the writer's head is at or past what was acknowledged, and both
// tables hold exactly the rows up to it.
func expectWhole(t *testing.T, e *boltstore.Engine, writer, acknowledged uint32) {
	t.Helper()
	from := binary.BigEndian.AppendUint32(nil, writer)
	to := binary.BigEndian.AppendUint32(nil, writer+1)
	err := e.View(context.Background(), "", func(r store.Reader) error {
		head, err := r.Get(heads, from)
		if err != nil {
			return err
		}
		var last uint32
		if head != nil {
			last = binary.BigEndian.Uint32(head)
		}
		if last < acknowledged {
			t.Errorf("writer %d: %d acknowledged, %d found", writer, acknowledged, last)
		}
		for _, table := range []store.Table{ledger, copies} {
			var n uint32
			err = errors.Join(err, r.Scan(table, from, to, func(key, value []byte) bool {
				n++
				if at := binary.BigEndian.Uint32(key[4:]); at != n || len(value) != 1+int(n*n%3000) {
					t.Errorf("writer %d, %s: row %d with %d bytes where %d belongs", writer, table, at, len(value), n)
				}
				return true
			}))
			if n != last {
				t.Errorf("writer %d, %s: %d rows under head %d", writer, table, n, last)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
