package remote

import "strings"

// A challenge is a WWW-Authenticate header (RFC 9110, 11.6.1; for Bearer, the token specification
// of the distribution project).
type challenge struct {
	scheme string            // "basic", "bearer"; "" for none
	params map[string]string // names in lower case: realm, service, scope, error
}

// asks returns the last challenge of the host.
func (h *host) asks() challenge {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.challenge
}

// bestChallenge parses the header's values and returns Bearer, else Basic, else none.
func bestChallenge(values []string) challenge {
	var best challenge
	for _, v := range values {
		for _, c := range parseChallenges(v) {
			switch {
			case c.scheme == "bearer" && c.params["realm"] != "":
				return c
			case c.scheme == "basic" && best.scheme == "":
				best = c
			}
		}
	}
	return best
}

// parseChallenges parses one value of the header, which may contain several challenges. It skips
// what it cannot parse.
func parseChallenges(s string) []challenge {
	var list []challenge
	for {
		s = strings.TrimLeft(s, " \t,")
		word, rest := cutToken(s)
		if word == "" {
			return list
		}
		after := strings.TrimLeft(rest, " \t")
		if !strings.HasPrefix(after, "=") {
			// A word without "=" opens a challenge.
			list = append(list, challenge{scheme: strings.ToLower(word), params: map[string]string{}})
			s = rest
			continue
		}
		value, rest := cutValue(strings.TrimLeft(after[1:], " \t"))
		if len(list) > 0 {
			list[len(list)-1].params[strings.ToLower(word)] = value
		}
		s = rest
	}
}

// cutToken splits a token (RFC 9110, 5.6.2) off the front of s.
func cutToken(s string) (word, rest string) {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return s[:i], s[i:]
		}
	}
	return s, ""
}

// cutValue splits a token or a quoted string off the front of s.
func cutValue(s string) (value, rest string) {
	if !strings.HasPrefix(s, `"`) {
		end := strings.IndexAny(s, ", \t")
		if end < 0 {
			return s, ""
		}
		return s[:end], s[end:]
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), s[i+1:]
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String(), ""
}
