package credential_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/beckon-dev/beckon/server/credential"
)

// zeroCRC is what zlib.crc32 says about the all-zero owner token.
const zeroCRC = "0uGCW3"

func must[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func kinds() []credential.Kind {
	return []credential.Kind{
		credential.KindOwner, credential.KindRefresh, credential.KindWeb, credential.KindAgent,
		credential.KindTask, credential.KindTenant, credential.KindRecovery,
	}
}

func TestTokenForm(t *testing.T) {
	t.Parallel()
	pattern := regexp.MustCompile(credential.Pattern)
	seen := map[string]bool{}
	for _, kind := range kinds() {
		token := must(credential.New(rand.Reader, kind))(t)
		text := token.Reveal()
		if found := pattern.FindString("x " + text + "\n"); found != text {
			t.Errorf("the leak pattern finds %q in a %s token", found, kind)
		}
		back := must(credential.Parse(text))(t)
		if back.Kind() != kind || back.ID() != token.ID() || back.Reveal() != text {
			t.Errorf("%s token came back as another", kind)
		}
		if !token.Hash().Match(back) {
			t.Errorf("%s token does not match its own hash", kind)
		}
		if _, err := credential.ParseKind(text, kind); err != nil {
			t.Error(err)
		}
		for _, other := range kinds() {
			if _, err := credential.ParseKind(text, other); other != kind && !errors.Is(err, credential.ErrKind) {
				t.Errorf("%s passes as %s: %v", kind, other, err)
			}
		}
		if seen[token.ID()] {
			t.Error("two tokens share an id")
		}
		seen[token.ID()] = true
	}
}

// The bytes of a token are a contract: scanners of other companies know them.
func TestTokenKnownAnswer(t *testing.T) {
	t.Parallel()
	token := must(credential.New(bytes.NewReader(bytes.Repeat([]byte{0xff}, 42)), credential.KindAgent))(t)
	want := "bk_agt_zzzzzzzzzz_yhjskwdA6OZ1AL1YmHWZWm8LLG7HjnuCA2j5rOw8Xp1_"
	if got := token.Reveal(); !strings.HasPrefix(got, want) {
		t.Errorf("got %s, want prefix %s", got, want)
	}
	zero := must(credential.New(bytes.NewReader(make([]byte, 42)), credential.KindOwner))(t)
	body := "bk_own_0000000000_" + strings.Repeat("0", 43)
	// CRC-32 (IEEE) of body by another implementation, in base 62.
	if got := zero.Reveal(); got != body+"_"+zeroCRC {
		t.Errorf("got %s, want %s_%s", got, body, zeroCRC)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	good := must(credential.New(rand.Reader, credential.KindRefresh))(t).Reveal()
	at := func(i int, c string) string { return good[:i] + c + good[i+len(c):] }
	for _, test := range []struct {
		name, text string
		want       error
	}{
		{"nothing", "", credential.ErrMalformed},
		{"other prefix", "gh" + good[2:], credential.ErrMalformed},
		{"upper prefix", "BK" + good[2:], credential.ErrMalformed},
		{"unknown kind", "bk_xyz" + good[5:], credential.ErrKind},
		{"kind in capitals", "bk_RT" + good[5:], credential.ErrKind},
		{"swapped kind", "bk_own" + good[5:], credential.ErrChecksum},
		{"id with a letter left out", at(6, "u"), credential.ErrMalformed},
		{"id in capitals", at(6, "A"), credential.ErrMalformed},
		{"short", good[:len(good)-1], credential.ErrMalformed},
		{"long", good + "0", credential.ErrMalformed},
		{"space before", " " + good, credential.ErrMalformed},
		{"line end after", good + "\n", credential.ErrMalformed},
		{"part missing", strings.Replace(good, "_", "", 1), credential.ErrMalformed},
		{"part more", good + "_", credential.ErrMalformed},
		{"secret outside the alphabet", at(20, "-"), credential.ErrMalformed},
		{"secret beyond 256 bits", good[:17] + strings.Repeat("z", 43) + good[60:], credential.ErrMalformed},
		{"NUL", at(20, "\x00"), credential.ErrMalformed},
		{"megabyte", strings.Repeat("_", 1<<20), credential.ErrMalformed},
	} {
		if _, err := credential.Parse(test.text); !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, err, test.want)
		}
	}
}

