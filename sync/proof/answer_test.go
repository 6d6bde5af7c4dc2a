package proof_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math/big"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/beckon-dev/beckon/sync/proof"
)

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
}

func answerTuple() proof.AnswerTuple {
	return proof.AnswerTuple{
		ServerID: "srv", Account: "acc", Installation: "ins", Decision: "dec", Revision: 3,
		Asked: proof.Sum([]byte("asked")), View: proof.Sum([]byte("view")), Answer: proof.Sum([]byte("answer")),
		AnswerKey: "key",
	}
}

func TestViewDigest(t *testing.T) {
	t.Parallel()
	a, b := proof.Sum([]byte("a")), proof.Sum([]byte("b"))
	base := must(proof.ViewDigest("dec", 1, []proof.Digest{a, b}))(t)
	given := []proof.Digest{b, a, b}
	if got := must(proof.ViewDigest("dec", 1, given))(t); got != base {
		t.Error("order or repetition changes the digest")
	}
	if diff := cmp.Diff([]proof.Digest{b, a, b}, given); diff != "" {
		t.Errorf("the caller's slice was changed:\n%s", diff)
	}
	for name, other := range map[string]proof.Digest{
		"decision": must(proof.ViewDigest("dec2", 1, []proof.Digest{a, b}))(t),
		"revision": must(proof.ViewDigest("dec", 2, []proof.Digest{a, b}))(t),
		"less":     must(proof.ViewDigest("dec", 1, []proof.Digest{a}))(t),
		"nothing":  must(proof.ViewDigest("dec", 1, nil))(t),
	} {
		if other == base {
			t.Errorf("%s is not part of the digest", name)
		}
	}
	_, err := proof.ViewDigest("", 1, nil)
	checkInput(t, err, "decision", proof.ReasonMissing)
}

func TestAnswerDigest(t *testing.T) {
	t.Parallel()
	items := func() []proof.AnswerItem {
		return []proof.AnswerItem{
			{ItemID: "b", OptionIDs: []string{"y", "x"}, Text: "why", Scope: "session"},
			{ItemID: "a", EditedArgs: proof.Sum([]byte("edit")), Content: proof.Sum([]byte("form"))},
		}
	}
	base := must(proof.AnswerDigest(items()))(t)
	turned := items()
	slices.Reverse(turned)
	slices.Reverse(turned[1].OptionIDs)
	if got := must(proof.AnswerDigest(turned))(t); got != base {
		t.Error("order changes the digest")
	}
	if turned[0].ItemID != "a" || turned[1].OptionIDs[0] != "x" {
		t.Error("the caller's slices were sorted")
	}
	for name, change := range map[string]func([]proof.AnswerItem){
		"item id":     func(i []proof.AnswerItem) { i[0].ItemID = "c" },
		"option":      func(i []proof.AnswerItem) { i[0].OptionIDs[0] = "z" },
		"option gone": func(i []proof.AnswerItem) { i[0].OptionIDs = i[0].OptionIDs[:1] },
		"text":        func(i []proof.AnswerItem) { i[0].Text = "why " },
		"text moved":  func(i []proof.AnswerItem) { i[0].OptionIDs, i[0].Text = []string{"why", "x", "y"}, "" },
		"edited":      func(i []proof.AnswerItem) { i[1].EditedArgs = proof.Digest{} },
		"swapped":     func(i []proof.AnswerItem) { i[1].EditedArgs, i[1].Content = i[1].Content, i[1].EditedArgs },
		"content":     func(i []proof.AnswerItem) { i[1].Content[31] ^= 1 },
		"scope":       func(i []proof.AnswerItem) { i[0].Scope = "until" },
	} {
		changed := items()
		change(changed)
		if got := must(proof.AnswerDigest(changed))(t); got == base {
			t.Errorf("%s is not part of the digest", name)
		}
	}
	_, err := proof.AnswerDigest(nil)
	checkInput(t, err, "items", proof.ReasonMissing)
	_, err = proof.AnswerDigest([]proof.AnswerItem{{ItemID: "a"}, {ItemID: "a"}})
	checkInput(t, err, "items.item_id", proof.ReasonRepeated)
	_, err = proof.AnswerDigest([]proof.AnswerItem{{ItemID: "a", OptionIDs: []string{"x", "x"}}})
	checkInput(t, err, "items.option_ids", proof.ReasonRepeated)
	_, err = proof.AnswerDigest([]proof.AnswerItem{{ItemID: "a", Text: "\xff"}})
	checkInput(t, err, "items.text", proof.ReasonInvalidUTF8)
}

