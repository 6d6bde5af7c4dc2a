package proof_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/sync/proof"
)

var update = flag.Bool("update", false, "rewrite testdata/vectors.json")

// vectors is testdata/vectors.json: inputs and what must come out, for clients
// in other languages. Documents are strings, because a reader that parsed them
// as JSON would have lost what they are about.
type vectors struct {
	Comment   string            `json:"comment"`
	Canonical []canonicalVector `json:"canonical"`
	Action    []actionVector    `json:"action_digest"`
	Asked     []askedVector     `json:"asked_digest"`
	View      []viewVector      `json:"view_digest"`
	Answer    []answerVector    `json:"answer_digest"`
	Proof     []proofVector     `json:"answer_proof"`
	Refresh   []refreshVector   `json:"refresh_proof"`
	Pair      []pairVector      `json:"pair_mac"`
}

type canonicalVector struct {
	In     string       `json:"in"`
	Out    string       `json:"out,omitempty"`
	Refuse proof.Reason `json:"refuse,omitempty"`
}

type actionVector struct {
	App        string       `json:"app"`
	Connection string       `json:"connection"`
	Operation  string       `json:"operation"`
	Args       string       `json:"args"`
	Target     string       `json:"target"`
	Digest     proof.Digest `json:"digest"`
}

type askedVector struct {
	Kind  string `json:"kind"`
	Items []struct {
		ItemID         string         `json:"item_id"`
		ActionDigest   proof.Digest   `json:"action_digest"`
		Question       string         `json:"question"`
		Options        []proof.Option `json:"options"`
		ResponseSchema string         `json:"response_schema"`
	} `json:"items"`
	Digest proof.Digest `json:"digest"`
}

type viewVector struct {
	Decision string         `json:"decision"`
	Revision uint64         `json:"revision"`
	Evidence []proof.Digest `json:"evidence"`
	Digest   proof.Digest   `json:"digest"`
}

type answerVector struct {
	Items []struct {
		ItemID     string       `json:"item_id"`
		OptionIDs  []string     `json:"option_ids"`
		Text       string       `json:"text"`
		EditedArgs proof.Digest `json:"edited_args"`
		Content    proof.Digest `json:"content"`
		Scope      string       `json:"scope"`
	} `json:"items"`
	Digest proof.Digest `json:"digest"`
}

type keyVector struct {
	Private   string `json:"private"`
	Public    string `json:"public"`
	Encoding  string `json:"encoding"`
	Signature string `json:"signature"`
}

type proofVector struct {
	ServerID     string       `json:"server_id"`
	Account      string       `json:"account"`
	Installation string       `json:"installation"`
	Decision     string       `json:"decision"`
	Revision     uint64       `json:"revision"`
	Asked        proof.Digest `json:"asked"`
	View         proof.Digest `json:"view"`
	Answer       proof.Digest `json:"answer"`
	AnswerKey    string       `json:"answer_key"`
	keyVector
}

type refreshVector struct {
	ServerID     string       `json:"server_id"`
	Account      string       `json:"account"`
	Installation string       `json:"installation"`
	TokenHash    proof.Digest `json:"token_hash"`
	Attempt      string       `json:"attempt"`
	keyVector
}

type pairVector struct {
	ServerID  string `json:"server_id"`
	Offer     string `json:"offer"`
	PublicKey string `json:"public_key"`
	Platform  string `json:"platform"`
	Label     string `json:"label"`
	Secret    string `json:"secret"`
	Encoding  string `json:"encoding"`
	MAC       string `json:"mac"`
}

