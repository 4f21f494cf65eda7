package cosign

import (
	"crypto/ecdsa"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/opencontainers/go-digest"
)

const (
	// BundleType is what the media types of sigstore bundles begin with. They are artifacts that refer
	// to the image they are about.
	BundleType = "application/vnd.dev.sigstore.bundle"
	// MaxBundle is the largest bundle in bytes.
	MaxBundle = 4 << 20

	statementType   = "application/vnd.in-toto+json"
	signPredicate   = "https://sigstore.dev/cosign/sign/v1"
	statementPrefix = "https://in-toto.io/Statement/"
)

// A Bundle is a sigstore bundle of version 0.1 to 0.3: a signature with what is needed to verify it.
// See https://github.com/sigstore/protobuf-specs, sigstore_bundle.proto.
type Bundle struct {
	Material struct {
		Certificate *rawBytes `json:"certificate"`
		Chain       *struct {
			Certificates []rawBytes `json:"certificates"`
		} `json:"x509CertificateChain"`
		Log []bundleEntry `json:"tlogEntries"`
	} `json:"verificationMaterial"`
	Envelope *struct {
		Payload    []byte `json:"payload"`
		Type       string `json:"payloadType"`
		Signatures []struct {
			Signature []byte `json:"sig"`
		} `json:"signatures"`
	} `json:"dsseEnvelope"`
	Message *struct {
		Signature []byte `json:"signature"`
	} `json:"messageSignature"`
}

type rawBytes struct {
	Bytes []byte `json:"rawBytes"`
}

// A bundleEntry is an entry of a transparency log. JSON of protocol buffers has 64-bit numbers as text.
type bundleEntry struct {
	Index string `json:"logIndex"`
	Log   struct {
		ID []byte `json:"keyId"`
	} `json:"logId"`
	Time    string `json:"integratedTime"`
	Promise *struct {
		Timestamp []byte `json:"signedEntryTimestamp"`
	} `json:"inclusionPromise"`
	Body []byte `json:"canonicalizedBody"`
}

// ReadBundle parses a bundle. Members that say nothing about who signed what are ignored.
func ReadBundle(text []byte) (*Bundle, error) {
	var head struct {
		MediaType string `json:"mediaType"`
	}
	var b Bundle
	if len(text) > MaxBundle {
		return nil, fmt.Errorf("reading the bundle: more than %d bytes", MaxBundle)
	}
	if err := jsonv2.Unmarshal(text, &head); err != nil {
		return nil, fmt.Errorf("reading the bundle: %w", err)
	}
	if !isBundleType(head.MediaType) {
		return nil, fmt.Errorf("reading the bundle: the media type %q is not supported", head.MediaType)
	}
	if err := jsonv2.Unmarshal(text, &b); err != nil {
		return nil, fmt.Errorf("reading the bundle: %w", err)
	}
	if (b.Envelope == nil) == (b.Message == nil) {
		return nil, errors.New("reading the bundle: it needs either a dsseEnvelope or a messageSignature")
	}
	if b.Envelope != nil && len(b.Envelope.Signatures) != 1 {
		return nil, fmt.Errorf("reading the bundle: the envelope has %d signatures; only one is supported", len(b.Envelope.Signatures))
	}
	return &b, nil
}

// isBundleType reports whether a media type is one of a supported version, in both forms.
func isBundleType(mediaType string) bool {
	switch mediaType {
	case BundleType + ".v0.3+json", BundleType + "+json;version=0.1", BundleType + "+json;version=0.2", BundleType + "+json;version=0.3":
		return true
	}
	return false
}

// Signs reports whether the bundle claims to be a signature of an image. Others are attestations, such as
// one about how an image was built.
func (b *Bundle) Signs() bool {
	if b.Envelope == nil {
		return true
	}
	var s struct {
		Predicate string `json:"predicateType"`
	}
	return jsonv2.Unmarshal(b.Envelope.Payload, &s) == nil && s.Predicate == signPredicate
}

// VerifyBundle verifies a bundle about the image with this manifest, and returns what it says. The bundle
// may sign a statement that names the digest, or the manifest itself. It names no repository, unless
// the statement does.
func (r *Root) VerifyBundle(b *Bundle, manifest []byte, now time.Time) (Statement, error) {
	s, err := b.signed(manifest)
	if err != nil {
		return Statement{}, err
	}
	var entry *logEntry
	if len(r.Rekor) > 0 {
		if entry, err = b.logEntry(r.Rekor); err != nil {
			return Statement{}, err
		}
	}
	signer, err := r.signer(s, entry, now)
	if err != nil {
		return Statement{}, err
	}
	out := Statement{Digest: digest.FromBytes(manifest), Signer: signer}
	if b.Envelope != nil {
		out.Reference, out.Digest, err = readStatement(b.Envelope.Payload, out.Digest)
	}
	return out, err
}

