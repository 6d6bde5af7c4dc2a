package proof_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/beckon-dev/beckon/sync/proof"
)

func nest(open, inside, closing string, n int) string {
	return strings.Repeat(open, n) + inside + strings.Repeat(closing, n)
}

func keys(n int) string {
	var out strings.Builder
	out.WriteByte('{')
	for i := range n {
		if i > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(&out, `"k%d":0`, i)
	}
	out.WriteByte('}')
	return out.String()
}

func TestCanonicalAccepts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, in, want string }{
		{"empty object", ` { } `, `{}`},
		{"sorted by UTF-16 units", `{"\ufb33":3,"\ud83d\ude02":2,"a":1,"A":0}`, "{\"A\":0,\"a\":1,\"\U0001F602\":2,\"\ufb33\":3}"},
		{"escapes", `"\u0041\/\u001f\t\"\\\b\f\n\r\u007f"`, `"A/\u001f\t\"\\\b\f\n\r` + "\x7f\""},
		{"numbers", `[0,-0,1.0,1e3,2E-3,4.50,0.000000000000000000000000001,-1.5e-7]`, `[0,0,1,1000,0.002,4.5,1e-27,-1.5e-7]`},
		{"largest integers", `[9007199254740991,-9007199254740991,9007199254740991.0]`, `[9007199254740991,-9007199254740991,9007199254740991]`},
		{"zero with any exponent", `[0e99999999999999999999,0.0E-99999999999999999999]`, `[0,0]`},
		{"long but exact", `1.` + strings.Repeat("0", 400), `1`},
		{"smallest double", `5e-324`, `5e-324`},
		{"literals", `[true,false,null]`, `[true,false,null]`},
		{"not normalised", "{\"e\u0301\":1,\"\u00e9\":2}", "{\"e\u0301\":1,\"\u00e9\":2}"},
		{"same key in two objects", `{"a":{"a":1}}`, `{"a":{"a":1}}`},
		{"depth at the limit", nest("[", "1", "]", proof.MaxDepth), nest("[", "1", "]", proof.MaxDepth)},
		{"replacement character itself", "\"\ufffd\"", "\"\ufffd\""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := proof.Canonical([]byte(test.in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if _, err := proof.Canonical([]byte(keys(proof.MaxKeys))); err != nil {
		t.Errorf("keys at the limit: %v", err)
	}
}

func TestCanonicalRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range refused() {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := proof.Canonical([]byte(test.in))
			var input *proof.InputError
			if !errors.As(err, &input) {
				t.Fatalf("got %v, want an InputError", err)
			}
			if input.Reason != test.want {
				t.Errorf("reason %s, want %s", input.Reason, test.want)
			}
			if strings.Contains(err.Error(), "canary") {
				t.Errorf("the error repeats content: %v", err)
			}
		})
	}
}

type refusal struct {
	name, in string
	want     proof.Reason
}

