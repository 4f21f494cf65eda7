// Package redact removes passwords and tokens from text for people.
//
// Addresses that users write may contain them: in front of the host
// (https://user:password@host/path, or without a scheme) and in the query (?token=...). Gantry
// accepts neither in an address of its own, but a message about such an address must not show them.
// Messages end in terminals, logs and bug reports.
//
// Address is for a text that is known to be an address, and removes all that may be secret. Text is
// for messages, in which addresses are only recognized by their form; it is the last check before
// something is printed. Both leave everything else as it is: digests, tags and email addresses in
// messages contain the same characters.
package redact

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// mark replaces what is removed.
const mark = "[redacted]"

var (
	digest = pattern(`^sha(256|384|512):`)
	scheme = pattern(`(^|[A-Za-z][A-Za-z0-9+.-]*:)//+`)
	// secretQuery matches the first parameter of a query or fragment whose name says that it is
	// secret.
	secretQuery = pattern(`(?i)[?&#;][^=?&#;]*(token|passw|pwd|secret|sig|key|auth|cred|jwt)[^=?&#;]*=`)
)

// pattern returns a regular expression that is compiled when it is first used.
func pattern(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// Address returns an address, such as an image reference, a destination or a URL, without user,
// password, query and fragment.
func Address(s string) string {
	start, folder := 0, false
	// What looks like a scheme in the middle may be part of a password.
	if i := scheme().FindStringIndex(s); len(i) > 0 && (i[0] == 0 || userinfo(s, false, false) < 0) {
		start, folder = i[1], isFolder(s[i[0]:i[1]])
	}
	head, rest := s[:start], s[start:]
	query := strings.IndexAny(rest, "?#")
	if folder {
		query = -1 // part of a file name
	}
	at := userBefore(rest, start > 0, folder)
	if at < 0 && query >= 0 {
		at = userBefore(rest[:query], start > 0, folder)
	}
	switch {
	case query >= 0 && query < at:
		return head + mark // the query may contain an @, or the password a ?
	case query >= 0:
		rest = rest[:query+1] + mark
	}
	if at >= 0 {
		rest = mark + rest[at:]
	}
	return head + rest
}

// userBefore is userinfo, and finds a user in front of a host without a path, too.
func userBefore(s string, hasScheme, folder bool) int {
	at := userinfo(s, hasScheme, folder)
	if at < 0 && !folder && !strings.Contains(s, "/") {
		if i := strings.LastIndexByte(s, '@'); i >= 0 && !digest().MatchString(s[i+1:]) {
			return i
		}
	}
	return at
}

// Text returns a message without what looks like a user and password in front of a host, or like a
// token in a query.
func Text(s string) string {
	if !strings.ContainsAny(s, "@=") {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		end := strings.IndexFunc(s, boundary)
		if end < 0 {
			end = len(s)
		}
		b.WriteString(word(s[:end]))
		next := end + len(s[end:]) - len(strings.TrimLeftFunc(s[end:], boundary))
		b.WriteString(s[end:next])
		s = s[next:]
	}
	return b.String()
}

// boundary reports whether a character separates words of a message.
func boundary(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("\"'`", r) }

// word is Text for one word.
func word(s string) string {
	if i := secretQuery().FindStringIndex(s); i != nil {
		s = s[:i[0]+1] + mark
	}
	if !strings.Contains(s, "@") {
		return s
	}
	starts := [][]int{{0, 0}}
	for _, i := range scheme().FindAllStringIndex(s, -1) {
		starts = append(starts, []int{i[0], i[1]})
	}
	// The first start whose rest has a user is where the address begins. What has a scheme is not
	// tried without it.
	if len(starts) > 1 {
		starts = starts[1:]
	}
	for _, i := range starts {
		if at := userinfo(s[i[1]:], i[1] > i[0], isFolder(s[i[0]:i[1]])); at >= 0 {
			return s[:i[1]] + mark + s[i[1]+at:]
		}
	}
	return s
}

// isFolder reports whether a path of the file system follows a scheme.
func isFolder(scheme string) bool {
	name, _, _ := strings.Cut(scheme, ":")
	return name == "file" || name == "oci" || name == "dir"
}

// userinfo returns the index of the @ after user and password, or -1. In an address without scheme,
// the text before the @ must contain a colon, or the text after it a path.
func userinfo(s string, hasScheme, folder bool) int {
	at := len(s)
	for {
		if at = strings.LastIndexByte(s[:at], '@'); at < 0 {
			return -1
		}
		if !digest().MatchString(s[at+1:]) {
			break
		}
	}
	// A password may contain a slash. Then, user:12/3@host looks like host:12/3@digest.
	first, _, slash := strings.Cut(s[:at], "/")
	switch {
	case strings.Contains(first, ":"):
		return at
	case slash, folder:
		return -1
	case hasScheme, strings.Contains(s[at:], "/"):
		return at
	}
	return -1
}