func TestAnswerProof(t *testing.T) {
	t.Parallel()
	key, tuple := newKey(t), answerTuple()
	signature := must(proof.SignAnswer(key, tuple))(t)
	if err := proof.VerifyAnswer(&key.PublicKey, tuple, signature); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*proof.AnswerTuple){
		"server":       func(a *proof.AnswerTuple) { a.ServerID = "srv2" },
		"account":      func(a *proof.AnswerTuple) { a.Account = "acc2" },
		"installation": func(a *proof.AnswerTuple) { a.Installation = "ins2" },
		"decision":     func(a *proof.AnswerTuple) { a.Decision = "dec2" },
		"revision":     func(a *proof.AnswerTuple) { a.Revision++ },
		"asked":        func(a *proof.AnswerTuple) { a.Asked[0] ^= 1 },
		"view":         func(a *proof.AnswerTuple) { a.View[0] ^= 1 },
		"answer":       func(a *proof.AnswerTuple) { a.Answer[0] ^= 1 },
		"swapped":      func(a *proof.AnswerTuple) { a.View, a.Answer = a.Answer, a.View },
		"moved byte":   func(a *proof.AnswerTuple) { a.Account, a.Installation = "acci", "ns" },
		"key":          func(a *proof.AnswerTuple) { a.AnswerKey = "key2" },
	} {
		changed := tuple
		change(&changed)
		if err := proof.VerifyAnswer(&key.PublicKey, changed, signature); !errors.Is(err, proof.ErrMismatch) {
			t.Errorf("%s: got %v, want a mismatch", name, err)
		}
	}
	if err := proof.VerifyAnswer(&newKey(t).PublicKey, tuple, signature); !errors.Is(err, proof.ErrMismatch) {
		t.Errorf("another key: %v", err)
	}
}

func TestAnswerProofNeedsEveryField(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	good := must(proof.SignAnswer(key, answerTuple()))(t)
	for field, change := range map[string]func(*proof.AnswerTuple){
		"server_id":    func(a *proof.AnswerTuple) { a.ServerID = "" },
		"account":      func(a *proof.AnswerTuple) { a.Account = "" },
		"installation": func(a *proof.AnswerTuple) { a.Installation = "" },
		"decision":     func(a *proof.AnswerTuple) { a.Decision = "" },
		"asked":        func(a *proof.AnswerTuple) { a.Asked = proof.Digest{} },
		"view":         func(a *proof.AnswerTuple) { a.View = proof.Digest{} },
		"answer":       func(a *proof.AnswerTuple) { a.Answer = proof.Digest{} },
		"answer_key":   func(a *proof.AnswerTuple) { a.AnswerKey = "" },
	} {
		changed := answerTuple()
		change(&changed)
		_, err := proof.SignAnswer(key, changed)
		checkInput(t, err, field, proof.ReasonMissing)
		checkInput(t, proof.VerifyAnswer(&key.PublicKey, changed, good), field, proof.ReasonMissing)
	}
	changed := answerTuple()
	changed.Account = "\xff"
	_, err := proof.SignAnswer(key, changed)
	checkInput(t, err, "account", proof.ReasonInvalidUTF8)
}

