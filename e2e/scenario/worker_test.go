package scenario_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	beckon "github.com/beckon-dev/beckon/clients/go"
	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

// workerEnv makes the test binary an agent's process of its own, one that can
// be killed: it holds the job as JSON.
const workerEnv = "BECKON_SCENARIO_WORKER"

// job is what a worker process does: claim a task, do step one unless the
// checkpoint says that it was done, ask, wait for the answer under its lease,
// and complete.
type job struct {
	Key beckon.KeyFile
	// Counter is a file that counts how often step one ran.
	Counter string
	// Lease is its length; Die ends the process right after the claim.
	Lease time.Duration
	Die   bool
	// Send makes it a worker that sends something once it is approved, which
	// Counter counts; DieAt is where it is killed: "before" it asks for GO, or
	// "after" the outside has it and nobody was told.
	Send  bool
	DieAt string
}

func workerMain() int {
	if err := work(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func work() error {
	var j job
	if err := json.Unmarshal([]byte(os.Getenv(workerEnv)), &j); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	agent, err := beckon.NewAgent(j.Key, beckon.Options{})
	if err != nil {
		return err
	}
	defer agent.Close()
	w, err := agent.Claim(ctx, &v1.ClaimTaskRequest{Claim: &v1.ClaimOptions{LeaseDuration: durationpb.New(j.Lease)}})
	if err != nil {
		return err
	}
	fmt.Println("claimed")
	if j.Die {
		return nil
	}
	if j.Send {
		return send(ctx, w, j)
	}
	if w.Checkpoint == nil {
		if err := count(j.Counter); err != nil {
			return err
		}
		if _, err := w.Save(ctx, &v1.CheckpointWrite{Data: []byte("step one done"), NextStep: "ask"}); err != nil {
			return err
		}
	}
	d, err := w.Ask(ctx, writeReport("write"))
	if err != nil {
		return err
	}
	fmt.Println("asked")
	if d, err = w.Wait(ctx, d.GetId()); err != nil {
		return err
	}
	fmt.Println("answered", d.GetState())
	var acks []uint64
	for _, s := range w.Signals {
		acks = append(acks, s.GetId())
	}
	_, err = w.Complete(ctx, &v1.TaskResult{Summary: "Done."}, acks...)
	fmt.Println("completed")
	return err
}

// count adds one to the number in a file.
func count(path string) error {
	n, err := counted(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(strconv.Itoa(n+1)), 0o600)
}

func counted(path string) (int, error) {
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(text))
}