// Every single typo and every swap of neighbours is found without a store.
func TestChecksumFindsTypos(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		raw := rapid.SliceOfN(rapid.Byte(), 64, 64).Draw(r, "random")
		token, err := credential.New(bytes.NewReader(append(raw, make([]byte, 64)...)), credential.KindAgent)
		if err != nil {
			r.Fatal(err)
		}
		text := []byte(token.Reveal())
		i := rapid.IntRange(0, len(text)-1).Draw(r, "at")
		typo := bytes.Clone(text)
		typo[i] = rapid.Byte().Draw(r, "typed")
		swap := bytes.Clone(text)
		j := (i + 1) % len(text)
		swap[i], swap[j] = swap[j], swap[i]
		for _, changed := range [][]byte{typo, swap} {
			if _, err := credential.Parse(string(changed)); (err == nil) != bytes.Equal(changed, text) {
				r.Fatalf("%s: %v", changed, err)
			}
		}
	})
}

func TestHashMatches(t *testing.T) {
	t.Parallel()
	a, b := must(credential.New(rand.Reader, credential.KindWeb))(t), must(credential.New(rand.Reader, credential.KindWeb))(t)
	if a.Hash().Match(b) || !a.Hash().Match(a) {
		t.Error("hashes and tokens are mixed up")
	}
	var none credential.Hash
	if none.Match(a) || none.Match(credential.Token{}) || none.Same(none) || !none.IsZero() {
		t.Error("an absent hash matches")
	}
	same := must(credential.NewWithID(rand.Reader, credential.KindWeb, a.ID()))(t)
	if same.ID() != a.ID() || same.Hash() == a.Hash() {
		t.Error("a second secret of one id is wrong")
	}
	if _, err := credential.NewWithID(rand.Reader, credential.KindWeb, "short"); !errors.Is(err, credential.ErrMalformed) {
		t.Errorf("bad id: %v", err)
	}
	if _, err := credential.New(rand.Reader, "xyz"); !errors.Is(err, credential.ErrKind) {
		t.Errorf("bad kind: %v", err)
	}
}

func TestRandomSourceFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, draw := range map[string]func() error{
		"token": func() error { _, err := credential.New(iotest.ErrReader(broken), credential.KindWeb); return err },
		"secret": func() error {
			_, err := credential.New(bytes.NewReader(make([]byte, 20)), credential.KindWeb)
			return err
		},
		"code":   func() error { _, err := credential.NewCode(iotest.ErrReader(broken)); return err },
		"digits": func() error { _, err := credential.NewDigits(iotest.ErrReader(broken)); return err },
		"link":   func() error { _, err := credential.NewLinkSecret(iotest.ErrReader(broken)); return err },
	} {
		if draw() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestNothingPrintsASecret(t *testing.T) {
	t.Parallel()
	secret := credential.NewSecret("canary-secret")
	token := must(credential.New(rand.Reader, credential.KindAgent))(t)
	key := must(credential.NewKey([]byte("canary-key-0123456789-0123456789")))(t)
	code := must(credential.NewCode(rand.Reader))(t)
	canaries := []string{
		"canary", token.Reveal()[18:40], code.Reveal(), code.Reveal()[:4],
		fmt.Sprintf("%x", "canary"), fmt.Sprint([]byte("canary")),
	}
	type inside struct {
		secret credential.Secret
		token  credential.Token
		key    credential.Key
		code   credential.Code
	}
	type outside struct {
		Secret credential.Secret
		Token  credential.Token
		Key    credential.Key
		Code   credential.Code
	}
	values := []any{
		secret, token, key, code, &secret, &token, &key, &code,
		inside{secret, token, key, code}, &inside{secret, token, key, code},
		outside{secret, token, key, code}, []credential.Token{token}, map[string]credential.Key{"k": key},
		must(credential.DeriveKeys(key, 1))(t),
	}
	var out bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&out, nil))
	for _, value := range values {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
			fmt.Fprintf(&out, verb, value)
		}
		out.Write(must(json.Marshal(value))(t))
		logger.Info("x", "value", value)
		fmt.Fprintln(&out, fmt.Errorf("wrapped: %v", value))
	}
	for _, canary := range canaries {
		if strings.Contains(out.String(), canary) {
			t.Errorf("%q was printed", canary)
		}
	}
	if !strings.Contains(out.String(), "[redacted]") {
		t.Error("nothing says that something was left out")
	}
	if secret.Reveal() != "canary-secret" || !secret.Equal(credential.NewSecret("canary-secret")) ||
		secret.Equal(credential.Secret{}) || !(credential.Secret{}).IsZero() || secret.IsZero() {
		t.Error("a secret lost its text")
	}
}