func refused() []refusal {
	return []refusal{
		{"nothing", ``, proof.ReasonSyntax},
		{"white space", " \n", proof.ReasonSyntax},
		{"byte order mark", "\ufeff{}", proof.ReasonSyntax},
		{"open object", `{"a":1`, proof.ReasonSyntax},
		{"comma at the end", `{"a":1,}`, proof.ReasonSyntax},
		{"comma at the start", `[,1]`, proof.ReasonSyntax},
		{"key without quotes", `{a:1}`, proof.ReasonSyntax},
		{"no colon", `{"a" 1}`, proof.ReasonSyntax},
		{"comment", `{"a":1/**/}`, proof.ReasonSyntax},
		{"literal in capitals", `True`, proof.ReasonSyntax},
		{"NaN", `NaN`, proof.ReasonSyntax},
		{"leading plus", `+1`, proof.ReasonSyntax},
		{"leading dot", `.5`, proof.ReasonSyntax},
		{"trailing dot", `5.`, proof.ReasonSyntax},
		{"empty exponent", `5e`, proof.ReasonSyntax},
		{"leading zero", `01`, proof.ReasonSyntax},
		{"negative leading zero", `-00`, proof.ReasonSyntax},
		{"hexadecimal", `0x10`, proof.ReasonTrailing},
		{"control character", "\"a\nb\"", proof.ReasonSyntax},
		{"NUL", "\"a\x00b\"", proof.ReasonSyntax},
		{"unknown escape", `"\x41"`, proof.ReasonSyntax},
		{"short escape", `"\u12"`, proof.ReasonSyntax},
		{"signed escape", `"\u+123"`, proof.ReasonSyntax},
		{"single quotes", `'a'`, proof.ReasonSyntax},
		{"non-breaking space", "\u00a0{}", proof.ReasonSyntax},
		{"second document", `{} {}`, proof.ReasonTrailing},
		{"NUL after", "{}\x00", proof.ReasonTrailing},
		{"duplicate", `{"canary":1,"canary":2}`, proof.ReasonDuplicateKey},
		{"duplicate after unescaping", `{"a":1,"\u0061":2}`, proof.ReasonDuplicateKey},
		{"duplicate deep inside", `[{"x":{"a":1,"b":2,"a":3}}]`, proof.ReasonDuplicateKey},
		{"duplicate by surrogate pair", "{\"\\ud83d\\ude02\":1,\"\U0001F602\":2}", proof.ReasonDuplicateKey},
		{"2^53", `9007199254740992`, proof.ReasonNumberRange},
		{"-2^53", `-9007199254740992`, proof.ReasonNumberRange},
		{"rounds to 2^53", `9007199254740993`, proof.ReasonNumberRange},
		{"large in another spelling", `1E30`, proof.ReasonNumberRange},
		{"beyond a double", `1e400`, proof.ReasonNumberRange},
		{"exponent beyond an int", `1e99999999999999999999`, proof.ReasonNumberRange},
		{"vanishes", `1e-400`, proof.ReasonNumberPrecision},
		{"vanishes, exponent beyond an int", `1e-99999999999999999999`, proof.ReasonNumberPrecision},
		{"fraction rounds", `9007199254740990.9`, proof.ReasonNumberPrecision},
		{"too many digits", `3.141592653589793238462643383279`, proof.ReasonNumberPrecision},
		{"a little more than one", `1.0000000000000000001`, proof.ReasonNumberPrecision},
		{"lone high surrogate", `"\ud83d"`, proof.ReasonLoneSurrogate},
		{"lone high surrogate, text follows", `"\ud83dab"`, proof.ReasonLoneSurrogate},
		{"lone low surrogate", `"\ude02"`, proof.ReasonLoneSurrogate},
		{"pair in reverse", `"\ude02\ud83d"`, proof.ReasonLoneSurrogate},
		{"two high", `"\ud83d\ud83d"`, proof.ReasonLoneSurrogate},
		{"high and another escape", `"\ud83d\n"`, proof.ReasonLoneSurrogate},
		{"lone surrogate in a key", `{"\ud83d":1}`, proof.ReasonLoneSurrogate},
		{"invalid UTF-8", "\"\xff\"", proof.ReasonInvalidUTF8},
		{"overlong UTF-8", "\"\xc0\xaf\"", proof.ReasonInvalidUTF8},
		{"cut UTF-8", "\"\xe2\x82\"", proof.ReasonInvalidUTF8},
		{"surrogate as UTF-8", "\"\xed\xa0\xbd\"", proof.ReasonInvalidUTF8},
		{"invalid UTF-8 in a key", "{\"\xff\":1}", proof.ReasonInvalidUTF8},
		{"noncharacter", "\"\ufffe\"", proof.ReasonNoncharacter},
		{"noncharacter escaped", `"\uffff"`, proof.ReasonNoncharacter},
		{"noncharacter as a pair", `"\ud83f\udffe"`, proof.ReasonNoncharacter},
		{"arrays too deep", nest("[", "", "]", proof.MaxDepth+1), proof.ReasonTooDeep},
		{"objects too deep", nest(`{"a":`, "1", "}", proof.MaxDepth+1), proof.ReasonTooDeep},
		{"very deep", strings.Repeat("[", 1<<20), proof.ReasonTooDeep},
		{"too many keys", keys(proof.MaxKeys + 1), proof.ReasonTooManyKeys},
		{"too many keys in all", "[" + keys(proof.MaxKeys/2) + "," + keys(proof.MaxKeys/2+1) + "]", proof.ReasonTooManyKeys},
	}
}

