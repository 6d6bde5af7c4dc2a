package sim

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/proof"
)

// editsSchema is what arguments have to satisfy that a person puts in place of
// the agent's, formSchema what a filled-in form has to.
const (
	editsSchema = `{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"size":{"type":"integer","maximum":100}},"additionalProperties":false}`
	formSchema  = `{"type":"object","required":["city"],"properties":{"city":{"type":"string","minLength":2},"nights":{"type":"integer"}}}`
)

// writing is what a person put on a card besides their choice: arguments in
// place of the agent's, or a filled-in form.
type writing struct {
	// sent is what they wrote, byte for byte; empty where they wrote nothing.
	sent string
	// means is its canonical form, in which all spellings of it are equal.
	means string
	// at is the place in it that its schema does not take; breaks says that there
	// is one.
	at     string
	breaks bool
	// unreadable: nobody can tell what it means.
	unreadable bool
}

// edits are arguments that people put in place of the agent's.
func edits() []writing {
	return []writing{
		{sent: `{"name":"x","size":3}`, means: `{"name":"x","size":3}`},
		{sent: "{ \"size\" : 3.0, \"name\":\"x\" }", means: `{"name":"x","size":3}`},
		{sent: `{"name":"y"}`, means: `{"name":"y"}`},
		{sent: `{"name":"x","size":101}`, means: `{"name":"x","size":101}`, breaks: true, at: "/size"},
		{sent: `{"size":1}`, means: `{"size":1}`, breaks: true},
		{sent: `{"name":"x","name":"y"}`, unreadable: true},
		{sent: `{"name":"x","size":9007199254740993}`, unreadable: true},
		{sent: `[]`, unreadable: true},
		{},
	}
}

// forms are forms as people fill them in.
func forms() []writing {
	return []writing{
		{sent: `{"city":"Oslo"}`, means: `{"city":"Oslo"}`},
		{sent: `{"nights":2,"city":"Oslo"}`, means: `{"city":"Oslo","nights":2}`},
		{sent: `{"city":"O\u0073lo","nights":2e0}`, means: `{"city":"Oslo","nights":2}`},
		{sent: `{"city":"x"}`, means: `{"city":"x"}`, breaks: true, at: "/city"},
		{sent: `{"city":"Oslo","nights":"two"}`, means: `{"city":"Oslo","nights":"two"}`, breaks: true, at: "/nights"},
		{sent: `{"city":"Oslo","city":"Rome"}`, unreadable: true},
		{sent: `"Oslo"`, unreadable: true},
		{},
	}
}

// write fills in what a chosen option asks for, and at times what it does not;
// half of what is written fits, and to a card that has been answered it is as
// often the same in some spelling.
func (w *world) write(r *reply) {
	q := r.d.q
	if !q.written() || !q.asksFor(r.options[0]) && !w.chance(20) {
		return
	}
	all := forms()
	if q.editable {
		all = edits()
	}
	r.written = pick(w, all)
	if w.chance(2) {
		r.written = pick(w, all[:fitting])
	}
	if r.d.meant == "" || !w.chance(2) {
		return
	}
	for _, one := range all[:fitting] {
		again := *r
		if again.written = one; again.body() == r.d.meant {
			*r = again
			return
		}
	}
}

// fitting is how many of each list fit, which come first.
const fitting = 3

// written reports whether there is something to write on a card besides words.
func (q question) written() bool { return q.editable || q.kind == decision.Form }

// someWritten picks a card to write on, mostly one that waits for it.
func (w *world) someWritten() *mDecision {
	var all []*mDecision
	for _, d := range w.model.decisions {
		if d.q.written() && (d.status == decision.Pending || d.meant != "") {
			all = append(all, d)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return rare(w, all, func(d *mDecision) string { return d.status.String() })
}

// asksFor reports whether an option is nothing without something written.
func (q question) asksFor(option string) bool {
	return option == "edit" || q.kind == decision.Form && option == q.yes()
}

// field is where on the card something is written.
func (q question) field() string {
	if q.editable {
		return "items[0].edited_args_json"
	}
	return "items[0].content_json"
}

// misplaced: what is written is missing, or belongs to another choice.
func (r reply) misplaced() bool { return r.d.q.asksFor(r.options[0]) != (r.written.sent != "") }

// put writes it on the wire, with the digest that the proof is over.
func (r reply) put(w *world, to *decision.AnswerItem) {
	switch {
	case r.written.sent == "":
	case r.d.q.editable:
		to.EditedArgs = []byte(r.written.sent)
		if !r.written.unreadable {
			digest, err := proof.ActionDigest("desk", "", r.d.q.acts[0], to.EditedArgs, nil)
			w.must(err)
			to.Edited = decision.Digest(digest)
		}
	default:
		to.Content = []byte(r.written.sent)
		if !r.written.unreadable {
			digest, err := proof.ObjectDigest(to.Content)
			w.must(err)
			to.ContentDigest = decision.Digest(digest)
		}
	}
}

// args are the arguments that an approval of item i is for: as they were
// written, and what they mean.
func (r reply) args(i int) (sent, means string) {
	if r.options[i] == "edit" {
		return r.written.sent, r.written.means
	}
	own := `{"name":"` + r.d.q.acts[i] + `"}`
	return own, own
}

// actionDigest is R12: the hash of the canonical form of one exact action.
func actionDigest(operation, args string) decision.Digest {
	return sha256.Sum256([]byte(`{"app":"desk","args":` + args + `,"connection":"","operation":"` + operation + `","target":null}`))
}

// permits says what an agent may do that reads its question again: R14 runs
// exactly these arguments.
func permits(s decision.State) string {
	var out []string
	for _, it := range s.Items {
		if act, ok := s.Permitted(it.ID); ok {
			out = append(out, fmt.Sprintf("%s %s %x", it.ID, act.ArgsJSON, act.Digest[:4]))
		}
	}
	return "[" + strings.Join(out, " ") + "]"
}

// permits is what the model holds an agent to be told.
func (d *mDecision) permits() string {
	var out []string
	for _, g := range d.grants {
		out = append(out, fmt.Sprintf("%s %s %x", g.item, g.args, g.digest[:4]))
	}
	return "[" + strings.Join(out, " ") + "]"
}
