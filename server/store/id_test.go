package store_test

import (
	"bytes"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/beckon-dev/beckon/server/store"
)

func TestAccountKeyOf(t *testing.T) {
	t.Parallel()
	const account, tail = "0123456789abcdef", "0123456789abcdefghijklmnop"
	const good = "tsk_" + account + "_" + tail
	tests := map[string]struct {
		id   string
		want bool
	}{
		"a task":               {good, true},
		"all digits":           {"tsk_vvvvvvvvvvvvvvvv_" + strings.Repeat("v", 26), true},
		"empty":                {"", false},
		"the kind alone":       {"tsk_", false},
		"another kind":         {"thr_" + good[4:], false},
		"no kind":              {good[4:], false},
		"no separator":         {"tsk" + good[4:], false},
		"two kinds":            {"tsk_" + good, false},
		"upper case":           {strings.ToUpper(good), false},
		"an upper-case letter": {strings.Replace(good, "a", "A", 1), false},
		"a letter past v":      {strings.Replace(good, "a", "w", 1), false},
		"one short":            {good[:len(good)-1], false},
		"one long":             {good + "0", false},
		"a newline behind":     {good + "\n", false},
		"a space before":       {" " + good, false},
		"separator moved":      {"tsk_" + account[:15] + "_" + "0" + tail, false},
		"separator missing":    {"tsk_" + account + "0" + tail, false},
		"a zero byte":          {"tsk_" + account[:15] + "\x00_" + tail, false},
		"two separators":       {"tsk_" + account + "_" + tail[:25] + "_", false},
		"an account":           {store.AccountID(account), false},
		"a wide character":     {"tsk_" + account[:14] + "é_" + tail, false},
		"a path":               {"tsk_../../../../../.._" + tail, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key, ok := store.AccountKeyOf(store.KindTask, tc.id)
			if ok != tc.want || ok && key != tc.id[4:20] || !ok && key != "" {
				t.Errorf("key %q, %v", key, ok)
			}
		})
	}
}

func TestAccountKey(t *testing.T) {
	t.Parallel()
	const key = "0123456789abcdef"
	for id, want := range map[string]bool{
		"acc_" + key: true, key: false, "acc_": false, "acc_" + key + "0": false, "acc_" + key[:15]: false,
		"ACC_" + key: false, "acc_" + key[:15] + "w": false, "tsk_" + key: false,
	} {
		if got, ok := store.AccountKey(id); ok != want || ok && got != key {
			t.Errorf("%q: %q, %v", id, got, ok)
		}
	}
}

// TestNewID: an id names its account and sorts by the millisecond of birth.
func TestNewID(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		account, err := store.NewAccountKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		early := time.UnixMilli(rapid.Int64Range(0, 1<<47).Draw(t, "ms"))
		late := early.Add(time.Duration(rapid.Int64Range(1, 1<<40).Draw(t, "later")) * time.Millisecond)
		one, err1 := store.NewID(store.KindDecision, account, early, rand.Reader)
		two, err2 := store.NewID(store.KindDecision, account, late, rand.Reader)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		if one >= two {
			t.Errorf("%s is not before %s", one, two)
		}
		for _, id := range []string{one, two} {
			if got, ok := store.AccountKeyOf(store.KindDecision, id); !ok || got != account {
				t.Errorf("%s: %q, %v", id, got, ok)
			}
		}
		if got, ok := store.AccountKey(store.AccountID(account)); !ok || got != account {
			t.Errorf("account: %q, %v", got, ok)
		}
	})
}

// TestNewIDNeedsChance: without a random source there is no id, not a guessable one.
func TestNewIDNeedsChance(t *testing.T) {
	t.Parallel()
	short := func() *bytes.Reader { return bytes.NewReader(make([]byte, 9)) }
	if _, err := store.NewAccountKey(short()); err == nil {
		t.Error("a key from 72 bits")
	}
	if id, err := store.NewID(store.KindTask, "0123456789abcdef", time.UnixMilli(1), short()); err == nil {
		t.Errorf("an id from 72 bits: %s", id)
	}
}

func FuzzAccountKeyOf(f *testing.F) {
	f.Add("tsk_0123456789abcdef_0123456789abcdefghijklmnop")
	f.Add("tsk_")
	f.Fuzz(func(t *testing.T, id string) {
		if key, ok := store.AccountKeyOf(store.KindTask, id); ok {
			if got, ok := store.AccountKey(store.AccountID(key)); !ok || got != key || !strings.HasPrefix(id, "tsk_"+key+"_") {
				t.Errorf("%q gives %q", id, key)
			}
		}
	})
}
