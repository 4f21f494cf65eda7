package reference

import (
	"strings"

	"github.com/opencontainers/go-digest"
)

// The grammar of a repository path and of a tag as regular expressions that are valid in a JSON
// Schema. They are the expressions of github.com/distribution/reference. The functions below match
// the same text.
const (
	PathPattern = `^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$`
	TagPattern  = `^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`
)

// MaxPath is the maximum length of a repository path in bytes.
const MaxPath = 255

// IsPath reports whether s is a repository path below the host: "org/name".
func IsPath(s string) bool { return len(s) <= MaxPath && isPath(s) }

// isPath is IsPath for any length. Each component consists of words of lower-case letters and digits.
// Between two words is one dot, one or two underscores, or any number of dashes.
func isPath(s string) bool {
	for component := range strings.SplitSeq(s, "/") {
		for more := true; more; {
			rest := strings.TrimLeft(component, "abcdefghijklmnopqrstuvwxyz0123456789")
			if rest == component {
				return false // a word is missing
			}
			component = strings.TrimLeft(rest, "._-")
			switch separator := rest[:len(rest)-len(component)]; {
			case rest == "":
				more = false
			case separator == ".", separator == "_", separator == "__":
			case separator == "" || strings.Trim(separator, "-") != "":
				return false
			}
		}
	}
	return true
}

// IsTag reports whether s is a tag.
func IsTag(s string) bool { return isWord(s, 128) }

// IsSetName reports whether s can be the name of an image set, or of the series of archives with its content. Both may
// have no name.
func IsSetName(s string) bool { return s == "" || isWord(s, 255) }

// isWord reports whether s has letters, digits, dots, dashes and underscores, no dot or dash first, and at most most of
// them.
func isWord(s string, most int) bool {
	if s == "" || len(s) > most || s[0] == '.' || s[0] == '-' {
		return false
	}
	for i := range len(s) {
		if !isAlphanumeric(s[i]) && strings.IndexByte("_.-", s[i]) < 0 {
			return false
		}
	}
	return true
}

// IsKnownDigest reports whether d is a well-formed digest of a known algorithm. It is Validate of package
// digest without regular expressions for SHA-256, because lists of content have many.
func IsKnownDigest(d digest.Digest) bool {
	hex, ok := strings.CutPrefix(string(d), "sha256:")
	if !ok {
		return d.Validate() == nil
	}
	if len(hex) != 64 {
		return false
	}
	for i := range len(hex) {
		if c := hex[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// isHost reports whether s is a host with or without a port. The host is a name, an IPv4 address, or
// an IPv6 address in brackets.
func isHost(s string) bool {
	if rest, ok := strings.CutPrefix(s, "["); ok {
		address, port, ok := strings.Cut(rest, "]")
		return ok && address != "" && strings.Trim(address, "0123456789abcdefABCDEF:") == "" && (port == "" || isPort(port))
	}
	name, port := s, ""
	if i := strings.IndexByte(s, ':'); i >= 0 {
		name, port = s[:i], s[i:]
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for i := range len(label) {
			if !isAlphanumeric(label[i]) && label[i] != '-' {
				return false
			}
		}
	}
	return port == "" || isPort(port)
}

// isPort reports whether s is a colon and a number.
func isPort(s string) bool {
	return len(s) > 1 && s[0] == ':' && strings.Trim(s[1:], "0123456789") == ""
}

// isDigest reports whether s has the form of a digest: an algorithm, such as sha256 or a+b, and at
// least 32 hexadecimal digits. Whether the algorithm is known is not checked.
func isDigest(s string) bool {
	algorithm, encoded, _ := strings.Cut(s, ":")
	if len(encoded) < 32 || strings.Trim(encoded, "0123456789abcdefABCDEF") != "" {
		return false
	}
	start := true // of a word
	for i := range len(algorithm) {
		switch c := algorithm[i]; {
		case isAlphanumeric(c) && (!start || c > '9'):
			start = false
		case !start && strings.IndexByte("-_+.", c) >= 0:
			start = true
		default:
			return false
		}
	}
	return !start
}

func isAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
