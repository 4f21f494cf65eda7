// Package gpg verifies the signatures of platform releases as clusters do, and
// collects them from where they are published.
//
// A signature is a binary OpenPGP message: a JSON payload that names the digest
// of a release image, signed by a key of the product. Stores are web folders, or
// folders of a disk, that hold the signatures of a digest under
// sha256=<hex>/signature-1, -2 and so on.
//
// A release is trusted if each keyring has a key that made at least one of its
// signatures. The rules are those of openshift/library-go, pkg/verify, which the
// cluster-version operator applies in the end; where they leave room, Gantry is
// stricter, so that what it accepts a cluster accepts too:
//
//   - a message holds one signature and nothing else, of version 4;
//   - the key was valid, and allowed to sign, when it signed;
//   - hashes and keys that are too weak today are refused;
//   - the payload has the members that it should have, once, in their case.
//
// The name that a signature gives the image is not compared: the digest is what
// counts, and a pull stays pinned to it.
package gpg

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	pgperrors "github.com/ProtonMail/go-crypto/openpgp/errors"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/opencontainers/go-digest"
)

const (
	// MaxSize bounds a signature, in bytes. Clusters read no more of one.
	MaxSize = 50 << 10
	// maxUnpacked bounds a signature that is compressed, in bytes after that.
	maxUnpacked = 256 << 10

	signatureType = "atomic container signature"
)

// A Signature is one that some keyring trusts.
type Signature struct {
	Body []byte // as it is published
	// Key is the fingerprint of the key that made it, in upper case hex digits.
	Key     string
	Created time.Time
	// Reference is the name that it gives the image, for people alone.
	Reference string
	// Place is where it was found; "" where it was not collected.
	Place string
}

// payload is what is signed: the simple signing format of containers/image.
type payload struct {
	Critical struct {
		Image struct {
			Digest string `json:"docker-manifest-digest"`
		} `json:"image"`
		Type     string `json:"type"`
		Identity struct {
			Reference string `json:"docker-reference"`
		} `json:"identity"`
	} `json:"critical"`
	Optional struct {
		Creator   string `json:"creator"`
		Timestamp int64  `json:"timestamp"`
	} `json:"optional"`
}

// VerifyAll reports what is wrong with bodies as the signatures of the image d:
// each keyring has to be satisfied by at least one of them. Signatures that are no
// good do no harm beside those that are.
func VerifyAll(bodies [][]byte, d digest.Digest, keyrings []Keyring, now time.Time) error {
	v, err := newVerifier(d, keyrings, now)
	if err != nil {
		return err
	}
	for i, body := range bodies {
		v.add(fmt.Sprintf("signature %d", i+1), body)
	}
	return v.result()
}

// A message is a signature taken apart, nothing of it verified.
type message struct {
	packets []byte // uncompressed
	created time.Time
	keyID   uint64
}

// readMessage takes a signature apart. What is not exactly one signature around one
// literal is an error: readers of OpenPGP differ in what they make of the rest.
func readMessage(body []byte) (*message, error) {
	switch {
	case len(body) > MaxSize:
		return nil, fmt.Errorf("it has more than %d bytes", MaxSize)
	case bytes.HasPrefix(body, []byte("-----BEGIN PGP")):
		return nil, errors.New("it is armored text; clusters read binary OpenPGP messages alone")
	}
	m := &message{packets: body}
	r := bytes.NewReader(body)
	first, err := packet.Read(r)
	if err != nil {
		return nil, malformed(err)
	}
	if compressed, ok := first.(*packet.Compressed); ok {
		m.packets, err = io.ReadAll(io.LimitReader(compressed.Body, maxUnpacked+1))
		switch {
		case err != nil:
			return nil, malformed(err)
		case len(m.packets) > maxUnpacked:
			return nil, fmt.Errorf("it has more than %d bytes once it is decompressed", maxUnpacked)
		case r.Len() > 0:
			return nil, errors.New("something follows the signed message")
		}
		r = bytes.NewReader(m.packets)
		if first, err = packet.Read(r); err != nil {
			return nil, malformed(err)
		}
	}
	return m, m.readPackets(first, r)
}

