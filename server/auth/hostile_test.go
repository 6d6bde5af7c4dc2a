package auth_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/beckon-dev/beckon/server/auth"
)

// hostile is one token that must be refused, by the check it is about.
type hostile struct {
	name  string
	token string
	why   auth.Reason
}

// hostileTokens is the J list as far as it is about our own tokens. Each is
// signed with the right key wherever that is possible, so that the signature is
// not what refuses it.
func hostileTokens(kind string) []hostile {
	head, body, key, other := goodHeader, goodAccess(), bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32)
	if kind == "tap" {
		head, body, key, other = goodTapHeader, goodTap(), other, key
	}
	good := sign(head, body, key, sha256.New)
	header := func(from, to string) string { return sign(swap(head, from, to), body, key, sha256.New) }
	claim := func(from, to string) string { return sign(head, swap(body, from, to), key, sha256.New) }
	whole := func(text string) string { return sign(head, text, key, sha256.New) }
	unsigned := func(alg string) string {
		return encode(swap(head, "HS256", alg)) + "." + encode(body) + "."
	}
	kid := strings.Split(head, `"`)[7]
	var list []hostile
	add := func(name, token string, why auth.Reason) { list = append(list, hostile{name, token, why}) }

	for _, alg := range []string{"none", "None", "nOnE"} {
		add("J1 "+alg+", no signature", unsigned(alg), auth.ReasonShape)
		add("J1 "+alg+", some signature", unsigned(alg)+"AA", auth.ReasonAlgorithm)
	}
	add("J1 empty signature", unsigned("HS256"), auth.ReasonShape)
	add("J2 key of the other profile", sign(head, body, other, sha256.New), auth.ReasonSignature)
	add("J2 empty key", sign(head, body, nil, sha256.New), auth.ReasonSignature)
	add("J2 kid as key", sign(head, body, []byte(kid), sha256.New), auth.ReasonSignature)
	add("J3 HS512", sign(swap(head, "HS256", "HS512"), body, key, sha512New), auth.ReasonAlgorithm)
	add("J3 says HS256, is HS512", sign(head, body, key, sha512New), auth.ReasonSignature)
	for _, alg := range []string{"HS384", "RS256", "PS256", "ES256", "EdDSA", "hs256", " HS256"} {
		add("J3 "+alg, header("HS256", alg), auth.ReasonAlgorithm)
	}
	add("J3 alg empty", header(`"HS256"`, `""`), auth.ReasonHeader)
	add("J3 alg a list", header(`"HS256"`, `["HS256"]`), auth.ReasonHeader)
	add("J3 alg missing", header(`"alg":"HS256",`, ``), auth.ReasonHeader)
	for _, extra := range []string{
		`"crit":["exp"]`, `"crit":[]`, `"b64":false`, `"zip":"DEF"`, `"x":1`,
		`"jwk":{"kty":"oct","k":"AA"}`, `"jku":"https://x.example/"`, `"x5u":"https://x.example/"`, `"x5c":[]`,
	} {
		add("J4 J5 "+extra, header(`{`, `{`+extra+`,`), auth.ReasonHeader)
	}
	quoted := `"` + kid + `"`
	add("J6 kid missing", header(`"kid":`+quoted+`,`, ``), auth.ReasonHeader)
	add("J6 kid unknown", header(quoted, `"at-9"`), auth.ReasonKey)
	add("J6 kid empty", header(quoted, `""`), auth.ReasonHeader)
	add("J6 kid a number", header(quoted, `1`), auth.ReasonHeader)
	add("J6 kid of 65 bytes", header(quoted, `"`+strings.Repeat("k", 65)+`"`), auth.ReasonKey)
	add("J6 kid of 129 bytes", header(quoted, `"`+strings.Repeat("k", 129)+`"`), auth.ReasonHeader)
	add("J6 kid like a path", header(quoted, `"../../dev/null"`), auth.ReasonKey)
	add("J6 kid in capitals", header(quoted, strings.ToUpper(quoted)), auth.ReasonKey)
	for _, typ := range []string{"JWT", "at+jwt", "BK-AT+JWT", "BK-ACT+JWT", "bk-xx+jwt", "application/bk-at+jwt"} {
		add("J7 typ "+typ, header(strings.Split(head, `"`)[11], typ), auth.ReasonType)
	}
	add("J7 typ missing", header(`,"typ":"`+strings.Split(head, `"`)[11]+`"`, ``), auth.ReasonHeader)
	add("J8 alg twice", header(`{`, `{"alg":"HS256",`), auth.ReasonHeader)
	add("J8 alg twice, escaped", header(`{`, `{"\u0061lg":"none",`), auth.ReasonHeader)
	add("J8 exp twice", claim(`{`, `{"exp":1777637400,`), auth.ReasonClaims)
	add("J8 sub twice, escaped", claim(`{`, `{"\u0073ub":"acc_2",`), auth.ReasonClaims)
	add("J9 Alg", header(`"alg"`, `"Alg"`), auth.ReasonHeader)
	add("J9 ALG beside alg", header(`{`, `{"ALG":"none",`), auth.ReasonHeader)
	add("J9 EXP", claim(`"exp"`, `"EXP"`), auth.ReasonClaims)
	add("J9 Sub beside sub", claim(`{`, `{"Sub":"acc_2",`), auth.ReasonClaims)
	list = append(list, hostileTimes(claim)...)
	list = append(list, hostileValues(claim)...)
	list = append(list, hostileBodies(whole, body)...)
	list = append(list, hostileShapes(good)...)
	for name, text := range map[string]string{
		"null": `null`, "array": `[]`, "text": `"x"`, "empty": `{}`, "space": head + " ", "second": head + head,
		"line end": head + "\n", "bad UTF-8": swap(head, "HS256", "\xff"), "NUL": head + "\x00",
	} {
		add("J16 header "+name, sign(text, body, key, sha256.New), auth.ReasonHeader)
	}
	if kind == "access" {
		list = append(list, hostileAccess(claim)...)
	} else {
		list = append(list, hostileTap(claim)...)
	}
	return list
}

