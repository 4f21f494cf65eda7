// Package sshsig signs bytes with SSH keys and verifies such signatures. It is compatible with
// ssh-keygen -Y sign and ssh-keygen -Y verify: each accepts the signatures of the other.
//
// A Signature covers a message and a namespace. The namespace names the purpose of the message, so
// that a signature for one purpose is invalid for another. A Key signs; it is in a file or in the
// ssh-agent. Signers are the trusted keys, with the names and restrictions of an allowed_signers
// file.
//
// The format is OpenSSH's PROTOCOL.sshsig. Cryptography and the encoding of keys come from
// golang.org/x/crypto/ssh. Keys are Ed25519, ECDSA and RSA with at least 2048 bits; Ed25519 and
// ECDSA also on security keys. DSA keys and certificates are refused.
package sshsig

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"

	"golang.org/x/crypto/ssh"
)

const (
	begin = "-----BEGIN SSH SIGNATURE-----"
	end   = "-----END SSH SIGNATURE-----"
	// lineLength is the number of base64 characters that ssh-keygen writes on a line.
	lineLength = 70
	// MaxSize is the size limit of a signature as text, in bytes. Signatures of the largest RSA key
	// are much smaller.
	MaxSize = 64 << 10

	version = 1
	// Minimum and maximum number of bits of an RSA key: an unknown key must not take long to check.
	minRSA, maxRSA = 2048, 16384
)

var magic = [6]byte{'S', 'S', 'H', 'S', 'I', 'G'}

// A Signature is a parsed signature. Verify reports whether it is valid for a message.
type Signature struct {
	Key       ssh.PublicKey
	Namespace string
	Hash      string // hash algorithm of the message: sha256 or sha512

	signature *ssh.Signature
}

// envelope is the wire format of a signature.
type envelope struct {
	Magic     [6]byte
	Version   uint32
	Key       []byte
	Namespace string
	Reserved  []byte
	Hash      string
	Signature []byte
}

// signed is the data that the key signs.
type signed struct {
	Magic     [6]byte
	Namespace string
	Reserved  []byte
	Hash      string
	Digest    []byte
}

// Sign signs a message in a namespace and returns the signature as text.
func Sign(key ssh.Signer, namespace string, message io.Reader) ([]byte, error) {
	if namespace == "" {
		return nil, errors.New("signing needs a namespace")
	}
	public, err := ssh.ParsePublicKey(key.PublicKey().Marshal()) // the type of an agent's key gives no access to its parameters
	if err != nil {
		return nil, err
	}
	if err := checkKey(public); err != nil {
		return nil, err
	}
	s := &Signature{Key: public, Namespace: namespace, Hash: "sha512"}
	text, err := s.text(message)
	if err != nil {
		return nil, err
	}
	// By default, an RSA key would sign with SHA-1.
	if other, ok := key.(ssh.AlgorithmSigner); ok && s.Key.Type() == ssh.KeyAlgoRSA {
		s.signature, err = other.SignWithAlgorithm(rand.Reader, text, ssh.KeyAlgoRSASHA512)
	} else {
		s.signature, err = key.Sign(rand.Reader, text)
	}
	if err != nil {
		return nil, err
	}
	// An agent may return anything.
	armored := s.Armor()
	if s, err = Parse(armored); err == nil {
		err = s.Key.Verify(text, s.signature)
	}
	if err != nil {
		return nil, fmt.Errorf("the key made an invalid signature: %w", err)
	}
	return armored, nil
}

