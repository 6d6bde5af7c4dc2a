package scenario_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	beckon "github.com/beckon-dev/beckon/clients/go"
	"github.com/beckon-dev/beckon/e2e/stack"
	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

// howTo are the blocks of commands of README's section on backups, in order:
// how to back up, and how to restore.
func (h *house) howTo() (backup, restore string) {
	h.t.Helper()
	root, err := stack.Root()
	h.check(err)
	page, err := os.ReadFile(filepath.Join(root, "README.md"))
	h.check(err)
	_, section, _ := strings.Cut(string(page), "\n## Back up and restore\n")
	section, _, _ = strings.Cut(section, "\n## ")
	blocks := regexp.MustCompile("(?s)```\n(.*?)```").FindAllStringSubmatch(section, -1)
	if len(blocks) != 2 {
		h.t.Fatalf("README has %d blocks of commands about backups", len(blocks))
	}
	return blocks[0][1], blocks[1][1]
}

// operator runs commands to their end.
func (h *house) operator(line string, env ...string) string {
	h.t.Helper()
	p := h.server.Operator(line, env...)
	if code := p.Wait(); code != 0 {
		h.t.Fatalf("%q ended with %d:\n%s", line, code, p.Output())
	}
	return p.Output()
}

// join pairs one more terminal.
func (h *house) join(label string) *beckon.Person {
	h.t.Helper()
	offer, err := h.owner.OfferPairing(h.ctx())
	h.check(err)
	joining, err := beckon.Redeem(h.ctx(), filepath.Join(h.t.TempDir(), "p.json"), beckon.Invitation{Code: offer.Code}, beckon.Device{Label: label}, beckon.Options{Server: h.server.URL})
	h.check(err)
	h.check1(offer.Redeemed(h.ctx()))
	h.check1(offer.Confirm(h.ctx(), joining.Digits()))
	p, err := joining.Wait(h.ctx())
	h.check(err)
	h.t.Cleanup(p.Close)
	return p
}

// reader is a device that keeps a cursor, and tells what became of it.
type reader struct {
	h  *house
	as *beckon.Person
	at *v1.At
	// inbox is the same device as people see it.
	inbox *beckon.Inbox
}

func (h *house) reader(as *beckon.Person) *reader {
	h.t.Helper()
	r := &reader{h: h, as: as, inbox: as.Inbox()}
	h.check(r.inbox.Sync(h.ctx(), 0))
	r.at = r.bootstrap()
	return r
}

func account() *v1.Scope { return &v1.Scope{Scope: &v1.Scope_Account{Account: true}} }

func (r *reader) bootstrap() *v1.At {
	r.h.t.Helper()
	at := &v1.At{Scope: account()}
	for page := []byte(nil); ; {
		res, err := r.as.API.Sync.Bootstrap(r.h.ctx(), &v1.BootstrapRequest{Scope: account(), Page: page})
		r.h.check(err)
		if page == nil {
			at.Cursor = res.GetCursor()
		}
		if at.Horizon = res.GetAsOf(); res.GetComplete() {
			return at
		}
		page = res.GetPage()
	}
}

// pull reads on; it returns the reason of a reset, after which it has read anew.
func (r *reader) pull() v1.ResetReason {
	r.h.t.Helper()
	for {
		res, err := r.as.API.Sync.Pull(r.h.ctx(), &v1.PullRequest{At: []*v1.At{r.at}})
		r.h.check(err)
		d := res.GetDeltas()[0]
		if reset := d.GetReset_(); reset != nil {
			r.at = r.bootstrap()
			return reset.GetReason()
		}
		if r.at.Cursor, r.at.Horizon = d.GetChanges().GetNext(), d.GetChanges().GetAsOf(); !d.GetChanges().GetMore() {
			return 0
		}
	}
}

// seen is what a device shows.
func (r *reader) seen() (out []string) {
	r.h.t.Helper()
	r.h.check(r.inbox.Sync(r.h.ctx(), 0))
	for _, s := range r.inbox.Tasks() {
		out = append(out, s.GetTitle()+" "+s.GetPhase().String()+" "+s.GetHold().String())
	}
	for _, d := range r.inbox.Decisions() {
		out = append(out, d.GetTitle()+" "+d.GetState().String())
	}
	return out
}

// restored is the one open question after a restore.
func (h *house) restored() *v1.Decision {
	h.t.Helper()
	inbox := h.owner.Inbox()
	h.check(inbox.Sync(h.ctx(), 0))
	var id string
	for _, d := range inbox.Decisions() {
		if d.GetKind() == v1.DecisionKind_DECISION_KIND_RESTORED && d.GetState() == v1.DecisionState_DECISION_STATE_PENDING {
			if id != "" {
				h.t.Fatal("more than one question after the restore")
			}
			id = d.GetId()
		}
	}
	got, err := h.owner.Decisions.GetDecision(h.ctx(), &v1.GetDecisionRequest{DecisionId: id})
	h.check(err)
	return got.GetDecision()
}