// TestVectors computes every output again. Signatures are deterministic here,
// but another implementation may sign otherwise: it checks that the recorded
// one verifies, and that its own verifies over the recorded encoding.
func TestVectors(t *testing.T) {
	t.Parallel()
	path := filepath.Join("testdata", "vectors.json")
	raw := must(os.ReadFile(path))(t)
	var want, got vectors
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	if len(want.Canonical) == 0 || len(want.Action) == 0 || len(want.Asked) == 0 || len(want.View) == 0 ||
		len(want.Answer) == 0 || len(want.Proof) == 0 || len(want.Refresh) == 0 || len(want.Pair) == 0 {
		t.Fatal("a group of vectors is empty")
	}
	got.compute(t)
	if *update {
		out := must(json.MarshalIndent(got, "", "  "))(t)
		if err := os.WriteFile(path, append(out, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(proofVector{}, refreshVector{})); diff != "" {
		t.Error(diff)
	}
}

func (v *vectors) compute(t *testing.T) {
	for i := range v.Canonical {
		c := &v.Canonical[i]
		out, err := proof.Canonical([]byte(c.In))
		c.Out, c.Refuse = string(out), proof.ReasonOf(err)
	}
	for i := range v.Action {
		a := &v.Action[i]
		a.Digest = must(proof.ActionDigest(a.App, a.Connection, a.Operation, []byte(a.Args), []byte(a.Target)))(t)
	}
	for i := range v.Asked {
		a := &v.Asked[i]
		var items []proof.AskedItem
		for _, item := range a.Items {
			items = append(items, proof.AskedItem{
				ItemID: item.ItemID, Action: item.ActionDigest, Question: item.Question,
				Options: item.Options, ResponseSchema: []byte(item.ResponseSchema),
			})
		}
		a.Digest = must(proof.AskedDigest(a.Kind, items))(t)
	}
	for i := range v.View {
		w := &v.View[i]
		w.Digest = must(proof.ViewDigest(w.Decision, w.Revision, w.Evidence))(t)
	}
	for i := range v.Answer {
		a := &v.Answer[i]
		var items []proof.AnswerItem
		for _, item := range a.Items {
			items = append(items, proof.AnswerItem(item))
		}
		a.Digest = must(proof.AnswerDigest(items))(t)
	}
	v.computeProofs(t)
}

func (v *vectors) computeProofs(t *testing.T) {
	for i := range v.Proof {
		p := &v.Proof[i]
		tuple := proof.AnswerTuple{
			ServerID: p.ServerID, Account: p.Account, Installation: p.Installation, Decision: p.Decision,
			Revision: p.Revision, Asked: p.Asked, View: p.View, Answer: p.Answer, AnswerKey: p.AnswerKey,
		}
		key := p.key(t)
		p.Encoding = hex.EncodeToString(must(tuple.Encode())(t))
		p.Signature = hex.EncodeToString(must(proof.SignAnswer(key, tuple))(t))
	}
	for i := range v.Refresh {
		r := &v.Refresh[i]
		tuple := proof.RefreshTuple{
			ServerID: r.ServerID, Account: r.Account, Installation: r.Installation,
			TokenHash: r.TokenHash, Attempt: r.Attempt,
		}
		key := r.key(t)
		r.Encoding = hex.EncodeToString(must(tuple.Encode())(t))
		r.Signature = hex.EncodeToString(must(proof.SignRefresh(key, tuple))(t))
	}
	for i := range v.Pair {
		p := &v.Pair[i]
		tuple := proof.PairTuple{
			ServerID: p.ServerID, Offer: p.Offer, PublicKey: must(hex.DecodeString(p.PublicKey))(t),
			Platform: p.Platform, Label: p.Label,
		}
		p.Encoding = hex.EncodeToString(must(tuple.Encode())(t))
		p.MAC = hex.EncodeToString(must(proof.PairMAC(must(hex.DecodeString(p.Secret))(t), tuple))(t))
	}
}

func (k *keyVector) key(t *testing.T) *ecdsa.PrivateKey {
	key := must(ecdsa.ParseRawPrivateKey(elliptic.P256(), must(hex.DecodeString(k.Private))(t)))(t)
	k.Public = hex.EncodeToString(must(proof.MarshalPublicKey(&key.PublicKey))(t))
	return key
}

// The same inputs, hashed and framed here without the package, so that the file
// cannot follow a mistake in it.
func TestVectorsByHand(t *testing.T) {
	t.Parallel()
	field := func(text string) string {
		return string([]byte{0, 0, 0, byte(len(text))}) + text
	}
	number := func(n byte) string { return field("\x00\x00\x00\x00\x00\x00\x00" + string([]byte{n})) }
	a, b := proof.Sum([]byte("a")), proof.Sum([]byte("b"))
	low, high := a, b
	if string(a[:]) > string(b[:]) {
		low, high = b, a
	}
	view := field("beckon/view/1") + field("dec") + number(7) + number(2) + field(string(low[:])) + field(string(high[:]))
	if got := must(proof.ViewDigest("dec", 7, []proof.Digest{a, b}))(t); got != proof.Sum([]byte(view)) {
		t.Error("view digest differs from its description")
	}
	none := field(strings.Repeat("\x00", 32))
	answer := field("beckon/answer-items/1") + number(2) +
		field("i1") + number(2) + field("no") + field("yes") + field("why") + none + none + field("") +
		field("i2") + number(0) + field("") + field(string(a[:])) + field(string(b[:])) + field("session")
	got := must(proof.AnswerDigest([]proof.AnswerItem{
		{ItemID: "i2", EditedArgs: a, Content: b, Scope: "session"},
		{ItemID: "i1", OptionIDs: []string{"yes", "no"}, Text: "why"},
	}))(t)
	if got != proof.Sum([]byte(answer)) {
		t.Error("answer digest differs from its description")
	}
	pair := field("beckon/pair/1") + field("srv") + field("off")
	key := must(proof.MarshalPublicKey(&newKey(t).PublicKey))(t)
	pair += field(string(key)) + field("ios") + field("")
	tuple := proof.PairTuple{ServerID: "srv", Offer: "off", PublicKey: key, Platform: "ios"}
	if diff := cmp.Diff(pair, string(must(tuple.Encode())(t))); diff != "" {
		t.Error(diff)
	}
}
