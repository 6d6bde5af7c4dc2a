package app

import (
	"errors"
	"strconv"
	"sync"
	"testing"

	"github.com/beckon-dev/beckon/sync/changelog"
)

func keyOf(n int) pageKey { return pageKey{account: "a", head: changelog.Seq(n)} }

// Many who ask for one page at the same time cause one read, and one making.
func TestPages_OneReads(t *testing.T) {
	t.Parallel()
	p := newPages()
	var reads, makes int // of whoever is the one
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			d, err := p.share(keyOf(1), func() (Delta, error) {
				reads++
				return Delta{Next: []byte("next"), Made: &Made{}}, nil
			})
			if err != nil || string(d.Next) != "next" {
				t.Error(d, err)
				return
			}
			made, err := d.Made.Do(func() (any, error) { makes++; return "made", nil })
			if err != nil || made != "made" {
				t.Error(made, err)
			}
		})
	}
	all.Wait()
	if reads != 1 || makes != 1 {
		t.Errorf("%d reads, %d makings", reads, makes)
	}
}

// A failed read is its caller's alone, and the next one reads again.
func TestPages_AFailureIsNotShared(t *testing.T) {
	t.Parallel()
	p := newPages()
	broken := errors.New("broken")
	if _, err := p.share(keyOf(1), func() (Delta, error) { return Delta{}, broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
	d, err := p.share(keyOf(1), func() (Delta, error) { return Delta{Next: []byte("n")}, nil })
	if err != nil || string(d.Next) != "n" {
		t.Error(d, err)
	}
	func() {
		defer func() { _ = recover() }()
		_, _ = p.share(keyOf(2), func() (Delta, error) { panic("a reader") })
	}()
	d, err = p.share(keyOf(2), func() (Delta, error) { return Delta{Next: []byte("m")}, nil })
	if err != nil || string(d.Next) != "m" {
		t.Error("after a panic:", d, err)
	}
}

// What is kept has a bound in bytes and in number.
func TestPages_Bounds(t *testing.T) {
	t.Parallel()
	p := newPages()
	for n := range 3 * sharedPages {
		body := make([]byte, 100)
		if n%50 == 0 {
			body = make([]byte, sharedBytes/8)
		}
		_, _ = p.share(keyOf(n), func() (Delta, error) {
			return Delta{Page: changelog.Page{Put: []changelog.Entity{{Key: changelog.Key{ID: strconv.Itoa(n)}, Body: body}}}}, nil
		})
		sum := 0
		for _, in := range p.known {
			sum += in.bytes
		}
		if sum != p.bytes || sum > sharedBytes || len(p.known) > sharedPages || len(p.order) > sharedPages {
			t.Fatalf("after %d: %d bytes, counted as %d, in %d pages, %d in order", n, sum, p.bytes, len(p.known), len(p.order))
		}
	}
	if len(p.known) < 10 {
		t.Errorf("only %d pages are kept", len(p.known))
	}
	whole := make([]byte, sharedBytes)
	_, _ = p.share(keyOf(-1), func() (Delta, error) {
		return Delta{Page: changelog.Page{Put: []changelog.Entity{{Body: whole}}}}, nil
	})
	if p.bytes != 0 {
		t.Errorf("a page above the bound is kept: %d bytes", p.bytes)
	}
}