// readPackets reads what the message holds after its first packet.
func (m *message) readPackets(first packet.Packet, r *bytes.Reader) error {
	switch p := first.(type) {
	case *packet.OnePassSignature:
		m.keyID = p.KeyId
	case *packet.LiteralData:
		return errors.New("it is not signed")
	case *packet.Signature:
		return errors.New("it is a detached signature; what it signs is missing")
	default:
		return errors.New("it is not a signed OpenPGP message")
	}
	second, err := packet.Read(r)
	if err != nil {
		return malformed(err)
	}
	literal, ok := second.(*packet.LiteralData)
	if !ok {
		return errors.New("it is not one signature of one text; every signature has to be a file of its own")
	}
	if _, err := io.Copy(io.Discard, literal.Body); err != nil {
		return malformed(err)
	}
	third, err := packet.Read(r)
	if err != nil {
		return malformed(err)
	}
	signature, ok := third.(*packet.Signature)
	switch {
	case !ok:
		return errors.New("the text is not followed by its signature")
	case signature.Version != 4:
		return fmt.Errorf("it is an OpenPGP signature of version %d; clusters verify version 4 alone", signature.Version)
	case r.Len() > 0:
		return errors.New("something follows the signed message")
	}
	m.created = signature.CreationTime
	return nil
}

// malformed says what keeps a message from being read.
func malformed(err error) error {
	var unsupported pgperrors.UnsupportedError
	switch {
	case errors.As(err, &unsupported) && string(unsupported) == "signature packet version 3":
		return errors.New("it is an OpenPGP signature of version 3, as releases had until 2019; these are not supported")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("it is cut short")
	}
	return fmt.Errorf("it is not an OpenPGP message: %w", err)
}

// verify returns what the message signs and says, if a key of the keyring made it.
func (m *message) verify(k Keyring, now time.Time) ([]byte, Signature, error) {
	// Whether a key had expired is asked for the moment it signed: keys are
	// replaced every few years, releases are not signed again. One that was revoked
	// since, for whatever reason, is no key any more to clusters.
	config := &packet.Config{Time: func() time.Time { return m.created }}
	md, err := openpgp.ReadMessage(bytes.NewReader(m.packets), k.entities, nil, config)
	if err != nil {
		return nil, Signature{}, malformed(err)
	}
	content, err := io.ReadAll(md.UnverifiedBody) // the signature is checked at its end
	switch {
	case err != nil:
		return nil, Signature{}, malformed(err)
	case md.SignatureError != nil:
		return nil, Signature{}, fmt.Errorf("key %016X: %w", m.keyID, md.SignatureError)
	case md.SignedBy == nil || md.Signature == nil:
		return nil, Signature{}, fmt.Errorf("it was made with key %016X, which %s does not hold", m.keyID, k.Name)
	case len(md.SignedBy.Revocations)+len(md.SignedBy.Entity.Revocations) > 0:
		return nil, Signature{}, fmt.Errorf("key %016X, which made it, was revoked; clusters take nothing that it signed", m.keyID)
	case md.Signature.CreationTime.After(now):
		return nil, Signature{}, fmt.Errorf("it was made on %s, which is still to come; set the clock of this machine", date(md.Signature.CreationTime))
	case md.Signature.SigExpired(now):
		lifetime := time.Duration(*md.Signature.SigLifetimeSecs) * time.Second
		return nil, Signature{}, fmt.Errorf("it expired on %s", date(md.Signature.CreationTime.Add(lifetime)))
	}
	return content, Signature{
		Key:     fingerprint(md.SignedBy.PublicKey),
		Created: md.Signature.CreationTime,
	}, nil
}

// readPayload reads what was signed about the image d, and returns the name that
// it gives the image.
func readPayload(text []byte, d digest.Digest) (reference string, err error) {
	var p payload
	if err := jsonv2.Unmarshal(text, &p, jsonv2.RejectUnknownMembers(true)); err != nil {
		return "", fmt.Errorf("reading what it signs: %w", err)
	}
	switch c := p.Critical; {
	case c.Type != signatureType:
		return "", fmt.Errorf("it is of type %q; want %q", c.Type, signatureType)
	case strings.TrimSpace(c.Identity.Reference) == "":
		return "", errors.New("it gives the image no name")
	case c.Image.Digest != d.String():
		return "", fmt.Errorf("it is the signature of another image, %s", c.Image.Digest)
	}
	return p.Critical.Identity.Reference, nil
}

func date(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func fingerprint(k *packet.PublicKey) string { return fmt.Sprintf("%X", k.Fingerprint) }