func (h *house) answer(d *v1.Decision, exit string) {
	h.t.Helper()
	items, err := beckon.Choose(d, exit, "")
	h.check(err)
	res, err := h.owner.Answer(h.ctx(), d, beckon.Answer{Items: items, Surface: v1.Surface_SURFACE_TERMINAL, Interactive: true})
	h.check(err)
	if res.GetOutcome() != v1.AnswerOutcome_ANSWER_OUTCOME_APPLIED {
		h.t.Fatalf("%s met %s", exit, res.GetOutcome())
	}
}

// The drill, with the commands of README as they are written there: backup,
// write, three devices read, restore, write. All agree in the end; only the
// devices past the fork were reset, once; nothing reached the outside twice; no
// alert of before rang again; and what was revoked stayed revoked.
func TestRestore_R25_R28_Drill(t *testing.T) {
	t.Parallel()
	const many = "BECKON_LIMITS=bench" // five devices behind one address join and renew within seconds
	h := newHouse(t, many)
	backup, restore := h.howTo()
	tablet, watch, thief := h.join("tablet"), h.join("watch"), h.join("thief")
	made := h.ready(5)
	open := h.askAndSleep(h.started("Asked before"))
	h.exactly(1)
	stays, reads := h.reader(h.owner), h.reader(tablet)
	h.operator(backup)

	// What will be lost: an effect that is approved and done, without a word of
	// it, and a device that is thrown out.
	counter := filepath.Join(t.TempDir(), "counter")
	h.lostEffect(counter)
	h.check1(h.owner.API.Installations.RevokeInstallation(h.ctx(), &v1.RevokeInstallationRequest{InstallationId: thief.InstallationID()}))
	joins := h.reader(watch)
	if got := reads.pull(); got != 0 {
		t.Fatalf("before the restore: %s", got)
	}
	reads.seen()
	h.check(tablet.Refresh(h.ctx())) // its token is now younger than the backup
	rang := rings(h.phones.Log())

	h.server.Stop()
	h.operator(restore)
	h.server.Start(many)
	log := h.phones.Await("the call after the restore", func(log []stack.Entry) bool { return len(rings(log)) > len(rang) })
	for key, n := range rang {
		if rings(log)[key] != n {
			t.Errorf("%s rang again", key)
		}
	}
	for name, c := range map[string]struct {
		r    *reader
		want v1.ResetReason
	}{
		"the device that saw nothing of it": {stays, 0},
		"the device that read it":           {reads, v1.ResetReason_RESET_REASON_EPOCH},
		"the device that began in it":       {joins, v1.ResetReason_RESET_REASON_EPOCH},
	} {
		if got := c.r.pull(); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if got := c.r.pull(); got != 0 {
			t.Errorf("%s is reset again: %s", name, got)
		}
	}
	if _, err := thief.API.Account.GetAccount(h.ctx(), &v1.GetAccountRequest{}); err == nil {
		t.Error("a device that was thrown out since the backup is back")
	}
	h.ran(counter, 1)
	h.answer(h.restored(), "go_on")
	h.notAgain(made.GetId(), counter)

	got, err := h.owner.Decisions.GetDecision(h.ctx(), &v1.GetDecisionRequest{DecisionId: open.GetId()})
	h.check(err)
	if got.GetDecision().GetState() != v1.DecisionState_DECISION_STATE_PENDING {
		t.Errorf("the question of before is %s", got.GetDecision().GetState())
	}
	h.check1(h.agent.Tasks.CreateTask(h.ctx(), &v1.CreateTaskRequest{IdempotencyKey: "after", Title: "After"}))
	want := h.reader(h.owner).seen()
	for _, r := range []*reader{stays, reads, joins} {
		if diff := cmp.Diff(want, r.seen()); diff != "" {
			t.Errorf("a device differs from a fresh one (-fresh +device):\n%s", diff)
		}
	}
}

// lostEffect is one that the outside has, and of which the backup knows nothing.
func (h *house) lostEffect(counter string) {
	h.t.Helper()
	alerts := len(rings(h.phones.Log()))
	w := h.worker(job{Send: true, DieAt: "after", Counter: counter, Lease: 30 * time.Second})
	w.Expect("asked")
	h.phones.Await("the question", func(log []stack.Entry) bool { return len(rings(log)) > alerts })
	if tapped := h.phones.Tap("approve"); !tapped.Counted {
		h.t.Fatalf("the tap met %+v", tapped)
	}
	if code := w.Wait(); code != -1 {
		h.t.Fatalf("the worker ended with %d: %s", code, w.Output())
	}
	h.ran(counter, 1)
}

