package keychain

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
)

// A Credential authenticates to a registry: a name and password, an identity token or a registry
// token. The zero Credential means "anonymous".
//
// However it is printed, logged or marshaled, it shows the kind and the source of the secret, but
// never the secret.
type Credential struct {
	Username string
	Password string
	// IdentityToken is an OAuth2 refresh token, exchanged for access tokens at the registry's token
	// endpoint.
	IdentityToken string
	// RegistryToken is an access token, sent to the registry unchanged.
	RegistryToken string
	// Source is the file that the credential was found in.
	Source string
}

// Anonymous reports whether c is empty.
func (c Credential) Anonymous() bool {
	return c.Username == "" && c.Password == "" && c.IdentityToken == "" && c.RegistryToken == ""
}

// String returns the kind of credential and its source, without any part of the secret.
func (c Credential) String() string {
	kind := "password"
	switch {
	case c.Anonymous():
		return "anonymous"
	case c.RegistryToken != "":
		kind = "registry token"
	case c.IdentityToken != "":
		kind = "identity token"
	}
	if c.Source == "" {
		return kind + " (redacted)"
	}
	return kind + " (redacted) of " + c.Source
}

// GoString is like String, so that %#v shows no secret.
func (c Credential) GoString() string { return "keychain.Credential{" + c.String() + "}" }

// Format prints String for every verb and flag.
func (c Credential) Format(f fmt.State, verb rune) {
	s := c.String()
	if verb == 'v' && f.Flag('#') {
		s = c.GoString()
	}
	_, _ = io.WriteString(f, s)
}

// LogValue is String, for log/slog.
func (c Credential) LogValue() slog.Value { return slog.StringValue(c.String()) }

// MarshalJSON writes String: a credential cannot be read back.
func (c Credential) MarshalJSON() ([]byte, error) { return json.Marshal(c.String()) }

// MarshalText writes String, for encoders that do not use MarshalJSON.
func (c Credential) MarshalText() ([]byte, error) { return []byte(c.String()), nil }
