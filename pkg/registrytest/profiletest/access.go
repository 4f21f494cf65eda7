package profiletest

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The passwords of a protected registry. With ReadPassword, nothing can be pushed or deleted.
const (
	Password     = "air-gap-0451"
	ReadPassword = "read-only-0451"
)

// access is how a registry asks for credentials and refuses them.
type access struct {
	user      string
	basic     string            // the challenge for passwords
	realm     string            // the path of the token service; "" if passwords are sent to the registry
	service   string            // HOST is replaced by the host
	scope     func(call) string // what challenges ask for
	passwords bool              // are accepted beside tokens
	life      int               // expires_in of tokens, in seconds; 0 for none
	binds     bool              // a token permits only what it was requested for
	scopes    *regexp.Regexp    // that the token service reads; nil for all
	lenient   bool              // a request for a token with scopes may have a wrong password

	wrong  refusal // of a password; none is like a request without credentials
	ended  refusal // of a token that expired; likewise
	late   refusal // of a password that expired; none if they do not
	denied refusal // of what the user may not do
}

// A grant is what a token permits.
type grant struct {
	writes bool
	scopes []string
	ended  bool
}

// protection is the state of a registry with credentials.
type protection struct {
	late   bool              // passwords expired
	left   int               // requests until all tokens, or passwords, expire; 0 if they do not
	tokens map[string]*grant // nil if the registry asks for no credentials
}

// Protect makes the registry ask for credentials, with the passwords Password and ReadPassword, and returns the user.
func (s *Server) Protect() (user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens = map[string]*grant{}
	return s.access.user
}

// Expire ends all tokens after some more requests, or if the registry has none and passwords expire, these, until Renew.
func (s *Server) Expire(after int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = after
}

// Renew makes passwords valid again that expired, and reports whether tokens or passwords have expired.
func (s *Server) Renew() (expired bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	expired = s.left == 0
	s.left, s.protection.late = 0, false
	return expired
}

// admits reports whether a request has the credentials that it needs, and responds if it has not.
func (s *Server) admits(c call) bool {
	if no := s.check(c); no != nil {
		s.refuse(c, *no)
		return false
	}
	if s.left == 1 { // the last one
		s.protection.late = s.access.late != (refusal{})
		for _, g := range s.tokens {
			g.ended = true
		}
	}
	s.left = max(s.left-1, 0)
	return true
}

func (s *Server) check(c call) *refusal {
	no := s.missing(c)
	scheme, value, _ := strings.Cut(c.r.Header.Get("Authorization"), " ")
	var g *grant
	switch {
	case scheme == "Bearer" && s.tokens[value] != nil:
		if g = s.tokens[value]; g.ended {
			no, g = cmp.Or(s.access.ended, no), nil
		}
	case scheme == "Basic" && (s.realm == "" || s.passwords):
		var why refusal
		g, why = s.password(c.r)
		no = cmp.Or(why, no)
	case scheme == "Basic" && s.wrong.code == "DENIED":
		no = s.wrong // it is not looked at
	}
	if g == nil {
		return &no
	}
	action := action(c)
	asked := !s.binds || c.path == "" || slices.ContainsFunc(g.scopes, func(scope string) bool {
		actions, ok := strings.CutPrefix(scope, "repository:"+c.path+":")
		return ok && slices.Contains(strings.Split(actions, ","), action)
	})
	if !asked || action != "pull" && !g.writes {
		return &s.access.denied
	}
	return nil
}

// password returns what the password of a request permits, or why it does not.
func (s *Server) password(r *http.Request) (*grant, refusal) {
	user, password, _ := r.BasicAuth()
	switch {
	case user != s.access.user || password != Password && password != ReadPassword:
		return nil, s.access.wrong
	case s.protection.late:
		return nil, s.access.late
	}
	return &grant{writes: password == Password}, refusal{}
}

func action(c call) string {
	if c.r.Method == http.MethodGet || c.r.Method == http.MethodHead {
		return "pull"
	}
	return "push"
}

// repositoryScope is what most registries ask for.
func repositoryScope(c call) string {
	switch {
	case c.path == "":
		return ""
	case action(c) == "pull":
		return "repository:" + c.path + ":pull"
	}
	return "repository:" + c.path + ":pull,push"
}

// missing refuses a request without credentials.
func (s *Server) missing(c call) refusal {
	no := refusal{status: http.StatusUnauthorized, code: "UNAUTHORIZED", message: "authentication required", challenge: s.access.basic}
	if s.realm == "" {
		return no
	}
	no.challenge = fmt.Sprintf("Bearer realm=%q,service=%q", "http://"+c.r.Host+s.realm, strings.ReplaceAll(s.service, "HOST", c.r.Host))
	if scope := s.scope(c); scope != "" {
		no.challenge += fmt.Sprintf(",scope=%q", scope)
	}
	return no
}

// issue answers a request for a token.
func (s *Server) issue(c call) {
	scopes := c.r.URL.Query()["scope"]
	for _, scope := range scopes {
		if s.scopes != nil && !s.scopes.MatchString(scope) {
			s.refuse(c, refusal{status: http.StatusBadRequest, code: "INVALID_REQUEST", message: "Unable to decode repository and actions: " + scope})
			return
		}
	}
	g, no := s.password(c.r)
	switch {
	case g != nil:
	case s.lenient && len(scopes) > 0:
		g = &grant{ended: true}
	default:
		s.refuse(c, cmp.Or(no, s.missing(c)))
		return
	}
	g.scopes = scopes
	token := "token-" + strconv.Itoa(len(s.tokens))
	s.tokens[token] = g
	respond(c, http.StatusOK, "application/json", struct {
		Token string `json:"token"`
		Life  int    `json:"expires_in,omitempty"`
	}{token, s.life})
}
