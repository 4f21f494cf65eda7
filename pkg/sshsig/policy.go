package sshsig

import (
	"errors"
	"io"
	"time"
)

var (
	// ErrUnsigned is that of content without a signature, where a Policy wants one.
	ErrUnsigned = errors.New("it is not signed")
	// ErrNoSigners is a Policy that wants signatures and knows nobody.
	ErrNoSigners = errors.New("a signature is required, and no keys are known that it could be of")
)

// A Policy says what is taken of signed content. The zero value takes content that
// is not signed, and any signature that is good.
type Policy struct {
	// Signers are who may sign; nil where nobody is known: then a good signature of
	// anybody is taken and shown as that of a stranger.
	Signers *Signers
	// Principal is who has to have signed; "" is any of the Signers.
	Principal string
	// Required refuses what is not signed.
	Required bool
	// Now is when a key has to be valid.
	Now time.Time
}

// A Verdict is what a Policy found out of content that it takes.
type Verdict struct {
	Signed bool `json:"signed"`
	// Trusted is whether the Signer is one of the Policy's.
	Trusted bool `json:"trusted"`
	*Signer
}

// Check looks at the signature of a message in a namespace; armored is nil where
// there is none. What the policy does not take is an error.
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
	who := SignerOf(s)
	return Verdict{Signed: true, Signer: &who}, nil
}