func hostileTimes(claim func(from, to string) string) []hostile {
	exp, iat := `"exp":1777637400`, `"iat":1777636800`
	var list []hostile
	for _, name := range []string{"exp", "iat"} {
		full := map[string]string{"exp": exp, "iat": iat}[name]
		list = append(list, hostile{"J10 J12 " + name + " missing", claim(full+",", ""), auth.ReasonClaims})
		for _, value := range []string{
			"null", `"1777637400"`, "1777637400.5", "1777637400.0", "1.7776374e9", "-1", "-0", "true", "[1]", "{}", "99999999999",
		} {
			list = append(list, hostile{"J10 " + name + " " + value, claim(full, `"`+name+`":`+value), auth.ReasonValue})
		}
		for _, value := range []string{"1000000000000000000", "1e18", "01777637400", "+1"} {
			list = append(list, hostile{"J10 " + name + " " + value, claim(full, `"`+name+`":`+value), auth.ReasonClaims})
		}
	}
	return append(list,
		hostile{"J12 issued in the future", claim(iat, `"iat":1777636831`), auth.ReasonTime},
		hostile{"J12 end before begin", claim(exp, `"exp":1777636799`), auth.ReasonTime},
		hostile{"J12 end at begin", claim(exp, `"exp":1777636800`), auth.ReasonTime},
		hostile{"J12 lives a second too long", claim(iat, `"iat":1777633799`), auth.ReasonTime},
		hostile{"J12 lives for ever", claim(exp, `"exp":4294967295`), auth.ReasonTime},
		hostile{"J13 nbf in the future", claim(`{`, `{"nbf":1777637000,`), auth.ReasonClaims},
		hostile{"J13 nbf in the past", claim(`{`, `{"nbf":1,`), auth.ReasonClaims},
	)
}

