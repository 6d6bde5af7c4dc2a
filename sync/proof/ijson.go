package proof

import (
	"unicode/utf8"
)

// The limits of one document. They bound the work of everything that walks it
// later: canonicaliser, schema validator, screens.
const (
	// MaxDepth is how deep objects and arrays may nest; the top level is 1.
	MaxDepth = 32
	// MaxKeys is how many members all objects of a document may have together.
	MaxKeys = 512
)

// scanner walks a document once and refuses what is not I-JSON (RFC 7493) in a
// stricter reading. encoding/json cannot be asked for this: it replaces lone
// surrogates and bad UTF-8, keeps the last of duplicate members and rounds
// numbers, each silently.
type scanner struct {
	in    []byte
	at    int
	depth int
	keys  int
}

// check walks all of raw; object demands an object at the top level.
func check(raw []byte, object bool) error {
	s := &scanner{in: raw}
	s.space()
	if object && s.at < len(s.in) && s.in[s.at] != '{' {
		// A document that is no JSON at all is called that, not "no object".
		if err := s.value(); err != nil {
			return err
		}
		return &InputError{Reason: ReasonNotObject}
	}
	if err := s.value(); err != nil {
		return err
	}
	s.space()
	if s.at < len(s.in) {
		return s.refuse(ReasonTrailing)
	}
	return nil
}

func (s *scanner) refuse(why Reason) error {
	return &InputError{Reason: why, Offset: s.at}
}

func (s *scanner) space() {
	for s.at < len(s.in) {
		switch s.in[s.at] {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return
		}
	}
}

// peek gives the next byte, or 0, which no JSON token starts with.
func (s *scanner) peek() byte {
	if s.at < len(s.in) {
		return s.in[s.at]
	}
	return 0
}

func (s *scanner) value() error {
	switch c := s.peek(); {
	case c == '{':
		return s.nested(s.object)
	case c == '[':
		return s.nested(s.array)
	case c == '"':
		_, err := s.text(false)
		return err
	case c == '-' || c >= '0' && c <= '9':
		return s.number()
	case c == 't':
		return s.word("true")
	case c == 'f':
		return s.word("false")
	case c == 'n':
		return s.word("null")
	default:
		return s.refuse(ReasonSyntax)
	}
}

func (s *scanner) word(want string) error {
	if len(s.in)-s.at < len(want) || string(s.in[s.at:s.at+len(want)]) != want {
		return s.refuse(ReasonSyntax)
	}
	s.at += len(want)
	return nil
}

func (s *scanner) nested(walk func() error) error {
	s.depth++
	if s.depth > MaxDepth {
		return s.refuse(ReasonTooDeep)
	}
	s.at++
	err := walk()
	s.depth--
	return err
}

func (s *scanner) array() error {
	s.space()
	if s.peek() == ']' {
		s.at++
		return nil
	}
	for {
		s.space()
		if err := s.value(); err != nil {
			return err
		}
		if done, err := s.next(']'); done || err != nil {
			return err
		}
	}
}

func (s *scanner) object() error {
	s.space()
	if s.peek() == '}' {
		s.at++
		return nil
	}
	seen := map[string]struct{}{}
	for {
		s.space()
		if err := s.member(seen); err != nil {
			return err
		}
		if done, err := s.next('}'); done || err != nil {
			return err
		}
	}
}

func (s *scanner) member(seen map[string]struct{}) error {
	start := s.at
	if s.peek() != '"' {
		return s.refuse(ReasonSyntax)
	}
	name, err := s.text(true)
	if err != nil {
		return err
	}
	if _, twice := seen[name]; twice {
		s.at = start
		return s.refuse(ReasonDuplicateKey)
	}
	seen[name] = struct{}{}
	if s.keys++; s.keys > MaxKeys {
		s.at = start
		return s.refuse(ReasonTooManyKeys)
	}
	s.space()
	if s.peek() != ':' {
		return s.refuse(ReasonSyntax)
	}
	s.at++
	s.space()
	return s.value()
}

// next consumes the comma between elements or the closing byte after the last.
func (s *scanner) next(closing byte) (done bool, err error) {
	s.space()
	switch s.peek() {
	case ',':
		s.at++
		return false, nil
	case closing:
		s.at++
		return true, nil
	default:
		return false, s.refuse(ReasonSyntax)
	}
}

// text walks a string; keep asks for its unescaped value, which only member
// names need.
func (s *scanner) text(keep bool) (string, error) {
	var out []byte
	s.at++
	for {
		switch c := s.peek(); {
		case c == '"':
			s.at++
			return string(out), nil
		case c < ' ': // also the end of the input
			return "", s.refuse(ReasonSyntax)
		case c == '\\':
			r, err := s.escape()
			if err != nil {
				return "", err
			}
			if keep {
				out = utf8.AppendRune(out, r)
			}
		case c < utf8.RuneSelf:
			s.at++
			if keep {
				out = append(out, c)
			}
		default:
			r, size := utf8.DecodeRune(s.in[s.at:])
			if r == utf8.RuneError && size == 1 {
				return "", s.refuse(ReasonInvalidUTF8)
			}
			if noncharacter(r) {
				return "", s.refuse(ReasonNoncharacter)
			}
			s.at += size
			if keep {
				out = utf8.AppendRune(out, r)
			}
		}
	}
}
