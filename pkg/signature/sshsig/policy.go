package sshsig

import (
	"errors"
	"io"
	"time"
)

var (
	// ErrUnsigned means that content has no signature although a Policy requires one.
	ErrUnsigned = errors.New("it is not signed")
	// ErrNoSigners means that a Policy requires signatures and has no signers.
	ErrNoSigners = errors.New("a signature is required, and no trusted keys are given")
)

// A Policy decides which signed content is accepted. The zero value accepts unsigned content and
// every valid signature.
type Policy struct {
	// Signers are the trusted keys. If it is nil, valid signatures of all keys are accepted, with a
	// Verdict that is not trusted.
	Signers *Signers
	// Principal is the required signer; "" means any of the Signers.
	Principal string
	// Required refuses unsigned content.
	Required bool
	// Now is the time at which a key has to be valid.
	Now time.Time
}

// A Verdict describes content that a Policy accepts.
type Verdict struct {
	Signed bool `json:"signed"`
	// Trusted reports whether the Signer is one of the Policy's.
	Trusted bool `json:"trusted"`
	*Signer
}

// Check checks the signature of a message in a namespace; armored is nil if there is no signature.
// It fails if the policy does not accept the message.
func (p Policy) Check(namespace string, message io.Reader, armored []byte) (Verdict, error) {
	switch {
	case p.Required && p.Signers == nil:
		return Verdict{}, ErrNoSigners
	case armored == nil && p.Required:
		return Verdict{}, ErrUnsigned
	case armored == nil:
		return Verdict{}, nil
	case p.Signers != nil:
		who, err := p.Signers.Verify(armored, namespace, message, p.Principal, p.Now)
		return Verdict{Signed: true, Trusted: err == nil, Signer: &who}, err
	}
	s, err := Parse(armored)
	if err == nil {
		err = s.Verify(namespace, message)
	}
	if err != nil {
		return Verdict{}, err
	}
	who := signerOf(s)
	return Verdict{Signed: true, Signer: &who}, nil
}