func hostileValues(claim func(from, to string) string) []hostile {
	sub, ep := `"sub":"acc_1"`, `"ep":3`
	return []hostile{
		{"J15 sub empty", claim(sub, `"sub":""`), auth.ReasonValue},
		{"J15 sub of 129 bytes", claim(sub, `"sub":"`+strings.Repeat("a", 129)+`"`), auth.ReasonValue},
		{"J15 sub with a line end", claim(sub, `"sub":"acc_1\n"`), auth.ReasonValue},
		{"J15 sub with NUL", claim(sub, `"sub":"acc_1\u0000"`), auth.ReasonValue},
		{"J15 sub with C1", claim(sub, `"sub":"acc\u0085"`), auth.ReasonValue},
		{"J15 sub null", claim(sub, `"sub":null`), auth.ReasonValue},
		{"J15 sub a number", claim(sub, `"sub":1`), auth.ReasonValue},
		{"J15 sub a list", claim(sub, `"sub":["acc_1"]`), auth.ReasonValue},
		{"J15 sub with half a pair", claim(sub, `"sub":"\ud83d"`), auth.ReasonClaims},
		{"J15 inst empty", claim(`"inst":"ins_1"`, `"inst":""`), auth.ReasonValue},
		{"J21 ep text", claim(ep, `"ep":"3"`), auth.ReasonValue},
		{"J21 ep to come", claim(ep, `"ep":4`), auth.ReasonEpoch},
		{"unknown claim", claim(`{`, `{"adm":true,`), auth.ReasonClaims},
	}
}

func hostileBodies(whole func(string) string, body string) []hostile {
	deep := strings.Repeat(`{"a":`, 50) + "1" + strings.Repeat("}", 50)
	return []hostile{
		{"J16 null", whole(`null`), auth.ReasonClaims},
		{"J16 array", whole(`[` + body + `]`), auth.ReasonClaims},
		{"J16 text", whole(`"x"`), auth.ReasonClaims},
		{"J16 nothing in it", whole(`{}`), auth.ReasonClaims},
		{"J16 second document", whole(body + body), auth.ReasonClaims},
		{"J16 trailing space", whole(body + " "), auth.ReasonClaims},
		{"J16 leading space", whole(" " + body), auth.ReasonClaims},
		{"J16 line end", whole(body + "\n"), auth.ReasonClaims},
		{"J16 byte order mark", whole("\ufeff" + body), auth.ReasonClaims},
		{"J16 bad UTF-8", whole(swap(body, "acc_1", "acc\xff")), auth.ReasonClaims},
		{"J16 depth 50", whole(swap(body, `"acc_1"`, deep)), auth.ReasonClaims},
		{"J16 depth 5", whole(swap(body, `"acc_1"`, `[[[[1]]]]`)), auth.ReasonValue},
		{"J16 cut", whole(body[:len(body)-1]), auth.ReasonClaims},
	}
}

func hostileShapes(good string) []hostile {
	alphabet := "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := strings.IndexByte(alphabet, good[len(good)-1])
	parts := strings.Split(good, ".")
	return []hostile{
		// 43 characters hold 258 bits: the last two must be zero.
		{"J17 spare bits of the signature", good[:len(good)-1] + alphabet[last^1:][:1], auth.ReasonSignature},
		{"J17 flipped last character", good[:len(good)-1] + alphabet[(last+4)%64:][:1], auth.ReasonSignature},
		{"J17 cut signature", good[:len(good)-1], auth.ReasonSignature},
		{"J17 longer signature", good + "AAAA", auth.ReasonSignature},
		{"J17 line end", good + "\n", auth.ReasonShape},
		{"J17 line end inside", good[:len(good)-4] + "\n" + good[len(good)-4:], auth.ReasonShape},
		{"J17 carriage return inside", good[:10] + "\r" + good[10:], auth.ReasonShape},
		{"J17 padding", good + "=", auth.ReasonShape},
		{"J17 standard alphabet", good[:len(good)-2] + "+/", auth.ReasonShape},
		{"J17 space before", " " + good, auth.ReasonShape},
		{"J17 comma list", good + "," + good, auth.ReasonShape},
		{"J17 prefix", "Bearer " + good, auth.ReasonShape},
		{"J17 two parts", parts[0] + "." + parts[1], auth.ReasonShape},
		{"J17 four parts", good + ".AA", auth.ReasonShape},
		{"J17 five parts", good + ".AA.AA", auth.ReasonShape},
		{"J17 dot at the end", parts[0] + "." + parts[1] + "." + parts[2] + ".", auth.ReasonShape},
		{"J17 no header", "." + parts[1] + "." + parts[2], auth.ReasonShape},
		{"J17 no claims", parts[0] + ".." + parts[2], auth.ReasonShape},
		{"J17 header not base64", parts[0] + "A." + parts[1] + "." + parts[2], auth.ReasonHeader},
		{"J17 nothing", "", auth.ReasonShape},
		{"J17 dots", "..", auth.ReasonShape},
		{"J17 too long", strings.Repeat("A", 2000) + "." + strings.Repeat("A", 2000) + "." + strings.Repeat("A", 95), auth.ReasonShape},
		{"J17 changed header", "e" + "X" + parts[0][2:] + "." + parts[1] + "." + parts[2], auth.ReasonHeader},
		{"J17 changed claims", parts[0] + "." + parts[1][:20] + swapCase(parts[1][20:21]) + parts[1][21:] + "." + parts[2], auth.ReasonSignature},
	}
}

