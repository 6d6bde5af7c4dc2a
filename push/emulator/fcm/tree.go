package fcm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// node is a JSON value that keeps what Go's maps lose: the order of names, which
// Google's error paths count, and names that come twice.
type node struct {
	kind  byte     // '{', '[', '"', '0' for a number, 't' for a boolean, 'n' for null
	text  string   // of a string its value, else as written
	names []string // of an object
	items []*node  // of an object or a list
}

// maxDepth bounds the nesting that is read.
const maxDepth = 32

var errDeep = errors.New("nested too deep")

// parseTree reads one JSON value that fills the whole text.
func parseTree(text []byte) (*node, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	n, err := parseNode(dec, 0)
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("text after the value")
	}
	return n, nil
}

func parseNode(dec *json.Decoder, depth int) (*node, error) {
	if depth > maxDepth {
		return nil, errDeep
	}
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch v := token.(type) {
	case json.Delim:
		return parseItems(dec, byte(v), depth)
	case string:
		return &node{kind: '"', text: v}, nil
	case json.Number:
		return &node{kind: '0', text: v.String()}, nil
	case bool:
		return &node{kind: 't', text: fmt.Sprint(v)}, nil
	default:
		return &node{kind: 'n', text: "null"}, nil
	}
}

func parseItems(dec *json.Decoder, kind byte, depth int) (*node, error) {
	n := &node{kind: kind}
	for dec.More() {
		if kind == '{' {
			name, err := dec.Token()
			if err != nil {
				return nil, err
			}
			n.names = append(n.names, fmt.Sprint(name)) // the decoder gives text only
		}
		item, err := parseNode(dec, depth+1)
		if err != nil {
			return nil, err
		}
		n.items = append(n.items, item)
	}
	_, err := dec.Token() // the closing bracket
	return n, err
}

// snake is the name of a field in the .proto file; JSON may have it in camel case
// too (Protocol Buffers: "ProtoJSON format").
func snake(name string) string {
	var out strings.Builder
	for _, c := range name {
		if 'A' <= c && c <= 'Z' {
			out.WriteByte('_')
			c += 'a' - 'A'
		}
		out.WriteRune(c)
	}
	return out.String()
}

// at follows names through objects; the result is nil for what is absent or null.
func (n *node) at(path ...string) *node {
	for _, name := range path {
		var next *node
		if n != nil && n.kind == '{' {
			for i, has := range n.names {
				if snake(has) == name {
					next = n.items[i]
				}
			}
		}
		n = next
	}
	if n == nil || n.kind == 'n' {
		return nil
	}
	return n
}

// str is the text at a path, "" for none.
func (n *node) str(path ...string) string {
	if v := n.at(path...); v != nil && v.kind == '"' {
		return v.text
	}
	return ""
}

// strs are the texts of a list at a path.
func (n *node) strs(path ...string) []string {
	v := n.at(path...)
	if v == nil {
		return nil
	}
	var out []string
	for _, item := range v.items {
		out = append(out, item.text)
	}
	return out
}

// written is a scalar as an error message quotes it.
func (n *node) written() string {
	switch n.kind {
	case '"':
		return `"` + n.text + `"`
	case '{':
		return "{...}"
	case '[':
		return "[...]"
	default:
		return n.text
	}
}
