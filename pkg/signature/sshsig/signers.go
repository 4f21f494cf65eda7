package sshsig

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// MaxSigners is the size limit of a file of keys in bytes.
const MaxSigners = 4 << 20

// Signers are the trusted keys and what each is trusted for.
type Signers struct {
	lines []signer
}

// A signer is a line of an allowed_signers file.
type signer struct {
	line       int
	principals string // patterns
	key        ssh.PublicKey
	options
}

// A Signer is the signer of a message.
type Signer struct {
	// Principal is the name of the key in the allowed_signers file, which may be a list of
	// patterns, or the comment of a public key. It may be empty.
	Principal string `json:"principal,omitempty"`
	Key       string `json:"key"`  // fingerprint, SHA256:…
	Type      string `json:"type"` // of the key: ssh-ed25519
}

func (s Signer) String() string {
	if s.Principal == "" {
		return fmt.Sprintf("%s key %s", s.Type, s.Key)
	}
	return fmt.Sprintf("%s with the %s key %s", s.Principal, s.Type, s.Key)
}

// signerOf returns the signer that a signature names, without a principal.
func signerOf(s *Signature) Signer {
	return Signer{Key: fingerprint(s.Key), Type: s.Key.Type()}
}

// ParseAllowedSigners parses an allowed_signers file as described in ssh-keygen(1) under ALLOWED
// SIGNERS. Times without a zone are in zone. Errors name the line.
func ParseAllowedSigners(text []byte, zone *time.Location) (*Signers, error) {
	return parseLines(text, func(line string) (signer, error) { return parseAllowed(line, zone) })
}

// ParsePublicKeys parses public keys in the format of .pub files, one per line. They are trusted
// without restrictions.
func ParsePublicKeys(text []byte) (*Signers, error) {
	if bytes.Contains(text, []byte(" PRIVATE KEY-----")) {
		return nil, errors.New("it is a private key: name the file of the public key, which ends in .pub")
	}
	return parseLines(text, func(line string) (signer, error) {
		key, comment, err := parseKey(line)
		return signer{principals: comment, key: key}, err
	})
}

func parseLines(text []byte, parse func(line string) (signer, error)) (*Signers, error) {
	if len(text) > MaxSigners {
		return nil, fmt.Errorf("it has more than %d bytes", MaxSigners)
	}
	s := &Signers{}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		one, err := parse(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		one.line = n
		s.lines = append(s.lines, one)
	}
	if len(s.lines) == 0 {
		return nil, errors.New("it has no keys")
	}
	return s, nil
}

// parseKey parses a type, a key in base64 and a comment.
func parseKey(text string) (key ssh.PublicKey, comment string, err error) {
	kind, rest := word(text)
	encoded, comment := word(rest)
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || encoded == "" {
		return nil, "", fmt.Errorf("%.40q is not followed by a key in base64", kind)
	}
	if key, err = ssh.ParsePublicKey(raw); err != nil {
		return nil, "", fmt.Errorf("the key after %.40q: %w", kind, err)
	}
	if key.Type() != kind {
		return nil, "", fmt.Errorf("the key after %.40q is one of type %.40q", kind, key.Type())
	}
	return key, strings.TrimSpace(comment), checkKey(key)
}

// word splits off everything before the first space.
func word(text string) (first, rest string) {
	i := strings.IndexAny(text, " \t")
	if i < 0 {
		return text, ""
	}
	return text[:i], strings.TrimLeft(text[i:], " \t")
}

// Verify checks that one of the signers made the signature for this message and namespace and is
// valid now: a signature does not contain the time when it was made. principal, if not "", is the
// required signer.
func (s *Signers) Verify(armored []byte, namespace string, message io.Reader, principal string, now time.Time) (Signer, error) {
	sig, err := Parse(armored)
	if err != nil {
		return Signer{}, err
	}
	if err := sig.Verify(namespace, message); err != nil {
		return Signer{}, err
	}
	who := signerOf(sig)
	reason := "it is not a trusted key"
	for i := range s.lines {
		one := &s.lines[i]
		if !bytes.Equal(one.key.Marshal(), sig.Key.Marshal()) {
			continue
		}
		if problem := one.refuses(namespace, principal, now); problem != "" {
			reason = problem
			if one.line > 0 {
				reason = fmt.Sprintf("line %d of the trusted keys: %s", one.line, problem)
			}
			continue
		}
		who.Principal = one.principals
		if principal != "" {
			who.Principal = principal
		}
		return who, nil
	}
	return Signer{}, &UntrustedError{Signer: who, Reason: reason}
}

// An UntrustedError reports a valid signature whose signer is not trusted.
type UntrustedError struct {
	Signer Signer
	Reason string
}

func (e *UntrustedError) Error() string {
	return fmt.Sprintf("it is signed with the %s key %s: %s", e.Signer.Type, e.Signer.Key, e.Reason)
}

// refuses returns why the line does not allow a signature of its key; "" if it does.
func (s *signer) refuses(namespace, principal string, now time.Time) string {
	switch {
	case s.authority:
		return "the key may sign certificates (cert-authority), not content"
	case principal != "" && !matchList(principal, s.principals):
		return fmt.Sprintf("the key belongs to %q, not to %q", s.principals, principal)
	case s.namespaces != "" && !matchList(namespace, s.namespaces):
		return fmt.Sprintf("the key may sign for the namespaces %q, not for %q", s.namespaces, namespace)
	case !s.after.IsZero() && now.Before(s.after):
		return "the key is not valid before " + s.after.Format(time.RFC3339)
	case !s.before.IsZero() && now.After(s.before):
		return "the key was valid until " + s.before.Format(time.RFC3339)
	}
	return ""
}