func hostileAccess(claim func(from, to string) string) []hostile {
	aud, iss := `"aud":"beckon"`, `"iss":"srv_1"`
	return []hostile{
		{"J14 aud missing", claim(aud+",", ""), auth.ReasonClaims},
		{"J14 aud other", claim(aud, `"aud":"other"`), auth.ReasonIssuer},
		{"J14 aud in capitals", claim(aud, `"aud":"Beckon"`), auth.ReasonIssuer},
		{"J14 aud list", claim(aud, `"aud":["beckon"]`), auth.ReasonValue},
		{"J14 aud with a stranger", claim(aud, `"aud":["beckon","other"]`), auth.ReasonValue},
		{"J14 aud number", claim(aud, `"aud":1`), auth.ReasonValue},
		{"J14 iss missing", claim(iss+",", ""), auth.ReasonClaims},
		{"J14 iss with slash", claim(iss, `"iss":"srv_1/"`), auth.ReasonIssuer},
		{"J14 iss other", claim(iss, `"iss":"srv_2"`), auth.ReasonIssuer},
		{"scp list", claim(`"scp":"task:work"`, `"scp":["task:work"]`), auth.ReasonValue},
		{"scp two spaces", claim(`"scp":"task:work"`, `"scp":"task:work  read:own"`), auth.ReasonValue},
		{"scp star", claim(`"scp":"task:work"`, `"scp":"*"`), auth.ReasonValue},
		{"knd empty", claim(`"knd":"installation"`, `"knd":""`), auth.ReasonValue},
	}
}

func hostileTap(claim func(from, to string) string) []hostile {
	return []hostile{
		{"rev text", claim(`"rev":7`, `"rev":"7"`), auth.ReasonValue},
		{"rev negative", claim(`"rev":7`, `"rev":-7`), auth.ReasonValue},
		{"rev missing", claim(`"rev":7,`, ``), auth.ReasonClaims},
		{"dig short", claim(`"dig":"`, `"dig":"0`), auth.ReasonValue},
		{"dig zero", claim(`"dig":"`+goodTap()[22:86], `"dig":"`+strings.Repeat("0", 64)), auth.ReasonValue},
		{"jti empty", claim(`"jti":"abc"`, `"jti":""`), auth.ReasonValue},
		{"verb missing", claim(`,"verb":"deny"`, ``), auth.ReasonClaims},
		{"dec empty", claim(`"dec":"dec_1"`, `"dec":""`), auth.ReasonValue},
	}
}

func swap(text, from, to string) string {
	if strings.Count(text, from) == 0 {
		panic("nothing to swap: " + from)
	}
	return strings.Replace(text, from, to, 1)
}

func swapCase(c string) string {
	if c == strings.ToUpper(c) {
		return strings.ToLower(c)
	}
	return strings.ToUpper(c)
}

