// Package gpg verifies the OpenPGP signatures of platform releases as clusters do, and collects
// them from the stores where they are published.
//
// A signature is a binary OpenPGP message: a JSON payload that names the digest of a release image,
// signed by a key of the product. A store is a web server or a folder that holds the signatures of
// a digest under sha256=<hex>/signature-1, -2 and so on.
//
// A release is trusted if each keyring has a key that made at least one of its signatures. The
// rules are those of openshift/library-go, pkg/verify, which the cluster version operator applies.
// Where they leave a choice, Gantry is stricter, so that a cluster accepts whatever Gantry accepts:
//
//   - a message holds exactly one signature, of version 4;
//   - the key was valid, and allowed to sign, when it signed;
//   - hashes and keys that are weak today are refused;
//   - the payload has exactly the members of the format, once each, with exact case.
//
// The image name in a signature is not compared: the digest decides, and pulls are pinned to it.
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

	"github.com/gantry-mirror/gantry/pkg/signature/simplesigning"
)

const (
	// MaxSize is the largest signature in bytes. Clusters read no more.
	MaxSize = 50 << 10
	// maxUnpacked is the largest size of a decompressed signature, in bytes.
	maxUnpacked = 256 << 10
)

// A Signature is a signature that a keyring trusts.
type Signature struct {
	Body []byte // as published
	// Key is the fingerprint of the signing key, in upper case hexadecimal.
	Key     string
	Created time.Time
	// Reference is the image name in the signature, for people only.
	Reference string
	// Source is the store or file it was read from; empty if it was not collected.
	Source string
}

// payload is the signed text: the simple signing format of containers/image.
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

// VerifyAll returns an error unless bodies, as the signatures of the image d, satisfy each keyring.
// Invalid signatures are ignored if valid ones are present.
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

// A message is a parsed signature that is not verified.
type message struct {
	packets []byte // uncompressed
	created time.Time
	keyID   uint64
}

// readMessage parses a signature. Anything but exactly one signature around one literal is an
// error, because OpenPGP readers disagree about the rest.
func readMessage(body []byte) (*message, error) {
	switch {
	case len(body) > MaxSize:
		return nil, fmt.Errorf("more than %d bytes", MaxSize)
	case bytes.HasPrefix(body, []byte("-----BEGIN PGP")):
		return nil, errors.New("armored text; clusters accept only binary OpenPGP messages")
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
			return nil, fmt.Errorf("more than %d bytes when decompressed", maxUnpacked)
		case r.Len() > 0:
			return nil, errors.New("unexpected data after the signed message")
		}
		r = bytes.NewReader(m.packets)
		if first, err = packet.Read(r); err != nil {
			return nil, malformed(err)
		}
	}
	return m, m.readPackets(first, r)
}

// readPackets parses the packets after the first one.
func (m *message) readPackets(first packet.Packet, r *bytes.Reader) error {
	switch p := first.(type) {
	case *packet.OnePassSignature:
		m.keyID = p.KeyId
	case *packet.LiteralData:
		return errors.New("not signed")
	case *packet.Signature:
		return errors.New("a detached signature; the signed text is missing")
	default:
		return errors.New("not a signed OpenPGP message")
	}
	second, err := packet.Read(r)
	if err != nil {
		return malformed(err)
	}
	literal, ok := second.(*packet.LiteralData)
	if !ok {
		return errors.New("not one signature of one text; store every signature in its own file")
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
		return fmt.Errorf("OpenPGP signature version %d; clusters accept only version 4", signature.Version)
	case r.Len() > 0:
		return errors.New("unexpected data after the signed message")
	}
	m.created = signature.CreationTime
	return nil
}

// malformed explains why a message cannot be parsed.
func malformed(err error) error {
	var unsupported pgperrors.UnsupportedError
	switch {
	case errors.As(err, &unsupported) && string(unsupported) == "signature packet version 3":
		return errors.New("OpenPGP signature version 3, used for releases until 2019, is not supported")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the message is truncated")
	}
	return fmt.Errorf("not an OpenPGP message: %w", err)
}

// verify returns the signed text and the signature, if a key of the keyring made it.
func (m *message) verify(k Keyring, now time.Time) ([]byte, Signature, error) {
	// A key has to be valid at the time it signed: keys are replaced every few years, and releases
	// are not signed again. A key that was revoked since, for any reason, is refused, as clusters do.
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
		return nil, Signature{}, fmt.Errorf("it was made with key %016X, which is not in keyring %s", m.keyID, k.Name)
	case !hasTag(md.Signature, content):
		return nil, Signature{}, fmt.Errorf("it was damaged: the hash that key %016X signed begins otherwise than it says", m.keyID)
	case len(md.SignedBy.Revocations)+len(md.SignedBy.Entity.Revocations) > 0:
		return nil, Signature{}, fmt.Errorf("the signing key %016X was revoked; clusters accept none of its signatures", m.keyID)
	case md.Signature.CreationTime.After(now):
		return nil, Signature{}, fmt.Errorf("it was made on %s, which is in the future; check the clock of this machine", date(md.Signature.CreationTime))
	case md.Signature.SigExpired(now):
		lifetime := time.Duration(*md.Signature.SigLifetimeSecs) * time.Second
		return nil, Signature{}, fmt.Errorf("it expired on %s", date(md.Signature.CreationTime.Add(lifetime)))
	}
	return content, Signature{
		Key:     fingerprint(md.SignedBy.PublicKey),
		Created: md.Signature.CreationTime,
	}, nil
}

// hasTag reports whether the first bytes of the signed hash are in the signature. OpenPGP does not need them, but clusters
// compare them.
func hasTag(s *packet.Signature, content []byte) bool {
	sum := s.Hash.New()
	text := sum
	if s.SigType == packet.SigTypeText {
		text = openpgp.NewCanonicalTextHash(sum)
	}
	_, _ = text.Write(content) // a hash returns no error
	_, _ = sum.Write(s.HashSuffix)
	return bytes.HasPrefix(sum.Sum(nil), s.HashTag[:])
}

// readPayload checks the signed text for the image d, and returns the image name in it.
func readPayload(text []byte, d digest.Digest) (reference string, err error) {
	var p payload
	if err := jsonv2.Unmarshal(text, &p, jsonv2.RejectUnknownMembers(true)); err != nil {
		return "", fmt.Errorf("reading the signed text: %w", err)
	}
	switch c := p.Critical; {
	case c.Type != simplesigning.OpenPGP:
		return "", fmt.Errorf("type %q, want %q", c.Type, simplesigning.OpenPGP)
	case strings.TrimSpace(c.Identity.Reference) == "":
		return "", errors.New("it does not name the image")
	case c.Image.Digest != d.String():
		return "", fmt.Errorf("it signs another image, %s", c.Image.Digest)
	}
	return p.Critical.Identity.Reference, nil
}

func date(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func fingerprint(k *packet.PublicKey) string { return fmt.Sprintf("%X", k.Fingerprint) }
