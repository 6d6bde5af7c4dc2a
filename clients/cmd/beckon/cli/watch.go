package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"connectrpc.com/connect/v2"

	"github.com/beckon-dev/beckon/clients/cmd/beckon/capture"
	"github.com/beckon-dev/beckon/clients/cmd/beckon/screen"
	beckon "github.com/beckon-dev/beckon/clients/go"
	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

// shipEvery is how often new output is sent.
const shipEvery = 250 * time.Millisecond

// watch follows the command to its end: it ships output, renews the token,
// passes signals on and carries out a stop.
func (r *running) watch(keep *beckon.KeepAlive) outcome {
	ctx, cancel := context.WithCancel(r.ctx)
	shipped := make(chan struct{})
	go func() {
		defer close(shipped)
		r.shipping(ctx)
	}()
	defer func() {
		cancel()
		<-shipped
	}()
	beats := keep.Done()
	var kill <-chan time.Time
	for {
		select {
		case <-r.process.done:
			if r.stopped != nil {
				r.process.group(syscall.SIGKILL) // what it started is stopped too
			}
			if r.process.leftBehind() {
				r.notef("something the command started is still running; its output is not followed")
			}
			return r.process.outcome()
		case got := <-r.signals:
			if got == syscall.SIGINT || got == syscall.SIGTERM {
				r.interrupted = time.Now()
			}
			if number, ok := got.(syscall.Signal); ok {
				r.process.group(number)
			}
		case news := <-keep.News():
			if kill == nil && news.Hold.GetKind() == v1.HoldKind_HOLD_KIND_STOP {
				kill = r.stop(news.Hold)
			}
		case <-beats:
			beats = nil
			if r.gaveUp(ctx, keep.Err()) && kill == nil {
				kill = r.stop(&v1.Hold{Reason: "the person took the task or the agent away"})
			}
		case <-kill:
			r.notef("it did not end within %v, so it is killed", r.command.KillAfter)
			r.process.group(syscall.SIGKILL)
			kill = make(chan time.Time) // once is enough
		}
	}
}

// stop asks the command to end and says when to insist.
func (r *running) stop(hold *v1.Hold) <-chan time.Time {
	r.stopped = hold
	if reason := hold.GetReason(); reason != "" {
		r.notef("stopped: %s", oneLine(reason))
	} else {
		r.notef("stopped by the person")
	}
	r.process.group(syscall.SIGTERM)
	return time.After(r.command.KillAfter)
}

// gaveUp hears that the server does not count on us any more, and reports
// whether that is the person's will. A lease that was merely lost is no reason
// to end what the command is doing.
func (r *running) gaveUp(ctx context.Context, err error) bool {
	if err == nil {
		return false
	}
	r.lost = err
	res, look := r.agent.Tasks.GetTask(ctx, &v1.GetTaskRequest{TaskId: r.work.ID()})
	if beckon.ReasonOf(err) == beckon.ReasonRevoked || beckon.ReasonOf(look) == beckon.ReasonRevoked ||
		res.GetTask().GetPhase() == v1.TaskPhase_TASK_PHASE_CANCELED {
		return true
	}
	r.notef("the server has given this task up (%v); the command goes on, but its end will not be recorded", err)
	return false
}

// shipper sends output. It is used by one goroutine at a time.
type shipper struct {
	work    *beckon.Work
	sent    int
	waiting []*v1.ItemDraft
	renewAt time.Time
	// refused is why the server takes no more output of this task.
	refused error
}

// shipping sends what comes until ctx ends. An outage only delays it: what
// waits is bounded by the log.
func (r *running) shipping(ctx context.Context) {
	tick := time.NewTicker(shipEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		r.ship.add(r.log.Take())
		r.ship.send(ctx)
		if time.Now().After(r.ship.renewAt) {
			r.renew(ctx)
		}
	}
}

func (r *running) renew(ctx context.Context) {
	again, err := r.agent.WriteTask(ctx, r.work, r.taskFile())
	if err != nil {
		again = time.Now().Add(10 * time.Second)
	}
	r.ship.renewAt = again
}

// send sends what waits. What is left at the end of ctx waits on.
func (s *shipper) send(ctx context.Context) {
	if s.refused != nil || len(s.waiting) == 0 {
		s.waiting = nil
		return
	}
	rest, err := s.work.AppendAll(ctx, s.waiting)
	if s.waiting = rest; err != nil && ctx.Err() == nil {
		s.refused = err
	}
}

func (s *shipper) add(chunks []capture.Chunk) {
	for _, c := range chunks {
		s.sent++
		s.waiting = append(s.waiting, &v1.ItemDraft{
			ClientId: fmt.Sprintf("out-%d", s.sent),
			Role:     v1.ItemRole_ITEM_ROLE_TOOL, Kind: v1.ItemKind_ITEM_KIND_OUTPUT,
			Parts: []*v1.Part{{Part: &v1.Part_Output{Output: &v1.Output{
				Stream: v1.OutputStream(c.Stream), Data: c.Data, OmittedBytes: c.Omitted,
			}}}},
		})
	}
}

