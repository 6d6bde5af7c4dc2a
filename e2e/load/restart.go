package load

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Restart stops a server under its watchers and starts it again. They are told
// when to come back, and go on from where they were: a cursor that was refused
// would be a bootstrap. Each is timed from its first byte after the time it was
// told until it is level; after that a change has to reach them all.
func Restart(ctx context.Context, folder string, accounts, clients int, l Line) (r Result, err error) {
	s, err := show(ctx, folder, accounts, clients, l)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.end()) }()
	n := accounts * clients
	if err := s.again(ctx); err != nil {
		return r, err
	}
	began := time.Now()
	got, err := s.crowd.ask(wish{Returns: n})
	if err != nil {
		return r, err
	}
	all := time.Since(began)
	if len(got.Returns) != n {
		return r, fmt.Errorf("%d of %d came back", len(got.Returns), n)
	}
	var took, shook []time.Duration
	tries := 0
	for _, back := range got.Returns {
		took, shook, tries = append(took, back.Took), append(shook, back.Handshake), tries+back.Tries
	}
	if _, err := s.say(ctx, Watches{Accounts: accounts, Changes: accounts, Rate: 200}); err != nil {
		return r, err
	}
	if _, err := s.crowd.ask(wish{Sights: n}); err != nil {
		return r, err
	}
	return Result{
		What: fmt.Sprintf("%d streams over %s after a restart, from the first byte to level (%d tries beside, handshake p50 %s p99 %s, no bootstrap)",
			n, l.name(), tries, millis(Percentile(shook, 0.5)), millis(Percentile(shook, 0.99))),
		P50: Percentile(took, 0.5), P99: Percentile(took, 0.99), Rate: float64(n) / all.Seconds(), RssAnonMB: RssAnonMB(),
	}, nil
}

// again ends the server in order and starts it on the same folder and port.
func (s *shown) again(ctx context.Context) error {
	if err := s.stop(); err != nil {
		return err
	}
	rig, err := openRigWith(ctx, s.config)
	if err != nil {
		return err
	}
	s.rig = rig
	rig.run(ctx)
	return nil
}
