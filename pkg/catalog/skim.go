package catalog

import (
	"bytes"
	"errors"
)

// The functions in this file find the parts of text that was already parsed as JSON once. They look
// at quotes and brackets only, several times faster than a parser. For other text they return
// errBroken, or meaningless parts.

var errBroken = errors.New("not valid JSON")

// skimMembers returns the members of the JSON object in text. The slice is valid until the next
// call.
func (s *scanner) skimMembers(text []byte) ([]member, error) {
	at := skipSpace(text, 0)
	if at == len(text) || text[at] != '{' {
		return nil, errNotObject
	}
	s.members = s.members[:0]
	for at = skipSpace(text, at+1); at < len(text) && text[at] == '"'; at = skipSpace(text, at) {
		end := skipString(text, at)
		name := text[at:end]
		at = skipSpace(text, end)
		if at == len(text) || text[at] != ':' {
			return nil, errBroken
		}
		at = skipSpace(text, at+1)
		end = skipValue(text, at)
		if end == at {
			return nil, errBroken
		}
		s.members = append(s.members, member{name: s.name(name), start: at, end: end})
		if at = skipSpace(text, end); at < len(text) && text[at] == ',' {
			at++
		}
	}
	if at == len(text) || text[at] != '}' {
		return nil, errBroken
	}
	return s.members, nil
}

// skimElements returns the elements of the JSON array in text. The slice is valid until the next
// call.
func (s *scanner) skimElements(text []byte) ([]span, error) {
	at := skipSpace(text, 0)
	if at == len(text) || text[at] != '[' {
		return nil, errNotArray
	}
	s.elems = s.elems[:0]
	for at = skipSpace(text, at+1); at < len(text) && text[at] != ']'; at = skipSpace(text, at) {
		end := skipValue(text, at)
		if end == at {
			return nil, errBroken
		}
		s.elems = append(s.elems, span{at, end})
		if at = skipSpace(text, end); at < len(text) && text[at] == ',' {
			at++
		}
	}
	if at == len(text) {
		return nil, errBroken
	}
	return s.elems, nil
}

// name returns a member's name. Catalogs repeat a few names, so they are cached.
func (s *scanner) name(quoted []byte) string {
	const most = 1000
	name, ok := s.names[string(quoted)]
	if !ok {
		name, _ = asString(quoted)
		if s.names == nil {
			s.names = map[string]string{}
		}
		if len(s.names) < most {
			s.names[string(quoted)] = name
		}
	}
	return name
}

// skipSpace returns the offset of the next byte that is not white space.
func skipSpace(text []byte, at int) int {
	for at < len(text) {
		switch text[at] {
		case ' ', '\t', '\r', '\n':
			at++
		default:
			return at
		}
	}
	return at
}

// skipString returns the end of the string that begins at a quote.
func skipString(text []byte, at int) int {
	for begin := at; ; {
		n := bytes.IndexByte(text[at+1:], '"')
		if n < 0 {
			return len(text)
		}
		if at += 1 + n; !escaped(text[begin:at]) {
			return at + 1
		}
	}
}

// skipValue returns the end of the value at an offset.
func skipValue(text []byte, at int) int {
	depth := 0
	for at < len(text) {
		switch text[at] {
		case '"':
			at = skipString(text, at)
		case '{', '[':
			depth++
			at++
		case '}', ']':
			if depth == 0 {
				return at
			}
			depth--
			at++
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return at
			}
			at++
			continue
		default: // a number, a word or, inside, a colon
			for at < len(text) && !ends[text[at]] {
				at++
			}
		}
		if depth == 0 {
			return at
		}
	}
	return at
}

// ends are the bytes that may follow a number or word.
var ends = [256]bool{
	'"': true, '{': true, '}': true, '[': true, ']': true, ',': true, ' ': true, '\t': true, '\r': true, '\n': true,
}
