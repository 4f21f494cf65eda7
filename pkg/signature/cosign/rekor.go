package cosign

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxLog is the largest entry of a log in bytes.
const maxLog = 1 << 20

// A logEntry is an entry that a transparency log promised to keep.
type logEntry struct {
	time time.Time // when the log took it
	kind string
	// hash is the SHA-256 of what was signed, in hexadecimal.
	hash string
	// signature and verifier are what the log took: the signature, and the key or certificate in PEM.
	signature, verifier []byte
}

// promise is the annotation of cosign with the signed entry timestamp of Rekor.
type promise struct {
	Timestamp []byte         `json:"SignedEntryTimestamp"`
	Payload   jsontext.Value `json:"Payload"`
}

// logged is what Rekor signs, in canonical JSON (RFC 8785).
type logged struct {
	Body  []byte `json:"body"`
	Time  int64  `json:"integratedTime"`
	Index int64  `json:"logIndex"`
	Log   string `json:"logID"`
}

// readPromise reads the annotation of cosign, and verifies that one of the keys signed it.
func readPromise(text []byte, keys []*ecdsa.PublicKey) (*logEntry, error) {
	if len(text) > maxLog {
		return nil, fmt.Errorf("the entry of the log has more than %d bytes", maxLog)
	}
	var p promise
	if err := jsonv2.Unmarshal(text, &p, jsonv2.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("reading the promise of the log: %w", err)
	}
	return p.verify(keys)
}

// verify verifies the signature of the log and reads the entry.
func (p *promise) verify(keys []*ecdsa.PublicKey) (*logEntry, error) {
	if err := p.Payload.Canonicalize(); err != nil {
		return nil, fmt.Errorf("reading the promise of the log: %w", err)
	}
	hash := sha256.Sum256(p.Payload)
	valid := false
	for _, key := range keys {
		valid = valid || ecdsa.VerifyASN1(key, hash[:], p.Timestamp)
	}
	if !valid {
		return nil, errors.New("no key of a transparency log in the policy matches the promise of the log")
	}
	var l logged
	if err := jsonv2.Unmarshal(p.Payload, &l, jsonv2.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("reading the entry of the log: %w", err)
	}
	e, err := readEntry(l.Body)
	if err != nil {
		return nil, fmt.Errorf("reading the entry of the log: %w", err)
	}
	e.time = time.Unix(l.Time, 0)
	return e, nil
}

// hashValue is a hash in an entry.
type hashValue struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"value"`
}

// readEntry reads the body of an entry: hashedrekord or dsse, version 0.0.1.
func readEntry(body []byte) (*logEntry, error) {
	var head struct {
		Version string          `json:"apiVersion"`
		Kind    string          `json:"kind"`
		Spec    json.RawMessage `json:"spec"`
	}
	if err := jsonv2.Unmarshal(body, &head); err != nil {
		return nil, err
	}
	if head.Version != "0.0.1" || head.Kind != "hashedrekord" && head.Kind != "dsse" {
		return nil, fmt.Errorf("entries of the kind %q, version %q, are not supported; only hashedrekord and dsse, version 0.0.1", head.Kind, head.Version)
	}
	e := &logEntry{kind: head.Kind}
	if head.Kind == "dsse" {
		return e, e.readEnvelope(head.Spec)
	}
	var spec struct {
		Data struct {
			Hash hashValue `json:"hash"`
		} `json:"data"`
		Signature struct {
			Content   []byte `json:"content"`
			PublicKey struct {
				Content []byte `json:"content"`
			} `json:"publicKey"`
		} `json:"signature"`
	}
	if err := jsonv2.Unmarshal(head.Spec, &spec); err != nil {
		return nil, err
	}
	e.signature, e.verifier = spec.Signature.Content, spec.Signature.PublicKey.Content
	return e, e.setHash(spec.Data.Hash)
}

// readEnvelope reads the entry of an envelope with one signature.
func (e *logEntry) readEnvelope(text []byte) error {
	var spec struct {
		Payload    hashValue `json:"payloadHash"`
		Signatures []struct {
			Signature []byte `json:"signature"`
			Verifier  []byte `json:"verifier"`
		} `json:"signatures"`
	}
	if err := jsonv2.Unmarshal(text, &spec); err != nil {
		return err
	}
	if len(spec.Signatures) != 1 {
		return fmt.Errorf("%d signatures of one envelope; only one is supported", len(spec.Signatures))
	}
	e.signature, e.verifier = spec.Signatures[0].Signature, spec.Signatures[0].Verifier
	return e.setHash(spec.Payload)
}

func (e *logEntry) setHash(h hashValue) error {
	if h.Algorithm != "sha256" {
		return fmt.Errorf("the hash algorithm %q is not supported; only sha256", h.Algorithm)
	}
	e.hash = h.Value
	return nil
}

// covers returns an error unless the entry is about this signature by this key or certificate.
func (e *logEntry) covers(s signed, verifier []byte) error {
	of := s.content
	if e.kind == "dsse" {
		if of = s.envelope; of == nil {
			return errors.New("the log has an entry for an envelope, and the signature has none")
		}
	}
	hash := sha256.Sum256(of)
	switch {
	case e.hash != hex.EncodeToString(hash[:]):
		return errors.New("the log has an entry for another payload")
	case !bytes.Equal(e.signature, s.signature):
		return errors.New("the log has an entry for another signature")
	case !samePEM(e.verifier, verifier):
		return errors.New("the log has an entry for another key or certificate")
	}
	return nil
}

// samePEM reports whether two texts are each one PEM block with the same content.
func samePEM(a, b []byte) bool {
	x, restX := pem.Decode(a)
	y, restY := pem.Decode(b)
	return x != nil && y != nil && len(bytes.TrimSpace(restX))+len(bytes.TrimSpace(restY)) == 0 && bytes.Equal(x.Bytes, y.Bytes)
}
