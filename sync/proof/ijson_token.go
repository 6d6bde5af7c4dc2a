package proof

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxInteger is the largest integer every JSON reader keeps exact: 2^53−1.
const maxInteger = 1<<53 - 1

// noncharacter reports the 66 code points reserved for internal use, which
// RFC 7493 §2.1 keeps out of I-JSON.
func noncharacter(r rune) bool {
	return r >= 0xFDD0 && r <= 0xFDEF || r&0xFFFE == 0xFFFE
}

// checkText refuses a Go string that could not stand in an I-JSON document.
func checkText(text string) error {
	for i, r := range text {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(text[i:]); size == 1 {
				return &InputError{Reason: ReasonInvalidUTF8, Offset: i}
			}
		}
		if noncharacter(r) {
			return &InputError{Reason: ReasonNoncharacter, Offset: i}
		}
	}
	return nil
}

// escape reads one escape sequence and gives the character it stands for.
func (s *scanner) escape() (rune, error) {
	start := s.at
	s.at++
	c := s.peek()
	if at := strings.IndexByte(`"\/bfnrt`, c); c != 0 && at >= 0 {
		s.at++
		return rune("\"\\/\b\f\n\r\t"[at]), nil
	}
	if c != 'u' {
		return 0, s.refuse(ReasonSyntax)
	}
	r, ok := s.hex4()
	if !ok {
		return 0, s.refuse(ReasonSyntax)
	}
	if utf16.IsSurrogate(r) {
		// The pair must be complete and in order; DecodeRune says so.
		if s.peek() != '\\' {
			s.at = start
			return 0, s.refuse(ReasonLoneSurrogate)
		}
		s.at++
		low, ok := s.hex4()
		if r = utf16.DecodeRune(r, low); !ok || r == utf8.RuneError {
			s.at = start
			return 0, s.refuse(ReasonLoneSurrogate)
		}
	}
	if noncharacter(r) {
		s.at = start
		return 0, s.refuse(ReasonNoncharacter)
	}
	return r, nil
}

// hex4 reads "uXXXX".
func (s *scanner) hex4() (rune, bool) {
	if s.peek() != 'u' || len(s.in)-s.at < 5 {
		return 0, false
	}
	var r rune
	for _, c := range s.in[s.at+1 : s.at+5] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	s.at += 5
	return r, true
}

// number reads one number by the grammar of RFC 8259 §6 and refuses a value the
// canonical form would change.
func (s *scanner) number() error {
	start := s.at
	if s.peek() == '-' {
		s.at++
	}
	if s.peek() == '0' {
		s.at++
		if s.digits() {
			return s.refuse(ReasonSyntax) // a leading zero
		}
	} else if !s.digits() {
		return s.refuse(ReasonSyntax)
	}
	if s.peek() == '.' {
		s.at++
		if !s.digits() {
			return s.refuse(ReasonSyntax)
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.at++
		if c := s.peek(); c == '+' || c == '-' {
			s.at++
		}
		if !s.digits() {
			return s.refuse(ReasonSyntax)
		}
	}
	if why := checkNumber(string(s.in[start:s.at])); why != "" {
		s.at = start
		return s.refuse(why)
	}
	return nil
}

func (s *scanner) digits() bool {
	start := s.at
	for c := s.peek(); c >= '0' && c <= '9'; c = s.peek() {
		s.at++
	}
	return s.at > start
}

// checkNumber compares the decimal value written with the one a double holds.
// Rounding is refused, not repaired: the person would approve another amount
// than the one the agent meant.
func checkNumber(literal string) Reason {
	value, err := strconv.ParseFloat(literal, 64)
	if err != nil || math.Abs(value) > maxInteger {
		return ReasonNumberRange
	}
	digits, exponent, ok := decimal(literal)
	kept, keptExponent, _ := decimal(strconv.FormatFloat(value, 'e', -1, 64))
	if !ok || digits != kept || exponent != keptExponent {
		return ReasonNumberPrecision
	}
	return ""
}

// decimal splits a number into its significant digits and the power of ten they
// are multiplied with; the sign is left out and zero is ("", 0).
func decimal(literal string) (digits string, exponent int, ok bool) {
	literal = strings.TrimPrefix(literal, "-")
	mantissa, power := literal, ""
	if at := strings.IndexAny(literal, "eE"); at >= 0 {
		mantissa, power = literal[:at], literal[at+1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return "", 0, true
	}
	if power != "" {
		n, err := strconv.Atoi(power)
		if err != nil {
			return "", 0, false
		}
		exponent = n
	}
	exponent -= len(fraction)
	short := strings.TrimRight(digits, "0")
	return short, exponent + len(digits) - len(short), true
}