// notAgain lets a worker take the task up again: it is approved, and then nobody
// knows; the person says that it happened, and it is not done.
func (h *house) notAgain(id, counter string) {
	h.t.Helper()
	alerts := len(rings(h.phones.Log()))
	w := h.worker(job{Send: true, Counter: counter, Lease: 30 * time.Second})
	w.Expect("asked")
	h.phones.Await("the question anew", func(log []stack.Entry) bool { return len(rings(log)) > alerts })
	if tapped := h.phones.Tap("approve"); !tapped.Counted {
		h.t.Fatalf("the tap met %+v", tapped)
	}
	_ = w.Wait()
	e := h.effectOf(id)
	if e.GetState() != v1.EffectState_EFFECT_STATE_UNCERTAIN {
		h.t.Fatalf("begun after the restore it is %s:\n%s", e.GetState(), w.Output())
	}
	h.ran(counter, 1)
	card, err := h.owner.Decisions.GetDecision(h.ctx(), &v1.GetDecisionRequest{DecisionId: e.GetResolveDecisionId()})
	h.check(err)
	h.answer(card.GetDecision(), "happened")
	h.ran(counter, 1)
}

// Killed in the midst of a backup, the server has lost nothing, the next backup
// is whole, and nothing half is left.
func TestBackup_Killed(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	backup, _ := h.howTo()
	for _, point := range []string{"backup.artifacts", "backup.database", "backup.built"} {
		h.dieAt(point)
		p := h.server.Operator(backup)
		if code := h.server.Process.Wait(); code != -1 {
			t.Fatalf("%s: the server ended with %d", point, code)
		}
		if code := p.Wait(); code != 1 {
			t.Errorf("%s: the command ended with %d: %s", point, code, p.Output())
		}
		h.server.Restart()
	}
	h.operator(backup)
	entries, err := os.ReadDir(filepath.Join(filepath.Dir(h.server.Data), "backups"))
	h.check(err)
	var whole []string
	for _, e := range entries {
		if e.IsDir() {
			whole = append(whole, e.Name())
		}
	}
	if len(whole) != 1 || !strings.HasPrefix(whole[0], "beckon-") {
		t.Errorf("there is %v", whole)
	}
	h.server.Stop()
	h.operator(backup) // also where no server runs
	if strings.Contains(h.server.Process.Output(), "unnoticed_restore") {
		t.Error("a kill was taken for a restore")
	}
}

// Killed anywhere in a restore, no server starts on what is there, and the same
// command again ends it.
func TestRestore_Killed(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"restore.marked", "restore.copied", "restore.begun", "restore.placed"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			backup, restore := h.howTo()
			h.ready(5)
			h.operator(backup)
			h.check1(h.agent.Tasks.CreateTask(h.ctx(), &v1.CreateTaskRequest{IdempotencyKey: "lost", Title: "Lost"}))
			h.server.Stop()
			mark := filepath.Join(t.TempDir(), "mark")
			lines := strings.SplitN(strings.TrimSpace(restore), "\n", 2)
			h.operator(lines[0])
			p := h.server.Operator(lines[1], "BECKON_FAILPOINT="+point, "BECKON_FAILPOINT_MARK="+mark)
			if code := p.Wait(); code == 0 {
				t.Fatalf("it ended with %d", code)
			}
			if _, err := os.Stat(mark); err != nil {
				t.Fatal("it was never there:", err)
			}
			refused := h.server.Run()
			if code := refused.Wait(); code != 1 || !strings.Contains(refused.Output(), "run beckond restore again") {
				t.Fatalf("a server on half a restore ended with %d: %s", code, refused.Output())
			}
			h.operator(lines[1])
			h.server.Start()
			h.restored()
			if strings.Contains(h.server.Process.Output(), "unnoticed_restore") {
				t.Error("the restore that was told is taken for one that was not")
			}
		})
	}
}

// A folder that was taken back by other means, and nobody said so: the start
// says so, the tasks are held, and devices past the fork read anew.
func TestRestore_Unnoticed(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.ready(5)
	stays := h.reader(h.owner)
	h.server.Stop()
	h.operator("cp -a data snapshot")
	h.server.Start()
	h.check1(h.agent.Tasks.CreateTask(h.ctx(), &v1.CreateTaskRequest{IdempotencyKey: "lost", Title: "Lost"}))
	reads := h.reader(h.owner)
	h.server.Process.Kill() // not in order: what was said is witnessed all the same
	h.operator("rm -r data && mv snapshot data")
	h.server.Start()
	h.server.Process.Expect("unnoticed_restore")
	h.restored()
	if got := stays.pull(); got != 0 {
		t.Errorf("the device that saw nothing of it: %s", got)
	}
	if got := reads.pull(); got != v1.ResetReason_RESET_REASON_EPOCH {
		t.Errorf("the device that read it: %s", got)
	}
	h.server.Stop()
	h.server.Start()
	if strings.Contains(h.server.Process.Output(), "unnoticed_restore") {
		t.Error("the next start says so again")
	}
}