func TestSignatureForm(t *testing.T) {
	t.Parallel()
	key, tuple := newKey(t), answerTuple()
	good := must(proof.SignAnswer(key, tuple))(t)
	order := elliptic.P256().Params().N
	part := func(n *big.Int) []byte { return n.FillBytes(make([]byte, 32)) }
	join := func(r, s []byte) []byte { return slices.Concat(r, s) }
	zero := make([]byte, 32)
	negative := new(big.Int).Sub(order, new(big.Int).SetBytes(good[32:]))
	flipped := bytes.Clone(good)
	flipped[63] ^= 1
	for _, test := range []struct {
		name      string
		signature []byte
		want      error
	}{
		{"other s", join(good[:32], part(negative)), nil},
		{"nothing", nil, proof.ErrMalformed},
		{"short", good[:63], proof.ErrMalformed},
		{"long", append(bytes.Clone(good), 0), proof.ErrMalformed},
		{"zero", make([]byte, 64), proof.ErrMalformed},
		{"r zero", join(zero, good[32:]), proof.ErrMalformed},
		{"s zero", join(good[:32], zero), proof.ErrMalformed},
		{"r is the order", join(part(order), good[32:]), proof.ErrMalformed},
		{"s is the order", join(good[:32], part(order)), proof.ErrMalformed},
		{"all ones", bytes.Repeat([]byte{0xff}, 64), proof.ErrMalformed},
		{"flipped bit", flipped, proof.ErrMismatch},
		{"parts swapped", join(good[32:], good[:32]), proof.ErrMismatch},
	} {
		if err := proof.VerifyAnswer(&key.PublicKey, tuple, test.signature); !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, err, test.want)
		}
	}
	wide := must(ecdsa.GenerateKey(elliptic.P384(), rand.Reader))(t)
	if _, err := proof.SignAnswer(wide, tuple); !errors.Is(err, proof.ErrPrivateKey) {
		t.Errorf("P-384: %v", err)
	}
	if _, err := proof.SignAnswer(nil, tuple); !errors.Is(err, proof.ErrPrivateKey) {
		t.Errorf("no private key: %v", err)
	}
	if err := proof.VerifyAnswer(&wide.PublicKey, tuple, good); !errors.Is(err, proof.ErrPublicKey) {
		t.Errorf("P-384: %v", err)
	}
	if err := proof.VerifyAnswer(nil, tuple, good); !errors.Is(err, proof.ErrPublicKey) {
		t.Errorf("no public key: %v", err)
	}
}