// signed returns what the bundle signs.
func (b *Bundle) signed(manifest []byte) (signed, error) {
	s := signed{content: manifest}
	if b.Message != nil {
		s.signature = b.Message.Signature
	} else {
		if b.Envelope.Type != statementType {
			return s, fmt.Errorf("its envelope contains %q, want %q", b.Envelope.Type, statementType)
		}
		s.envelope, s.signature = b.Envelope.Payload, b.Envelope.Signatures[0].Signature
		s.content = encodeEnvelope(b.Envelope.Type, b.Envelope.Payload)
	}
	if b.Material.Certificate != nil {
		s.certificate = certificatePEM(b.Material.Certificate.Bytes)
	}
	if chain := b.Material.Chain; chain != nil {
		for i, c := range chain.Certificates {
			if i == 0 {
				s.certificate = certificatePEM(c.Bytes)
			} else if i < maxCertificates {
				s.chain = append(s.chain, certificatePEM(c.Bytes)...)
			}
		}
		// Of a chain beside a signature, the last certificate is ignored as the root; here it may be an
		// intermediate one.
		if len(chain.Certificates) > 1 {
			s.chain = append(s.chain, certificatePEM(chain.Certificates[0].Bytes)...)
		}
	}
	return s, nil
}

// logEntry returns the first entry with a valid promise.
func (b *Bundle) logEntry(keys []*ecdsa.PublicKey) (*logEntry, error) {
	var problems []error
	for _, e := range b.Material.Log[:min(len(b.Material.Log), maxSignatures)] {
		entry, err := e.verify(keys)
		if err == nil {
			return entry, nil
		}
		problems = append(problems, err)
	}
	if len(problems) == 0 {
		return nil, errors.New("it was not logged: the bundle has no entry of a log")
	}
	return nil, errors.Join(problems...)
}

func (e *bundleEntry) verify(keys []*ecdsa.PublicKey) (*logEntry, error) {
	if e.Promise == nil {
		return nil, errors.New("the entry of the log has no signed timestamp, which this version needs; logs of the second version make none")
	}
	index, err := strconv.ParseInt(e.Index, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("reading the entry of the log: %w", err)
	}
	at, err := strconv.ParseInt(e.Time, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("reading the entry of the log: %w", err)
	}
	text, err := json.Marshal(map[string]any{
		"body": base64.StdEncoding.EncodeToString(e.Body), "integratedTime": at, "logIndex": index, "logID": hex.EncodeToString(e.Log.ID),
	})
	if err != nil {
		return nil, err
	}
	return (&promise{Timestamp: e.Promise.Timestamp, Payload: text}).verify(keys)
}

// encodeEnvelope returns what the signature of an envelope covers (DSSE, PAE).
func encodeEnvelope(payloadType string, payload []byte) []byte {
	return fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(payloadType), payloadType, len(payload), payload)
}

// readStatement returns the name and digest in a statement that signs an image.
func readStatement(text []byte, d digest.Digest) (name string, signed digest.Digest, err error) {
	var s struct {
		Type      string `json:"_type"`
		Predicate string `json:"predicateType"`
		Subject   []struct {
			Name   string            `json:"name"`
			Digest map[string]string `json:"digest"`
		} `json:"subject"`
	}
	if err := jsonv2.Unmarshal(text, &s); err != nil {
		return "", "", fmt.Errorf("reading the statement: %w", err)
	}
	switch {
	case !strings.HasPrefix(s.Type, statementPrefix):
		return "", "", fmt.Errorf("the statement has the type %q", s.Type)
	case s.Predicate != signPredicate:
		return "", "", fmt.Errorf("it is an attestation of the type %q, not a signature of the image", s.Predicate)
	case len(s.Subject) != 1:
		return "", "", fmt.Errorf("the statement is about %d images; want one", len(s.Subject))
	}
	hex := s.Subject[0].Digest[d.Algorithm().String()]
	if signed = digest.NewDigestFromEncoded(d.Algorithm(), hex); signed.Validate() != nil {
		return "", "", errors.New("the statement names no digest of the image")
	}
	return s.Subject[0].Name, signed, nil
}

func certificatePEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
