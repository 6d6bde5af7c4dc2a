package changelog_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/beckon-dev/beckon/sync/changelog"
)

var codec = changelog.NewCodec([]byte("sixteen byte key"))

// opener is one of the three things a codec seals, seen alike.
type opener struct {
	name string
	seal func(c changelog.Codec, account string, s changelog.Scope, p changelog.Position) []byte
	open func(c changelog.Codec, account string, s changelog.Scope, b []byte) (changelog.Position, error)
}

var lastKey = changelog.Key{Kind: changelog.Item, ID: "itm_last"}

func openers() []opener {
	return []opener{
		{"cursor", changelog.Codec.Cursor, changelog.Codec.OpenCursor},
		{"stamp", changelog.Codec.Stamp, changelog.Codec.OpenStamp},
		{
			"page token",
			func(c changelog.Codec, account string, s changelog.Scope, p changelog.Position) []byte {
				return c.PageToken(account, s, p, lastKey)
			},
			func(c changelog.Codec, account string, s changelog.Scope, b []byte) (changelog.Position, error) {
				p, key, err := c.OpenPageToken(account, s, b)
				if err == nil && key != lastKey {
					err = errors.New("another key")
				}
				return p, err
			},
		},
	}
}

func positions() *rapid.Generator[changelog.Position] {
	return rapid.Custom(func(t *rapid.T) changelog.Position {
		var e changelog.Epoch
		copy(e[:], rapid.SliceOfN(rapid.Byte(), len(e), len(e)).Draw(t, "epoch"))
		return changelog.Position{Epoch: e, Seq: changelog.Seq(rapid.Uint64().Draw(t, "seq"))}
	})
}

func scopes() *rapid.Generator[changelog.Scope] {
	return rapid.OneOf(rapid.Just(changelog.AccountScope), rapid.Map(rapid.String(), changelog.ThreadScope))
}

func TestCodec_RoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		account, scope, want := rapid.String().Draw(t, "account"), scopes().Draw(t, "scope"), positions().Draw(t, "position")
		for _, o := range openers() {
			got, err := o.open(codec, account, scope, o.seal(codec, account, scope, want))
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Fatalf("%s: %v (-want +got):\n%s", o.name, err, diff)
			}
		}
		key := changelog.Key{Kind: changelog.Kind(rapid.Byte().Draw(t, "kind")), ID: rapid.String().Draw(t, "id")}
		at, got, err := codec.OpenPageToken(account, scope, codec.PageToken(account, scope, want, key))
		if err != nil || at != want || got != key {
			t.Fatalf("page token of %v at %v opens as %v at %v, %v", key, want, got, at, err)
		}
	})
}

// A stamp is good for its purpose, account and scope, under its key, and whole.
func TestCodec_Refuses(t *testing.T) {
	t.Parallel()
	thread, at := changelog.ThreadScope("thr_1"), pos(1, 7)
	other := changelog.NewCodec([]byte("another long key"))
	for i, o := range openers() {
		good := o.seal(codec, "acc_1", thread, at)
		for _, test := range []struct {
			name    string
			account string
			scope   changelog.Scope
			codec   changelog.Codec
			stamp   []byte
			want    error
		}{
			{"as it is", "acc_1", thread, codec, good, nil},
			{"another account", "acc_2", thread, codec, good, changelog.ErrForbidden},
			{"another thread", "acc_1", changelog.ThreadScope("thr_2"), codec, good, changelog.ErrForbidden},
			{"the account scope", "acc_1", changelog.AccountScope, codec, good, changelog.ErrForbidden},
			{"another key", "acc_1", thread, other, good, changelog.ErrMalformed},
			{"another purpose", "acc_1", thread, codec, openers()[(i+1)%3].seal(codec, "acc_1", thread, at), changelog.ErrMalformed},
			{"another purpose still", "acc_1", thread, codec, openers()[(i+2)%3].seal(codec, "acc_1", thread, at), changelog.ErrMalformed},
			{"nothing", "acc_1", thread, codec, nil, changelog.ErrMalformed},
			{"something behind it", "acc_1", thread, codec, append(bytes.Clone(good), 0), changelog.ErrMalformed},
			{"half of it", "acc_1", thread, codec, good[:len(good)/2], changelog.ErrMalformed},
		} {
			t.Run(o.name+"/"+test.name, func(t *testing.T) {
				t.Parallel()
				got, err := o.open(test.codec, test.account, test.scope, test.stamp)
				if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) {
					t.Errorf("error %v, want %v", err, test.want)
				}
				if err != nil && got != (changelog.Position{}) {
					t.Errorf("a refused stamp says %v", got)
				}
			})
		}
		// No single bit may change, and no byte may be missing.
		for n := range len(good) * 8 {
			bad := bytes.Clone(good)
			bad[n/8] ^= 1 << (n % 8)
			if _, err := o.open(codec, "acc_1", thread, bad); !errors.Is(err, changelog.ErrMalformed) {
				t.Errorf("%s with bit %d turned: %v", o.name, n, err)
			}
		}
		for n := range good {
			if _, err := o.open(codec, "acc_1", thread, good[:n]); !errors.Is(err, changelog.ErrMalformed) {
				t.Errorf("%s cut to %d bytes: %v", o.name, n, err)
			}
		}
	}
}

