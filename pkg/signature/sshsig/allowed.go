package sshsig

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// options are the restrictions that a line of an allowed_signers file puts on its key.
type options struct {
	authority     bool      // signs only certificates
	namespaces    string    // patterns; "" means all
	after, before time.Time // zero if unlimited
}

// parseAllowed parses "principals [options] type key [comment]".
func parseAllowed(line string, zone *time.Location) (s signer, err error) {
	var rest string
	if s.principals, rest, err = principals(line); err != nil {
		return s, err
	}
	if rest == "" {
		return s, fmt.Errorf("after the principals %.40q there is no key", s.principals)
	}
	var problem error
	if s.key, _, problem = parseKey(rest); problem == nil {
		return s, nil
	}
	opts, after := cutOptions(rest)
	if after == "" || !strings.ContainsAny(opts, "=,") && !strings.EqualFold(opts, "cert-authority") {
		return s, problem // without options, this is the key
	}
	if s.options, err = parseOptions(opts, zone); err != nil {
		return s, err
	}
	s.key, _, err = parseKey(after)
	return s, err
}

// principals splits off the first word, which may be quoted.
func principals(line string) (list, rest string, err error) {
	quoted, ok := strings.CutPrefix(line, `"`)
	if !ok {
		list, rest = word(line)
		return list, rest, nil
	}
	list, rest, ok = strings.Cut(quoted, `"`)
	if !ok || list == "" || strings.TrimLeft(rest, " \t") == rest {
		return "", "", errors.New("the principals are quoted and the quote does not end, or is empty")
	}
	return list, strings.TrimLeft(rest, " \t"), nil
}

// cutOptions splits off everything before the first space that is not in quotes.
func cutOptions(text string) (opts, rest string) {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text) && text[i+1] == '"':
			i++
		case c == '"':
			quoted = !quoted
		case (c == ' ' || c == '\t') && !quoted:
			return text[:i], strings.TrimLeft(text[i:], " \t")
		}
	}
	return text, ""
}

func parseOptions(text string, zone *time.Location) (o options, err error) {
	seen := map[string]bool{}
	for rest, more := text, true; more; {
		var name, value string
		if name, value, rest, more, err = nextOption(rest); err != nil {
			return o, err
		}
		if seen[name] {
			return o, fmt.Errorf("option %s is there twice", name)
		}
		seen[name] = true
		switch name {
		case "cert-authority":
			o.authority = true
		case "namespaces":
			if o.namespaces = value; value == "" {
				err = errors.New("option namespaces is empty")
			}
		case "valid-after":
			o.after, err = parseTime(value, zone)
		case "valid-before":
			o.before, err = parseTime(value, zone)
		default:
			err = fmt.Errorf("option %.40q is none of cert-authority, namespaces, valid-after and valid-before", name)
		}
		if err != nil {
			return o, err
		}
	}
	if !o.after.IsZero() && !o.before.IsZero() && !o.before.After(o.after) {
		return o, errors.New("valid-before is not after valid-after")
	}
	return o, nil
}

// nextOption splits off name or name="value". more reports whether a comma followed.
func nextOption(text string) (name, value, rest string, more bool, err error) {
	i := strings.IndexAny(text, "=,")
	if i < 0 {
		i = len(text)
	}
	name, rest = strings.ToLower(text[:i]), text[i:]
	after, given := strings.CutPrefix(rest, "=")
	if given == (name == "cert-authority") {
		return "", "", "", false, fmt.Errorf("option %.40q: a flag has no value, any other has one", name)
	}
	if given {
		if value, rest, err = unquote(after); err != nil {
			return "", "", "", false, fmt.Errorf("option %.40q: %w", name, err)
		}
	}
	if rest == "" {
		return name, value, "", false, nil
	}
	if rest, more = strings.CutPrefix(rest, ","); !more {
		return "", "", "", false, fmt.Errorf("option %.40q is followed by %.40q", name, rest)
	}
	return name, value, rest, true, nil
}

// unquote splits off a value in quotes, in which \" is a quote.
func unquote(text string) (value, rest string, err error) {
	var b strings.Builder
	if !strings.HasPrefix(text, `"`) {
		return "", "", errors.New("its value is not in double quotes")
	}
	for i := 1; i < len(text); i++ {
		switch {
		case strings.HasPrefix(text[i:], `\"`):
			i++
			b.WriteByte('"')
		case text[i] == '"':
			return b.String(), text[i+1:], nil
		default:
			b.WriteByte(text[i])
		}
	}
	return "", "", errors.New("its quote does not end")
}

// parseTime parses YYYYMMDD, YYYYMMDDHHMM or YYYYMMDDHHMMSS, in UTC if Z or UTC follows.
func parseTime(text string, zone *time.Location) (time.Time, error) {
	digits := text
	for _, suffix := range []string{"Z", "UTC"} {
		if n := len(text) - len(suffix); n > 0 && strings.EqualFold(text[n:], suffix) {
			digits, zone = text[:n], time.UTC
			break
		}
	}
	for _, form := range []string{"20060102", "200601021504", "20060102150405"} {
		if len(digits) == len(form) {
			if t, err := time.ParseInLocation(form, digits, zone); err == nil {
				return t, nil
			}
		}
	}
	return time.Time{}, fmt.Errorf("time %.40q is not YYYYMMDD, YYYYMMDDHHMM or YYYYMMDDHHMMSS, with Z at its end for UTC", text)
}

// matchList reports whether text matches a comma-separated list of patterns: at least one of them
// matches, and none that begins with ! does.
func matchList(text, list string) bool {
	found := false
	for pattern := range strings.SplitSeq(list, ",") {
		not := strings.HasPrefix(pattern, "!")
		if match(text, strings.TrimPrefix(pattern, "!")) {
			if not {
				return false
			}
			found = true
		}
	}
	return found
}

// match reports whether text matches a pattern, in which * stands for any characters and ? for one.
func match(text, pattern string) bool {
	star, from := -1, 0 // the last *, and the position in text where the rest of the pattern is tried
	t, p := 0, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from = p, t
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == text[t]):
			t, p = t+1, p+1
		case star >= 0:
			from++
			t, p = from, star+1
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