func TestPublicKey(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	raw := must(proof.MarshalPublicKey(&key.PublicKey))(t)
	if got := must(proof.ParsePublicKey(raw))(t); !got.Equal(&key.PublicKey) || len(raw) != proof.PublicKeySize {
		t.Error("the key changed on the way")
	}
	off := bytes.Clone(raw)
	off[64] ^= 1
	compressed := append([]byte{2 + raw[64]&1}, raw[1:33]...)
	hybrid := bytes.Clone(raw)
	hybrid[0] = 6 + raw[64]&1
	for name, bad := range map[string][]byte{
		"nothing": nil, "infinity": {0}, "off the curve": off, "compressed": compressed, "hybrid": hybrid,
		"short": raw[:64], "long": append(bytes.Clone(raw), 0), "zeros": make([]byte, 65),
		"origin":             append([]byte{4}, make([]byte, 64)...),
		"x beyond the field": append([]byte{4}, bytes.Repeat([]byte{0xff}, 64)...),
	} {
		if _, err := proof.ParsePublicKey(bad); !errors.Is(err, proof.ErrPublicKey) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := proof.MarshalPublicKey(nil); !errors.Is(err, proof.ErrPublicKey) {
		t.Errorf("nil: %v", err)
	}
}

func TestRefreshProof(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	tuple := proof.RefreshTuple{
		ServerID: "srv", Account: "acc", Installation: "ins", TokenHash: proof.Sum([]byte("token")), Attempt: "att",
	}
	signature := must(proof.SignRefresh(key, tuple))(t)
	if err := proof.VerifyRefresh(&key.PublicKey, tuple, signature); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*proof.RefreshTuple){
		"server":       func(r *proof.RefreshTuple) { r.ServerID = "x" },
		"account":      func(r *proof.RefreshTuple) { r.Account = "x" },
		"installation": func(r *proof.RefreshTuple) { r.Installation = "x" },
		"token":        func(r *proof.RefreshTuple) { r.TokenHash[0] ^= 1 },
		"attempt":      func(r *proof.RefreshTuple) { r.Attempt = "x" },
	} {
		changed := tuple
		change(&changed)
		if err := proof.VerifyRefresh(&key.PublicKey, changed, signature); !errors.Is(err, proof.ErrMismatch) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	tuple.Attempt = ""
	_, err := proof.SignRefresh(key, tuple)
	checkInput(t, err, "attempt", proof.ReasonMissing)
	checkInput(t, proof.VerifyRefresh(&key.PublicKey, tuple, signature), "attempt", proof.ReasonMissing)
}

func TestElevateProof(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	tuple := proof.ElevateTuple{ServerID: "srv", Account: "acc", Installation: "ins", Nonce: "n"}
	signature := must(proof.SignElevate(key, tuple))(t)
	if err := proof.VerifyElevate(&key.PublicKey, tuple, signature); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*proof.ElevateTuple){
		"server":       func(e *proof.ElevateTuple) { e.ServerID = "x" },
		"account":      func(e *proof.ElevateTuple) { e.Account = "x" },
		"installation": func(e *proof.ElevateTuple) { e.Installation = "x" },
		"nonce":        func(e *proof.ElevateTuple) { e.Nonce = "x" },
	} {
		changed := tuple
		change(&changed)
		if err := proof.VerifyElevate(&key.PublicKey, changed, signature); !errors.Is(err, proof.ErrMismatch) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	tuple.Nonce = ""
	_, err := proof.SignElevate(key, tuple)
	checkInput(t, err, "nonce", proof.ReasonMissing)
	checkInput(t, proof.VerifyElevate(&key.PublicKey, tuple, signature), "nonce", proof.ReasonMissing)
}

func TestPairMAC(t *testing.T) {
	t.Parallel()
	secret := bytes.Repeat([]byte{7}, 16)
	raw := must(proof.MarshalPublicKey(&newKey(t).PublicKey))(t)
	other := must(proof.MarshalPublicKey(&newKey(t).PublicKey))(t)
	pair := proof.PairTuple{ServerID: "srv", Offer: "off", PublicKey: raw, Platform: "ios", Label: "Phone"}
	mac := must(proof.PairMAC(secret, pair))(t)
	if err := proof.VerifyPairMAC(secret, pair, mac); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*proof.PairTuple){
		"server":   func(p *proof.PairTuple) { p.ServerID = "x" },
		"offer":    func(p *proof.PairTuple) { p.Offer = "x" },
		"key":      func(p *proof.PairTuple) { p.PublicKey = other },
		"platform": func(p *proof.PairTuple) { p.Platform = "web" },
		"label":    func(p *proof.PairTuple) { p.Label = "" },
		"moved":    func(p *proof.PairTuple) { p.Platform, p.Label = "iosP", "hone" },
	} {
		changed := pair
		change(&changed)
		if err := proof.VerifyPairMAC(secret, changed, mac); !errors.Is(err, proof.ErrMismatch) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if err := proof.VerifyPairMAC(bytes.Repeat([]byte{8}, 16), pair, mac); !errors.Is(err, proof.ErrMismatch) {
		t.Errorf("another secret: %v", err)
	}
	if err := proof.VerifyPairMAC(secret, pair, mac[:31]); !errors.Is(err, proof.ErrMismatch) {
		t.Errorf("cut: %v", err)
	}
	if _, err := proof.PairMAC(secret[:15], pair); !errors.Is(err, proof.ErrWeakSecret) {
		t.Errorf("short secret: %v", err)
	}
	pair.PublicKey = make([]byte, 65)
	if _, err := proof.PairMAC(secret, pair); !errors.Is(err, proof.ErrPublicKey) {
		t.Errorf("bad key: %v", err)
	}
}

// decode reads a tuple back, which only an injective encoding allows.
func decode(t testing.TB, raw []byte) [][]byte {
	t.Helper()
	var fields [][]byte
	for len(raw) > 0 {
		if len(raw) < 4 || uint64(len(raw)-4) < uint64(binary.BigEndian.Uint32(raw)) {
			t.Fatalf("cut field in %x", raw)
		}
		n := binary.BigEndian.Uint32(raw)
		fields, raw = append(fields, raw[4:4+n]), raw[4+n:]
	}
	return fields
}

func TestAnswerEncodingReadsBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		name := rapid.StringMatching(`[\x00-\x7fé€😂]{1,12}`)
		want := proof.AnswerTuple{
			ServerID: name.Draw(r, "server"), Account: name.Draw(r, "account"),
			Installation: name.Draw(r, "installation"), Decision: name.Draw(r, "decision"),
			Revision: rapid.Uint64().Draw(r, "revision"), AnswerKey: name.Draw(r, "key"),
			Asked: proof.Sum([]byte(name.Draw(r, "asked"))), View: proof.Sum([]byte(name.Draw(r, "view"))),
			Answer: proof.Sum([]byte(name.Draw(r, "answer"))),
		}
		raw, err := want.Encode()
		if err != nil {
			r.Fatal(err)
		}
		f := decode(t, raw)
		if len(f) != 10 || string(f[0]) != "beckon/answer/1" {
			r.Fatalf("%d fields, label %q", len(f), f[0])
		}
		got := proof.AnswerTuple{
			ServerID: string(f[1]), Account: string(f[2]), Installation: string(f[3]), Decision: string(f[4]),
			Revision: binary.BigEndian.Uint64(f[5]), Asked: proof.Digest(f[6]), View: proof.Digest(f[7]),
			Answer: proof.Digest(f[8]), AnswerKey: string(f[9]),
		}
		if diff := cmp.Diff(want, got); diff != "" {
			r.Fatal(diff)
		}
	})
}