// The codec keeps its own key, whatever the caller does to the bytes it gave.
func TestCodec_OwnsItsKey(t *testing.T) {
	t.Parallel()
	key := []byte("sixteen byte key")
	c := changelog.NewCodec(key)
	clear(key)
	if _, err := codec.OpenStamp("a", changelog.AccountScope, c.Stamp("a", changelog.AccountScope, pos(1, 1))); err != nil {
		t.Errorf("the key changed with the caller's bytes: %v", err)
	}
}

// Clients keep the higher of two stamps by comparing bytes.
func TestStamp_SortsBySeq(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p, scope := positions().Draw(t, "position"), scopes().Draw(t, "scope")
		q := p
		q.Seq = changelog.Seq(rapid.OneOf(rapid.Uint64(), rapid.SampledFrom([]uint64{
			uint64(p.Seq) + 1, uint64(p.Seq) - 1, uint64(p.Seq) + 256, uint64(p.Seq),
		})).Draw(t, "seq"))
		got := bytes.Compare(codec.Stamp("a", scope, p), codec.Stamp("a", scope, q))
		if want := slices.Compare([]changelog.Seq{p.Seq}, []changelog.Seq{q.Seq}); got != want {
			t.Fatalf("stamps of %d and %d compare as %d", p.Seq, q.Seq, got)
		}
	})
}

// Whatever comes in, nothing opens but what was sealed, and sealing what came
// out gives the same bytes again.
func FuzzCodec_Open(f *testing.F) {
	for _, o := range openers() {
		f.Add(o.seal(codec, "acc_1", changelog.AccountScope, pos(1, 7)))
		f.Add(o.seal(codec, "acc_2", changelog.ThreadScope("thr_1"), pos(2, 1<<63)))
	}
	f.Add([]byte(nil))
	f.Add(bytes.Repeat([]byte{1}, 50))
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, err := codec.OpenCursor("acc_1", changelog.AccountScope, b); err == nil && !bytes.Equal(b, codec.Cursor("acc_1", changelog.AccountScope, p)) {
			t.Errorf("opened as a cursor: %x", b)
		}
		if p, err := codec.OpenStamp("acc_1", changelog.AccountScope, b); err == nil && !bytes.Equal(b, codec.Stamp("acc_1", changelog.AccountScope, p)) {
			t.Errorf("opened as a stamp: %x", b)
		}
		if p, key, err := codec.OpenPageToken("acc_1", changelog.AccountScope, b); err == nil && !bytes.Equal(b, codec.PageToken("acc_1", changelog.AccountScope, p, key)) {
			t.Errorf("opened as a page token: %x", b)
		}
	})
}

func TestWords(t *testing.T) {
	t.Parallel()
	if got := changelog.AccountScope.String() + " " + changelog.ThreadScope("thr_1").String(); got != "account thread:thr_1" {
		t.Errorf("scopes are called %s", got)
	}
	if got := epoch(0xab).String(); got != "ab000000000000000000000000000000" {
		t.Errorf("an epoch is called %s", got)
	}
	for name, page := range map[string]changelog.Page{
		"put":  {Put: make([]changelog.Entity, 1)},
		"del":  {Del: make([]changelog.Tombstone, 1)},
		"more": {More: true},
	} {
		if page.Empty() {
			t.Errorf("a page with %s is empty", name)
		}
	}
	if !(changelog.Page{Next: pos(1, 1)}).Empty() {
		t.Error("a page with nothing new is not empty")
	}
}