func TestPairingCode(t *testing.T) {
	t.Parallel()
	key := must(credential.NewKey(bytes.Repeat([]byte{1}, 32)))(t)
	other := must(credential.NewKey(bytes.Repeat([]byte{2}, 32)))(t)
	code := must(credential.NewCode(rand.Reader))(t)
	if !regexp.MustCompile(`^[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}$`).MatchString(code.Reveal()) {
		t.Errorf("shown as %q", code.Reveal())
	}
	if back := must(credential.ParseCode(code.Reveal()))(t); back.Hash(key) != code.Hash(key) {
		t.Error("the code as shown is another code")
	}
	if code.Hash(key) == code.Hash(other) || (credential.Code{}).Reveal() != "" {
		t.Error("the hash is not keyed, or no code is one")
	}
	for typed, want := range map[string]string{
		"7K4M-Q2ZD": "7K4M-Q2ZD", "7k4mq2zd": "7K4M-Q2ZD", "\x207k4m q2zd\x20": "7K4M-Q2ZD", "7-K-4-M-Q-2-Z-D": "7K4M-Q2ZD",
		"oOiIlL00": "0011-1100",
		"":         "", "7K4M-Q2Z": "", "7K4M-Q2ZDD": "", "UUUU-UUUU": "", "7K4M_Q2ZD": "", "7K4M\nQ2ZD": "",
		"７K4MQ2ZD": "", "7K4M-Q2Z\u017f": "", strings.Repeat("-", 1<<20) + "7K4MQ2ZD": "",
	} {
		code, err := credential.ParseCode(typed)
		if (err != nil) != (want == "") || code.Reveal() != want {
			t.Errorf("%.20q: got %q, %v", typed, code.Reveal(), err)
		}
		if err != nil && !errors.Is(err, credential.ErrCode) {
			t.Errorf("%.20q: %v", typed, err)
		}
	}
}

func TestDigits(t *testing.T) {
	t.Parallel()
	digits := must(credential.NewDigits(rand.Reader))(t)
	if back := must(credential.ParseDigits(" " + digits.Reveal() + " "))(t); !back.Equal(digits) || len(back.Reveal()) != 4 {
		t.Error("the digits as shown are other digits")
	}
	for typed, want := range map[string]string{
		"0042": "0042", "00 42": "0042", "": "", "123": "", "12345": "", "12a4": "", "+123": "", "１２３４": "",
	} {
		got, err := credential.ParseDigits(typed)
		if (err != nil) != (want == "") || got.Reveal() != want {
			t.Errorf("%q: got %q, %v", typed, got.Reveal(), err)
		}
	}
	link := must(credential.NewLinkSecret(rand.Reader))(t)
	if !regexp.MustCompile(`^[0-9A-Za-z]{22}$`).MatchString(link.Reveal()) {
		t.Errorf("link secret has the form %q", regexp.MustCompile(`\w`).ReplaceAllString(link.Reveal(), "x"))
	}
}

// Every character is as likely as every other, bytes that would tilt the
// balance are thrown away.
func TestDrawIsEven(t *testing.T) {
	t.Parallel()
	var all []byte
	for b := range 256 {
		all = append(all, byte(b))
	}
	count := map[rune]int{}
	source := bytes.NewReader(bytes.Repeat(all, 10))
	for {
		digits, err := credential.NewDigits(source)
		if err != nil {
			break
		}
		for _, c := range digits.Reveal() {
			count[c]++
		}
	}
	want := map[rune]int{}
	for _, c := range "0123456789" {
		want[c] = 250
	}
	if diff := cmp.Diff(want, count); diff != "" {
		t.Error(diff)
	}
}

func FuzzParse(f *testing.F) {
	token, err := credential.New(bytes.NewReader(bytes.Repeat([]byte{7}, 64)), credential.KindTask)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(token.Reveal())
	f.Add("bk_own_0000000000_" + strings.Repeat("0", 43) + "_" + zeroCRC)
	f.Add("bk_agt_zzzzzzzzzz_" + strings.Repeat("z", 43) + "_zzzzzz")
	f.Add("____")
	f.Add("")
	pattern := regexp.MustCompile(`^` + credential.Pattern + `$`)
	f.Fuzz(func(t *testing.T, text string) {
		token, err := credential.Parse(text)
		if err != nil {
			if token != (credential.Token{}) {
				t.Fatal("a refused text came back as a token")
			}
			return
		}
		if token.Reveal() != text || !pattern.MatchString(text) || !token.Kind().Known() {
			t.Fatalf("accepted %q as %s", text, token.Reveal())
		}
	})
}

func FuzzPairingCode(f *testing.F) {
	for _, seed := range []string{"7K4M-Q2ZD", "oil 0000", "７K4M", "----", "\u017f\u212a"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, typed string) {
		code, err := credential.ParseCode(typed)
		if err != nil {
			return
		}
		again, err := credential.ParseCode(code.Reveal())
		if err != nil || again.Reveal() != code.Reveal() {
			t.Fatalf("%q is shown as %q, which is read as %q, %v", typed, code.Reveal(), again.Reveal(), err)
		}
	})
}
