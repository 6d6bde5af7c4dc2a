package store_test

import (
	"fmt"
	"math"
	"reflect"
	"time"

	"pgregory.net/rapid"

	"github.com/beckon-dev/beckon/sync/changelog"
)

// source gives the leaves of a value. present decides whether a pointer is
// set, and how long a list is.
type source interface {
	number(bits int, signed bool) uint64
	text() string
	raw(n int) []byte
	micros() int64
	present() bool
	length() int
}

// fill sets every field of v from src by reflection, so that a new field of a
// domain type is in every test without anybody thinking of it. A type that the
// tests do not know is a panic and not a hole. Lists are nil or not empty: an
// empty one is the same as none on disk.
func fill(v reflect.Value, src source) {
	switch v.Interface().(type) {
	case time.Time:
		if us := src.micros(); us != 0 {
			v.Set(reflect.ValueOf(time.UnixMicro(us).UTC()))
		}
		return
	case time.Duration:
		v.SetInt(src.micros() * int64(time.Microsecond))
		return
	case changelog.Base:
		v.Set(reflect.ValueOf(changelog.Base{
			Epoch: int(src.number(31, false)), Head: changelog.Seq(src.number(64, false)), // a place in a list
		}))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for _, field := range v.Fields() {
			fill(field, src)
		}
	case reflect.Pointer:
		if src.present() {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), src)
		}
	case reflect.Slice:
		fillSlice(v, src)
	case reflect.Array:
		reflect.Copy(v, reflect.ValueOf(src.raw(v.Len())))
	case reflect.Map:
		fillMap(v, src)
	case reflect.String:
		v.SetString(src.text())
	case reflect.Bool:
		v.SetBool(src.present())
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(src.number(v.Type().Bits(), false))
	case reflect.Int, reflect.Int32:
		v.SetInt(int64(src.number(v.Type().Bits(), true)))
	default:
		panic(fmt.Sprintf("no way to fill a %s", v.Type()))
	}
}

func fillSlice(v reflect.Value, src source) {
	n := src.length()
	if n == 0 {
		return
	}
	if v.Type().Elem().Kind() == reflect.Uint8 && v.Type().Elem().PkgPath() == "" {
		v.SetBytes(src.raw(n))
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), n, n))
	for i := range n {
		fill(v.Index(i), src)
	}
}

func fillMap(v reflect.Value, src source) {
	n := src.length()
	if n == 0 {
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for range n {
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, src)
		fill(value, src)
		v.SetMapIndex(key, value)
	}
}

// drawn is any value.
type drawn struct{ t *rapid.T }

func (d drawn) number(bits int, signed bool) uint64 {
	if signed {
		return uint64(rapid.Int64Range(-1<<(bits-1), 1<<(bits-1)-1).Draw(d.t, "n"))
	}
	return rapid.Uint64Range(0, math.MaxUint64>>(64-bits)).Draw(d.t, "n")
}

func (d drawn) text() string { return rapid.StringN(0, 6, -1).Draw(d.t, "s") }

func (d drawn) raw(n int) []byte { return rapid.SliceOfN(rapid.Byte(), n, n).Draw(d.t, "b") }

func (d drawn) micros() int64 { return rapid.Int64Range(0, math.MaxInt64/1000).Draw(d.t, "us") }

func (d drawn) present() bool { return rapid.Bool().Draw(d.t, "present") }

func (d drawn) length() int { return rapid.IntRange(0, 3).Draw(d.t, "len") }

// counted is the one value of each type that lies in testdata: everything is
// present and no two leaves are equal.
type counted struct{ n *int }

func (c counted) next() int { *c.n++; return *c.n }

func (c counted) number(bits int, signed bool) uint64 {
	if bits == 8 {
		return uint64(c.next()%250 + 1)
	}
	n := uint64(c.next())*10_007 + 1
	if signed && n%2 == 0 {
		return -n
	}
	return n
}

func (c counted) text() string { return fmt.Sprintf("text %d ü", c.next()) }

func (c counted) raw(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(c.next() + i)
	}
	return b
}

func (c counted) micros() int64 { return 1_800_000_000_000_001 + int64(c.next())*1_000_003 }

func (c counted) present() bool { return true }

func (c counted) length() int { return 2 }

// sample is that value.
func sample(t reflect.Type) any {
	v := reflect.New(t).Elem()
	fill(v, counted{n: new(int)})
	return v.Interface()
}

// leaf is one place of a type and a way to make it, and nothing else, not zero.
type leaf struct {
	path string
	set  func(root reflect.Value)
}

// leaves lists the places of a type: each field, each pointer as such, each
// list as such, and what is in them.
func leaves(t reflect.Type, path string) []leaf {
	whole := leaf{path, func(v reflect.Value) { fill(v, counted{n: new(int)}) }}
	if t == reflect.TypeFor[time.Time]() || t == reflect.TypeFor[changelog.Base]() {
		return []leaf{whole}
	}
	var out []leaf
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			out = append(out, below(leaves(t.Field(i).Type, path+"."+t.Field(i).Name), func(v reflect.Value) reflect.Value { return v.Field(i) })...)
		}
		return out
	case reflect.Pointer:
		enter := func(v reflect.Value) reflect.Value { v.Set(reflect.New(t.Elem())); return v.Elem() }
		bare := leaf{path, func(v reflect.Value) { enter(v) }}
		return append([]leaf{bare}, below(leaves(t.Elem(), path+"→"), enter)...)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return []leaf{whole}
		}
		enter := func(v reflect.Value) reflect.Value { v.Set(reflect.MakeSlice(t, 1, 1)); return v.Index(0) }
		bare := leaf{path, func(v reflect.Value) { enter(v) }}
		return append([]leaf{bare}, below(leaves(t.Elem(), path+"[0]"), enter)...)
	default:
		return []leaf{whole}
	}
}

func below(list []leaf, enter func(reflect.Value) reflect.Value) []leaf {
	out := make([]leaf, len(list))
	for i, l := range list {
		out[i] = leaf{l.path, func(v reflect.Value) { l.set(enter(v)) }}
	}
	return out
}