func encode(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

func TestHostileTokens(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"access", "tap"} {
		b := newBench(t)
		issuer := b.issuer(t)
		verify := func(token string) error {
			if kind == "tap" {
				got, err := issuer.VerifyTap(token)
				if err != nil && got != (auth.Tap{}) {
					t.Error("claims of a refused token came back")
				}
				return err
			}
			got, err := issuer.VerifyAccess(token)
			if err != nil && (got.Account != "" || got.Scopes != nil || got.Epoch != 0 || !got.ExpireTime.IsZero()) {
				t.Error("claims of a refused token came back")
			}
			return err
		}
		// The token that all others are made from is good.
		if err := verify(sign(goodHeader, goodAccess(), bytes.Repeat([]byte{1}, 32), sha256.New)); kind == "access" && err != nil {
			t.Fatal(err)
		}
		if err := verify(sign(goodTapHeader, goodTap(), bytes.Repeat([]byte{2}, 32), sha256.New)); kind == "tap" && err != nil {
			t.Fatal(err)
		}
		names := map[string]bool{}
		for _, test := range hostileTokens(kind) {
			if names[test.name] {
				t.Errorf("%s occurs twice", test.name)
			}
			names[test.name] = true
			err := verify(test.token)
			refusedAs(t, kind+": "+test.name, err, auth.ErrBadToken, test.why)
			if err != nil && (strings.Contains(err.Error(), "acc_") || strings.Contains(err.Error(), "at-")) {
				t.Errorf("%s: the error repeats the token: %v", test.name, err)
			}
		}
		t.Logf("%s: %d hostile tokens", kind, len(names))
	}
}

// J7: one profile's token in the other's place, whole and with its typ changed.
func TestProfilesDoNotMix(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	issuer := b.issuer(t)
	access, _, err := issuer.MintAccess(accessGrant())
	if err != nil {
		t.Fatal(err)
	}
	tap, _, err := issuer.MintTap(tapGrant(), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	refusedAs(t, "tap as access", second(issuer.VerifyAccess(tap.Reveal())), auth.ErrBadToken, auth.ReasonType)
	refusedAs(t, "access as tap", second(issuer.VerifyTap(access.Reveal())), auth.ErrBadToken, auth.ReasonType)
	tapKey, accessKey := bytes.Repeat([]byte{2}, 32), bytes.Repeat([]byte{1}, 32)
	forged := sign(swap(goodTapHeader, "bk-act+jwt", "bk-at+jwt"), goodAccess(), tapKey, sha256.New)
	refusedAs(t, "access by the tap key", second(issuer.VerifyAccess(forged)), auth.ErrBadToken, auth.ReasonKey)
	forged = sign(swap(goodHeader, "bk-at+jwt", "bk-act+jwt"), goodTap(), accessKey, sha256.New)
	refusedAs(t, "tap by the access key", second(issuer.VerifyTap(forged)), auth.ErrBadToken, auth.ReasonKey)
	forged = sign(goodHeader, goodTap(), accessKey, sha256.New)
	refusedAs(t, "claims of a tap", second(issuer.VerifyAccess(forged)), auth.ErrBadToken, auth.ReasonClaims)
}

// Every single changed byte of a good token is refused.
func TestEveryChangedByteIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	issuer := b.issuer(t)
	token := sign(goodHeader, goodAccess(), bytes.Repeat([]byte{1}, 32), sha256.New)
	for i := range len(token) {
		for _, c := range []byte("A9-_.=\n \x00\xff") {
			if token[i] == c {
				continue
			}
			changed := []byte(token)
			changed[i] = c
			if _, err := issuer.VerifyAccess(string(changed)); !errors.Is(err, auth.ErrBadToken) {
				t.Errorf("byte %d as %q: %v", i, c, err)
			}
		}
	}
}

// J17: a megabyte costs nothing, whatever it is made of.
func TestHugeTokensAllocateNothing(t *testing.T) {
	b := newBench(t)
	issuer := b.issuer(t)
	const size, rounds = 1 << 20, 200
	for name, token := range map[string]string{
		"dots":      strings.Repeat(".", size),
		"header":    strings.Repeat("A", size) + ".AA.AA",
		"claims":    encode(goodHeader) + "." + strings.Repeat("A", size) + ".AA",
		"signature": encode(goodHeader) + "." + encode(goodAccess()) + "." + strings.Repeat("A", size),
		"objects":   encode(strings.Repeat(`{"a":`, size)) + ".AA.AA",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range rounds {
			_, accessErr := issuer.VerifyAccess(token)
			_, tapErr := issuer.VerifyTap(token)
			if accessErr == nil || tapErr == nil {
				t.Fatalf("%s: accepted", name)
			}
		}
		runtime.ReadMemStats(&after)
		if each := (after.TotalAlloc - before.TotalAlloc) / (2 * rounds); each >= 1024 {
			t.Errorf("%s: %d bytes for each token", name, each)
		}
	}
}