// report tells the server how it ended, for as long as --report allows. The
// exit status is the command's own whatever happens here.
func (r *running) report(keep *beckon.KeepAlive, result outcome) {
	defer keep.Close()
	if _, omitted := r.log.Counts(); omitted > 0 {
		r.notef("of its output, %s in the middle were not kept", bytesWord(omitted))
	}
	ctx, cancel := context.WithTimeout(r.ctx, r.reportLimit())
	defer cancel()
	ctx, stop := r.telling(ctx)
	defer stop()
	r.ship.add(r.log.Finish())
	if r.stopped != nil && result.code != "" {
		r.ship.say(result)
	}
	r.ship.send(ctx)
	switch {
	case r.ship.refused != nil && r.lost == nil:
		r.notef("the server did not take all of its output: %v", r.ship.refused)
	case len(r.ship.waiting) > 0:
		r.notef("the last of its output did not reach the server")
	}
	err := r.end(ctx, result)
	for n := 0; err != nil && ctx.Err() == nil && again(err); n++ {
		if !sleep(ctx, min(time.Duration(n+1)*200*time.Millisecond, 2*time.Second)) {
			break
		}
		err = r.end(ctx, result)
	}
	if err != nil && (r.stopped == nil || r.lost == nil) {
		r.notef("the server could not be told how it ended: %v", err)
	}
}

// afterInterrupt is how long the server is told of an end that somebody at the
// terminal has asked for and waits for.
const afterInterrupt = 5 * time.Second

func (r *running) reportLimit() time.Duration {
	if r.interrupted.IsZero() {
		return r.command.Report
	}
	return min(r.command.Report, afterInterrupt)
}

// telling says, when it takes longer, what is waited for; a signal ends it.
func (r *running) telling(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		long := time.NewTimer(sameSignal)
		defer long.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-long.C:
				r.notef("trying to tell the server how it ended, for up to %v; Ctrl-C ends this now", r.reportLimit())
			case <-r.signals:
				if time.Since(r.interrupted) >= sameSignal {
					cancel()
					return
				}
			}
		}
	}()
	return ctx, func() {
		cancel()
		<-done
	}
}

// again reports whether the end may still be told later.
func again(err error) bool {
	e, ok := errors.AsType[*beckon.Error](err)
	return ok && (e.Temporary() || e.Code == connect.CodeInternal || e.Code == connect.CodeResourceExhausted)
}

// end closes the task. Under a stop it is given back, which makes it CANCELED;
// a command that ended well all the same keeps its success.
func (r *running) end(ctx context.Context, result outcome) error {
	switch {
	case result.code == "":
		_, err := r.work.Complete(ctx, r.result(result))
		return err
	case r.stopped != nil:
		_, err := r.work.Release(ctx)
		return err
	default:
		status := int32(result.status)
		_, err := r.work.Fail(ctx, &v1.TaskFailure{Code: result.code, Text: r.tell(result, 2000), ExitStatus: &status})
		return err
	}
}

func (r *running) result(result outcome) *v1.TaskResult {
	status := int32(0)
	return &v1.TaskResult{
		Summary: "Done in " + time.Since(r.began).Round(time.Second/10).String(), Body: r.tell(result, 4000), ExitStatus: &status,
	}
}

// say leaves a line in the timeline, since a task that was stopped has no place
// for how its command ended.
func (s *shipper) say(result outcome) {
	s.waiting = append(s.waiting, &v1.ItemDraft{
		ClientId: "end", Role: v1.ItemRole_ITEM_ROLE_TOOL, Kind: v1.ItemKind_ITEM_KIND_MESSAGE,
		Parts: []*v1.Part{{Part: &v1.Part_Text{Text: "The command was stopped. " + result.text}}},
	})
}

// tell is the end in words, with the last lines of output, within size bytes.
func (r *running) tell(result outcome, size int) string {
	total, omitted := r.log.Counts()
	text := result.text
	switch {
	case total == 0:
		text += " It printed nothing."
	case omitted > 0:
		text += fmt.Sprintf(" It printed %s; %s in the middle were not kept.", bytesWord(total), bytesWord(omitted))
	}
	last := strings.TrimSpace(screen.Output(r.log.Last(20, size/2)))
	for last != "" && len(text)+len("\n\n")+len(last) > size {
		_, rest, found := strings.Cut(last, "\n")
		if !found {
			rest = ""
		}
		last = rest
	}
	if last != "" {
		text += "\n\n" + last
	}
	return text
}

// sleep waits and reports whether ctx is still alive.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