func TestCanonicalObject(t *testing.T) {
	t.Parallel()
	for _, in := range []string{`[]`, `null`, `"a"`, `1`, ` true `} {
		if _, err := proof.CanonicalObject([]byte(in)); proof.ReasonOf(err) != proof.ReasonNotObject {
			t.Errorf("%s: got %v, want %s", in, err, proof.ReasonNotObject)
		}
		if err := proof.CheckObject([]byte(in)); proof.ReasonOf(err) != proof.ReasonNotObject {
			t.Errorf("%s: got %v, want %s", in, err, proof.ReasonNotObject)
		}
		if _, err := proof.Canonical([]byte(in)); err != nil {
			t.Errorf("%s: %v", in, err)
		}
	}
	if _, err := proof.CanonicalObject([]byte(`{"b":1,"a":2}`)); err != nil {
		t.Error(err)
	}
	if _, err := proof.CanonicalObject([]byte(`garbage`)); proof.ReasonOf(err) != proof.ReasonSyntax {
		t.Errorf("got %v, want %s", err, proof.ReasonSyntax)
	}
}

// A number that is accepted has the same decimal value before and after; one
// that is refused would not, or is too large.
func TestNumbersKeepTheirValue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		literal := rapid.StringMatching(`-?(0|[1-9][0-9]{0,19})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?`).Draw(t, "literal")
		want, ok := new(big.Rat).SetString(literal)
		if !ok {
			t.Fatalf("not a number: %s", literal)
		}
		value, err := strconv.ParseFloat(literal, 64)
		if err != nil {
			t.Fatal(err)
		}
		shortest, _ := new(big.Rat).SetString(strconv.FormatFloat(value, 'e', -1, 64))
		exact := shortest.Cmp(want) == 0 && math.Abs(value) <= 1<<53-1
		out, err := proof.Canonical([]byte(literal))
		if (err == nil) != exact {
			t.Fatalf("%s: err %v, exact %v", literal, err, exact)
		}
		if err != nil {
			return
		}
		if got, _ := new(big.Rat).SetString(string(out)); got.Cmp(want) != 0 {
			t.Fatalf("%s became %s", literal, out)
		}
	})
}

func FuzzCanonical(f *testing.F) {
	for _, seed := range refused() {
		if len(seed.in) < 4096 {
			f.Add([]byte(seed.in))
		}
	}
	for _, seed := range []string{
		`{}`, `{"b":[1,2.5,-0,1e-7],"a":{"\ud83d\ude02":"\u0000"}}`, `"\u00e9"`, `[[[]]]`, `123.456e2`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		out, err := proof.Canonical(raw)
		if err != nil {
			if strings.HasPrefix(err.Error(), "canonicalise") {
				t.Fatalf("the check accepted what the canonicaliser refuses: %q", raw)
			}
			return
		}
		if !json.Valid(raw) {
			t.Fatalf("accepted what is not JSON: %q", raw)
		}
		again, err := proof.Canonical(out)
		if err != nil || !bytes.Equal(again, out) {
			t.Fatalf("not stable: %q, then %q, %v", out, again, err)
		}
		var before, after any
		if err := json.Unmarshal(raw, &before); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(out, &after); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, after); diff != "" {
			t.Fatalf("%q changed its value:\n%s", raw, diff)
		}
	})
}