// oracle is the library's own parser with every option that makes it stricter:
// what we accept, it has to accept as well, with the same claims.
func oracle(b *bench, token, kid string, key []byte) (jwt.MapClaims, error) {
	claims := jwt.MapClaims{}
	parser := jwt.NewParser(
		jwt.WithValidMethods([]string{"HS256"}), jwt.WithStrictDecoding(), jwt.WithExpirationRequired(),
		jwt.WithIssuedAt(), jwt.WithLeeway(30*time.Second), jwt.WithTimeFunc(func() time.Time { return b.now }),
	)
	_, err := parser.ParseWithClaims(token, claims, func(token *jwt.Token) (any, error) {
		if token.Header["kid"] != kid {
			return nil, fmt.Errorf("kid %v", token.Header["kid"])
		}
		return key, nil
	})
	return claims, err
}

func FuzzReader(f *testing.F) {
	f.Add(goodHeader, goodAccess(), "")
	f.Add(goodTapHeader, goodTap(), "")
	f.Add(goodHeader, swap(goodAccess(), "1777637400", "1777636801"), "")
	f.Add(` {"typ":"bk-at+jwt", "kid":"at-1","alg":"HS256"}`, goodAccess(), "=")
	for _, kind := range []string{"access", "tap"} {
		for _, test := range hostileTokens(kind) {
			if parts := strings.Split(test.token, "."); len(parts) == 3 && len(test.token) < 4096 {
				header, headerErr := base64.RawURLEncoding.DecodeString(parts[0])
				claims, claimsErr := base64.RawURLEncoding.DecodeString(parts[1])
				if headerErr == nil && claimsErr == nil {
					f.Add(string(header), string(claims), "")
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, header, claims, tail string) {
		b := newBench(t)
		issuer := b.issuer(t)
		accessKey, tapKey := bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32)
		token := sign(header, claims, accessKey, sha256.New) + tail
		if got, err := issuer.VerifyAccess(token); err == nil {
			want, err := oracle(b, token, "at-1", accessKey)
			if err != nil {
				t.Fatalf("the library refuses what we accept: %v\n%s\n%s", err, header, claims)
			}
			scopes, _ := want["scp"].(string)
			if got.Account != want["sub"] || got.Installation != want["inst"] || got.Kind != want["knd"] ||
				strings.Join(got.Scopes, " ") != scopes || float64(got.ExpireTime.Unix()) != want["exp"] ||
				want["iss"] != "srv_1" || want["aud"] != "beckon" {
				t.Fatalf("read differently: %+v, %v", got, want)
			}
		}
		token = sign(header, claims, tapKey, sha256.New) + tail
		if got, err := issuer.VerifyTap(token); err == nil {
			want, err := oracle(b, token, "tap-1", tapKey)
			if err != nil {
				t.Fatalf("the library refuses what we accept: %v\n%s\n%s", err, header, claims)
			}
			if got.Account != want["sub"] || got.Decision != want["dec"] || got.Verb != want["verb"] ||
				float64(got.Revision) != want["rev"] || got.ID != want["jti"] || got.Digest.String() != want["dig"] {
				t.Fatalf("read differently: %+v, %v", got, want)
			}
		}
	})
}

// FuzzRawToken feeds bytes that no signer made.
func FuzzRawToken(f *testing.F) {
	for _, kind := range []string{"access", "tap"} {
		for _, test := range hostileTokens(kind) {
			f.Add(test.token)
		}
	}
	good := []string{
		sign(goodHeader, goodAccess(), bytes.Repeat([]byte{1}, 32), sha256.New),
		sign(goodTapHeader, goodTap(), bytes.Repeat([]byte{2}, 32), sha256.New),
	}
	f.Fuzz(func(t *testing.T, token string) {
		b := newBench(t)
		issuer := b.issuer(t)
		_, accessErr := issuer.VerifyAccess(token)
		_, tapErr := issuer.VerifyTap(token)
		if (accessErr == nil || tapErr == nil) && !slices.Contains(good, token) {
			t.Fatalf("accepted a token nobody made: %q", token)
		}
	})
}
