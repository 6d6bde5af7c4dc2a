package store_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/beckon-dev/beckon/server/store"
)

// format is the folder of the records as the present format version writes
// them. Older folders stay, so that what is read from them is tested on.
const format = "testdata/format-1"

// TestRecordsAreAll finds a codec that the other tests here do not know.
func TestRecordsAreAll(t *testing.T) {
	t.Parallel()
	var known []string
	for _, r := range store.Records() {
		known = append(known, r.Codec)
	}
	slices.Sort(known)
	// Settings, installations and links are rows and entities by one codec.
	if diff := cmp.Diff(declaredCodecs(t), known); diff != "" {
		t.Errorf("codecs declared (-) and in Records (+):\n%s", diff)
	}
}

func TestRecordRoundTrip(t *testing.T) {
	t.Parallel()
	for _, r := range store.Records() {
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				v := reflect.New(r.Type).Elem()
				fill(v, drawn{t})
				carried(t, r, v.Interface())
			})
		})
	}
}

// TestRecordCarriesEveryField sets one place at a time, so a field that a
// codec forgets, or mixes up with another, is named.
func TestRecordCarriesEveryField(t *testing.T) {
	t.Parallel()
	for _, r := range store.Records() {
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			zero, err := r.Encode(reflect.Zero(r.Type).Interface())
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range leaves(r.Type, "") {
				v := reflect.New(r.Type).Elem()
				l.set(v)
				if b := carried(t, r, v.Interface()); bytes.Equal(b, zero) {
					t.Errorf("%s leaves no trace", l.path)
				}
			}
		})
	}
}

type failer interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// carried writes a value, reads it and writes it again.
func carried(t failer, r store.Record, v any) []byte {
	t.Helper()
	b, err := r.Encode(v)
	if err != nil {
		t.Fatalf("encode %+v: %v", v, err)
	}
	if len(b) == 0 {
		t.Errorf("no bytes: an engine refuses them")
	}
	got, err := r.Decode(b)
	if err != nil {
		t.Fatalf("decode: %v", err)
	}
	if diff := cmp.Diff(v, got); diff != "" {
		t.Errorf("written (-), read (+):\n%s", diff)
	}
	again, err := r.Encode(got)
	if err != nil || !bytes.Equal(b, again) {
		t.Errorf("equal values have other bytes: %x, then %x (%v)", b, again, err)
	}
	return b
}

// TestRecordBytes holds the disk format: today's bytes are those of the file,
// and those of the file are read. STORE_GOLDEN=write writes files that are
// missing; one that is there is part of a format that somebody has on disk.
func TestRecordBytes(t *testing.T) {
	t.Parallel()
	for _, r := range store.Records() {
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			want := sample(r.Type)
			b, err := r.Encode(want)
			if err != nil {
				t.Fatal(err)
			}
			file := golden(t, r.Name+".bin", b)
			if !bytes.Equal(b, file) {
				t.Errorf("format changed:\nfile %x\nnow  %x", file, b)
			}
			got, err := r.Decode(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("value (-), file (+):\n%s", diff)
			}
		})
	}
}

// golden reads a file of the format, and writes it first if that is asked for
// and it is not there.
func golden(t *testing.T, name string, b []byte) []byte {
	t.Helper()
	path := filepath.Join(format, name)
	file, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) && os.Getenv("STORE_GOLDEN") == "write" {
		file, err = b, os.WriteFile(path, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func TestRecordRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		bytes []byte
		want  error
	}{
		"nothing":         {nil, store.ErrCorrupt},
		"version 0":       {[]byte{0}, store.ErrCorrupt},
		"version 2":       {[]byte{2}, store.ErrFormatNewer},
		"no message":      {[]byte{1, 0xff}, store.ErrCorrupt},
		"JSON":            {[]byte(`{"ID":"x"}`), store.ErrFormatNewer},
		"cut":             {[]byte{1, 0x0a, 5, 'a'}, store.ErrCorrupt},
		"not UTF-8":       {[]byte{1, 0x0a, 1, 0xff}, store.ErrCorrupt},
		"enum of 9 bits":  {[]byte{1, 0x38, 0x80, 2}, store.ErrCorrupt},             // status 256
		"digest of 1":     {[]byte{1, 0x62, 1, 9}, store.ErrCorrupt},                // asked
		"inner enum":      {[]byte{1, 0x82, 1, 3, 0x20, 0x80, 2}, store.ErrCorrupt}, // answer.surface 256
		"unknown field":   {[]byte{1, 0xf8, 0x3f, 1}, nil},                          // 1023: dropped
		"nothing but one": {[]byte{1}, nil},
	}
	r := record(t, "entity-decision")
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := r.Decode(tc.bytes); !errors.Is(err, tc.want) {
				t.Errorf("error %v, want %v", err, tc.want)
			}
		})
	}
}

// TestRecordErrorsAreSilent: what is in a record must not reach a log.
func TestRecordErrorsAreSilent(t *testing.T) {
	t.Parallel()
	r := record(t, "address")
	b, err := r.Encode(sample(r.Type))
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Decode(append(b, 0xff))
	if err == nil || strings.Contains(err.Error(), "text") {
		t.Errorf("error: %v", err)
	}
}

// TestRecordNeedsText: a string that is no text is refused, not changed.
func TestRecordNeedsText(t *testing.T) {
	t.Parallel()
	_, err := record(t, "agent").Encode(store.Agent{Name: "secret \xff"})
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("error: %v", err)
	}
}

func record(t testing.TB, name string) store.Record {
	t.Helper()
	for _, r := range store.Records() {
		if r.Name == name {
			return r
		}
	}
	t.Fatalf("no record %q", name)
	return store.Record{}
}

// FuzzRecord reads any bytes as any record. What can be read is written again
// and read as the same.
func FuzzRecord(f *testing.F) {
	records := store.Records()
	for i, r := range records {
		b, err := r.Encode(sample(r.Type))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(i), b)
		f.Add(uint8(i), b[:len(b)/2])
	}
	f.Fuzz(func(t *testing.T, n uint8, b []byte) {
		r := records[int(n)%len(records)]
		v, err := r.Decode(b)
		if err != nil {
			if !errors.Is(err, store.ErrCorrupt) && !errors.Is(err, store.ErrFormatNewer) {
				t.Fatalf("untyped error: %v", err)
			}
			return
		}
		again, err := r.Encode(v)
		if err != nil {
			t.Fatalf("encode what was read: %v", err)
		}
		got, err := r.Decode(again)
		if err != nil {
			t.Fatalf("decode: %v", err)
		}
		third, err := r.Encode(got)
		if err != nil || !bytes.Equal(again, third) {
			t.Fatalf("not the same: %x, then %x (%v)", again, third, err)
		}
	})
}

// FuzzEntityRow reads any bytes as an entity row.
func FuzzEntityRow(f *testing.F) {
	f.Add(store.EncodeEntityRow(1<<40, false, "", []byte("body")))
	f.Add(store.EncodeEntityRow(1<<40, false, "mutation", []byte("body")))
	f.Add(store.EncodeEntityRow(7, true, "", nil))
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		version, deleted, origin, body, err := store.DecodeEntityRow(b)
		if err != nil {
			if !errors.Is(err, store.ErrCorrupt) {
				t.Fatalf("untyped error: %v", err)
			}
			return
		}
		if again := store.EncodeEntityRow(version, deleted, origin, body); !deleted && !bytes.Equal(b, again) {
			t.Fatalf("%x became %x", b, again)
		}
	})
}