// Two tuples have the same bytes only when they are the same tuple, and no
// tuple of one purpose has the bytes of another.
func FuzzTupleInjective(f *testing.F) {
	f.Add("srv", "acc", "ins", "att", "srv", "acci", "ns", "att")
	f.Add("a", "b", "c", "d", "a", "b", "c", "d")
	f.Add("a\x00\x00\x00\x01", "b", "c", "d", "a", "\x00\x00\x00\x01b", "c", "d")
	f.Add("beckon/refresh/1", "b", "c", "\xff", "é", "b", "c", "d")
	f.Fuzz(func(t *testing.T, a1, a2, a3, a4, b1, b2, b3, b4 string) {
		refresh := func(s, a, i, n string) proof.RefreshTuple {
			return proof.RefreshTuple{ServerID: s, Account: a, Installation: i, TokenHash: proof.Sum([]byte(n)), Attempt: n}
		}
		answer := func(s, a, i, n string) proof.AnswerTuple {
			d := proof.Sum([]byte(n))
			return proof.AnswerTuple{ServerID: s, Account: a, Installation: i, Decision: n, Asked: d, View: d, Answer: d, AnswerKey: n}
		}
		left, right := refresh(a1, a2, a3, a4), refresh(b1, b2, b3, b4)
		leftRaw, leftErr := left.Encode()
		rightRaw, rightErr := right.Encode()
		if leftErr == nil && rightErr == nil && bytes.Equal(leftRaw, rightRaw) != (left == right) {
			t.Fatalf("refresh: %+v and %+v", left, right)
		}
		answered, otherErr := answer(b1, b2, b3, b4).Encode()
		if leftErr == nil && otherErr == nil && bytes.Equal(leftRaw, answered) {
			t.Fatalf("a refresh has the bytes of an answer: %+v", left)
		}
		first, firstErr := answer(a1, a2, a3, a4).Encode()
		if firstErr == nil && otherErr == nil &&
			bytes.Equal(first, answered) != (answer(a1, a2, a3, a4) == answer(b1, b2, b3, b4)) {
			t.Fatal("answer tuples collide")
		}
	})
}

// RFC 6979 §A.2.5 gives this key and message; its s is a high one.
func TestSignatureOfTheStandard(t *testing.T) {
	t.Parallel()
	scalar := must(hex.DecodeString("c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721"))(t)
	key := must(ecdsa.ParseRawPrivateKey(elliptic.P256(), scalar))(t)
	signature := must(proof.SignRaw(key, []byte("sample")))(t)
	want := "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716" +
		"f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8"
	if diff := cmp.Diff(want, hex.EncodeToString(signature)); diff != "" {
		t.Error(diff)
	}
	if err := proof.VerifyRaw(&key.PublicKey, []byte("sample"), signature); err != nil {
		t.Error(err)
	}
}
