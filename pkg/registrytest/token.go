package registrytest

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// The values that tokens and the registry's configuration share.
const (
	tokenService = "registry.test"
	tokenIssuer  = "gantry-test"
)

// tokenLeeway is how long the registry accepts an expired token (package registry/auth/token of
// distribution, Leeway).
const tokenLeeway = time.Minute

// A tokenServer issues tokens of the distribution specification ("Docker Registry v2 authentication
// via central service") for any scope that the account requests.
type tokenServer struct {
	leaf     [][]byte // DER, the certificate first
	key      *ecdsa.PrivateKey
	lifetime time.Duration
}

func newTokenServer(ca *authority, lifetime time.Duration) (*tokenServer, error) {
	cert, err := ca.certificate("tokens")
	if err != nil {
		return nil, err
	}
	if lifetime == 0 {
		lifetime = time.Minute
	}
	key, _ := cert.PrivateKey.(*ecdsa.PrivateKey)
	return &tokenServer{leaf: cert.Certificate, key: key, lifetime: lifetime}, nil
}

// ServeHTTP answers GET /token?service=...&scope=repository:NAME:pull,push.
func (s *tokenServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/token" || r.Method != http.MethodGet {
		http.NotFound(w, r)
		return
	}
	if user, pass, ok := r.BasicAuth(); !ok || user != username || pass != password {
		w.Header().Set("WWW-Authenticate", `Basic realm="tokens"`)
		http.Error(w, `{"errors":[{"code":"UNAUTHORIZED"}]}`, http.StatusUnauthorized)
		return
	}
	token, err := s.token(r.URL.Query()["scope"], time.Now())
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"token": token, "expires_in": int(s.lifetime.Seconds())})
}

type tokenAccess struct {
	Type    string   `json:"type"`
	Name    string   `json:"name"`
	Actions []string `json:"actions"`
}

// token writes a JSON Web Token, signed with ES256 (RFC 7515, RFC 7518).
func (s *tokenServer) token(scopes []string, now time.Time) (string, error) {
	access := []tokenAccess{}
	for _, list := range scopes {
		for scope := range strings.FieldsSeq(list) {
			kind, rest, _ := strings.Cut(scope, ":")
			if i := strings.LastIndex(rest, ":"); i > 0 {
				access = append(access, tokenAccess{kind, rest[:i], strings.Split(rest[i+1:], ",")})
			}
		}
	}
	header, err := json.Marshal(map[string]any{"typ": "JWT", "alg": "ES256", "x5c": s.leaf})
	if err != nil {
		return "", err
	}
	claims, err := json.Marshal(map[string]any{
		"iss": tokenIssuer, "sub": username, "aud": tokenService, "access": access, "jti": rand.Text(),
		"iat": now.Unix(), "nbf": now.Add(-time.Minute).Unix(),
		// Subtract the registry's leeway, which would extend a short lifetime.
		"exp": now.Add(s.lifetime - tokenLeeway).Unix(),
	})
	if err != nil {
		return "", err
	}
	b64 := base64.RawURLEncoding
	signed := b64.EncodeToString(header) + "." + b64.EncodeToString(claims)
	sum := sha256.Sum256([]byte(signed))
	r, t, err := ecdsa.Sign(rand.Reader, s.key, sum[:])
	if err != nil {
		return "", err
	}
	var signature [64]byte
	r.FillBytes(signature[:32])
	t.FillBytes(signature[32:])
	return signed + "." + b64.EncodeToString(signature[:]), nil
}