// Parse parses the text of a signature. Only white space may surround it.
func Parse(armored []byte) (*Signature, error) {
	if len(armored) > MaxSize {
		return nil, fmt.Errorf("it is not an SSH signature: it has more than %d bytes", MaxSize)
	}
	body, ok := strings.CutPrefix(strings.TrimSpace(string(armored)), begin)
	if ok {
		body, ok = strings.CutSuffix(body, end)
	}
	if !ok {
		return nil, fmt.Errorf("it is not an SSH signature, which is between the lines %q and %q", begin, end)
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(strings.Join(strings.Fields(body), ""))
	if err != nil {
		return nil, fmt.Errorf("it is not an SSH signature: %w", err)
	}
	var e envelope
	if err := ssh.Unmarshal(raw, &e); err != nil || e.Magic != magic {
		return nil, errors.New("it is not an SSH signature: its fields are malformed")
	}
	switch {
	case e.Version != version:
		return nil, fmt.Errorf("it is an SSH signature of version %d, version %d can be read", e.Version, version)
	case e.Namespace == "":
		return nil, errors.New("the signature has no namespace")
	case len(e.Reserved) > 0:
		return nil, errors.New("the signature uses the reserved field")
	case e.Hash != "sha256" && e.Hash != "sha512":
		return nil, fmt.Errorf("the signature uses the hash %.20q, not sha256 or sha512", e.Hash)
	}
	s := &Signature{Namespace: e.Namespace, Hash: e.Hash, signature: &ssh.Signature{}}
	if s.Key, err = ssh.ParsePublicKey(e.Key); err != nil {
		return nil, fmt.Errorf("the signature's key cannot be used: %.80q", err.Error()) // it quotes what it read
	}
	if err := checkKey(s.Key); err != nil {
		return nil, err
	}
	if err := ssh.Unmarshal(e.Signature, s.signature); err != nil {
		return nil, fmt.Errorf("the signature in it: %w", err)
	}
	switch {
	case s.signature.Format == ssh.KeyAlgoRSA:
		return nil, errors.New("the signature uses SHA-1, which is not safe")
	case len(s.signature.Rest) > 0 && !strings.HasPrefix(s.Key.Type(), "sk-"): // security keys have flags and a counter there
		return nil, errors.New("the signature in it is followed by something else")
	}
	return s, nil
}

// checkKey refuses unsupported kinds of keys.
func checkKey(key ssh.PublicKey) error {
	if _, ok := key.(*ssh.Certificate); ok {
		return fmt.Errorf("the key is a certificate (%s), and only plain keys are supported: sign with the key itself", key.Type())
	}
	switch key.Type() {
	case ssh.KeyAlgoED25519, ssh.KeyAlgoSKED25519, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521, ssh.KeyAlgoSKECDSA256:
		return nil
	case ssh.KeyAlgoRSA:
		if plain, ok := key.(ssh.CryptoPublicKey); ok {
			if k, ok := plain.CryptoPublicKey().(*rsa.PublicKey); ok {
				if bits := k.N.BitLen(); bits < minRSA || bits > maxRSA {
					return fmt.Errorf("the RSA key has %d bits, and signatures need %d to %d", bits, minRSA, maxRSA)
				}
				return nil
			}
		}
	}
	return fmt.Errorf("keys of type %s are not supported: use an Ed25519, ECDSA or RSA key", key.Type())
}

// Armor returns the signature as text, in the format of ssh-keygen.
func (s *Signature) Armor() []byte {
	raw := base64.StdEncoding.EncodeToString(ssh.Marshal(envelope{
		Magic: magic, Version: version, Key: s.Key.Marshal(), Namespace: s.Namespace, Hash: s.Hash,
		Signature: ssh.Marshal(s.signature),
	}))
	var b bytes.Buffer
	b.WriteString(begin + "\n")
	for len(raw) > lineLength {
		b.WriteString(raw[:lineLength] + "\n")
		raw = raw[lineLength:]
	}
	b.WriteString(raw + "\n" + end + "\n")
	return b.Bytes()
}

// Verify checks that the signature's key made it for this message and namespace. It does not check
// whether the key is trusted: see Signers.
func (s *Signature) Verify(namespace string, message io.Reader) error {
	if s.Namespace != namespace {
		return fmt.Errorf("the signature is for the namespace %.40q, not %q: it was made for another purpose", s.Namespace, namespace)
	}
	text, err := s.text(message)
	if err != nil {
		return err
	}
	if err := s.Key.Verify(text, s.signature); err != nil {
		return fmt.Errorf("the key %s did not sign this: the content or the signature was altered, or the signature is of something else", fingerprint(s.Key))
	}
	return nil
}

// text returns the data that the key signs.
func (s *Signature) text(message io.Reader) ([]byte, error) {
	var h hash.Hash
	switch s.Hash {
	case "sha256":
		h = sha256.New()
	case "sha512":
		h = sha512.New()
	default:
		return nil, fmt.Errorf("hash %q", s.Hash)
	}
	if _, err := io.Copy(h, message); err != nil {
		return nil, err
	}
	return ssh.Marshal(signed{Magic: magic, Namespace: s.Namespace, Hash: s.Hash, Digest: h.Sum(nil)}), nil
}

// fingerprint returns the fingerprint of a key as ssh-keygen -l prints it: SHA256:….
func fingerprint(key ssh.PublicKey) string { return ssh.FingerprintSHA256(key) }
