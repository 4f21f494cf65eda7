package catalog

import (
	"bytes"
	"errors"
)

// What was once read as JSON need not be read so again to find its parts. The
// functions here go by quotes and brackets alone, at several times the speed of
// a parser. Of a text that is no JSON they make what they can, or errBroken.

var errBroken = errors.New("it is not JSON")

// skimMembers returns the members of the JSON object that text holds. The slice is
// good until the next call.
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

// skimElements returns where the elements of the JSON array stand that text
// holds. The slice is good until the next call.
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

// name is the string of a member's name. Catalogs have few of them, again and
// again.
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

// skipSpace returns where the next byte is that is no white space.
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

// skipValue returns the end of the value that begins somewhere.
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
		default: // a number, a word or, within, a colon
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

// ends are the bytes that may follow a number or a word.
var ends = [256]bool{
	'"': true, '{': true, '}': true, '[': true, ']': true, ',': true, ' ': true, '\t': true, '\r': true, '\n': true,
}
