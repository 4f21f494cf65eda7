package gpg

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// A verifier checks the signatures of one image, one after another.
type verifier struct {
	digest    digest.Digest
	keyrings  []Keyring
	now       time.Time
	satisfied []bool // by keyring
	good      []Signature
	problems  []error
	bad       bool // an invalid signature was found
	unreached bool // a store could not be queried
}

func newVerifier(d digest.Digest, keyrings []Keyring, now time.Time) (*verifier, error) {
	if err := checkDigest(d); err != nil {
		return nil, err
	}
	if len(keyrings) == 0 {
		return nil, fmt.Errorf("verifying the signature of %s: no keyring is configured", d)
	}
	return &verifier{digest: d, keyrings: keyrings, now: now, satisfied: make([]bool, len(keyrings))}, nil
}

// checkDigest refuses digests that stores and ConfigMaps cannot name signatures by.
func checkDigest(d digest.Digest) error {
	if err := d.Validate(); err != nil || d.Algorithm() != digest.SHA256 {
		return fmt.Errorf("looking for signatures: %q is not a sha256 digest", d)
	}
	return nil
}

// add checks a signature that was read from source.
func (v *verifier) add(source string, body []byte) {
	m, err := readMessage(body)
	if err != nil {
		v.bad = true
		v.problem(source, err)
		return
	}
	var reasons []error
	trusted := false
	for i, k := range v.keyrings {
		text, s, err := m.verify(k, v.now)
		if err == nil {
			s.Reference, err = readPayload(text, v.digest)
		}
		if err != nil {
			reasons = append(reasons, err)
			continue
		}
		v.satisfied[i] = true
		if !trusted {
			s.Body, s.Source = bytes.Clone(body), source
			v.keep(s)
		}
		trusted = true
	}
	if !trusted {
		v.bad = true
		v.problem(source, reasons...)
	}
}

// keep adds a signature, unless another store had it too.
func (v *verifier) keep(s Signature) {
	if !slices.ContainsFunc(v.good, func(other Signature) bool { return bytes.Equal(other.Body, s.Body) }) {
		v.good = append(v.good, s)
	}
}

// problem records what is wrong with source. Several keyrings often give the same reason.
func (v *verifier) problem(source string, reasons ...error) {
	var said []string
	for _, reason := range reasons {
		if text := reason.Error(); !slices.Contains(said, text) {
			said = append(said, text)
		}
	}
	v.problems = append(v.problems, &problem{source, strings.Join(said, "; "), errors.Join(reasons...)})
}

// A problem is what is wrong with one signature, or why it could not be read.
type problem struct {
	source, text string
	cause        error
}

func (p *problem) Error() string { return p.source + ": " + p.text }
func (p *problem) Unwrap() error { return p.cause }

// result returns nil if each keyring is satisfied, else a *DistrustError.
func (v *verifier) result() error {
	var missing []string
	for i, k := range v.keyrings {
		if !v.satisfied[i] {
			missing = append(missing, k.Name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return &DistrustError{Digest: v.digest, Keyrings: missing, Unknown: v.unreached && !v.bad, None: !v.unreached && !v.bad && len(v.good) == 0, Problems: v.problems}
}

// A DistrustError means that the signatures of an image do not satisfy every keyring.
type DistrustError struct {
	Digest   digest.Digest
	Keyrings []string // those that are not satisfied
	// Unknown is true if no invalid signature was found, and a store that may have valid ones could
	// not be queried.
	Unknown bool
	// None is true if every store responded and has no signature of the image.
	None bool
	// Problems lists what is wrong with each signature and each store.
	Problems []error
}

// Is makes an unsigned image match [release.ErrUnsigned].
func (e *DistrustError) Is(target error) bool { return e.None && target == release.ErrUnsigned }

func (e *DistrustError) Error() string {
	text := fmt.Sprintf("the image %s is not trusted: no signature satisfies the keyring %s", e.Digest, strings.Join(e.Keyrings, " nor "))
	if len(e.Problems) > 0 {
		text += ":\n" + strings.Join(fold(e.Problems), "\n")
	}
	return text
}

// fold returns the texts of problems. Consecutive signatures of one store with the same problem, as
// when a proxy responds in its source, share one line: "STORE/…/signature-1 to signature-9: why".
func fold(problems []error) []string {
	var lines []string
	var first, last *problem // of the previous line
	for _, err := range problems {
		var p *problem
		switch {
		case !errors.As(err, &p):
			first, lines = nil, append(lines, err.Error())
		case first != nil && p.follows(last):
			last, lines[len(lines)-1] = p, first.source+" to "+p.name()+": "+first.text
		default:
			first, last, lines = p, p, append(lines, p.Error())
		}
	}
	return lines
}

// name returns the name of the signature in its store: "signature-9".
func (p *problem) name() string { return p.source[strings.LastIndexByte(p.source, '/')+1:] }

// follows reports whether p is the same problem for the next signature of the same store. Network
// errors contain the name.
func (p *problem) follows(o *problem) bool {
	var n, before int
	const form = "signature-%d"
	if _, err := fmt.Sscanf(p.name(), form, &n); err != nil {
		return false
	}
	if _, err := fmt.Sscanf(o.name(), form, &before); err != nil {
		return false
	}
	return n == before+1 && strings.TrimSuffix(p.source, p.name()) == strings.TrimSuffix(o.source, o.name()) &&
		strings.ReplaceAll(p.text, p.name(), o.name()) == o.text
}

// Unwrap returns the causes of all problems.
func (e *DistrustError) Unwrap() []error { return e.Problems }

// Advice implements advice.Adviser. An image is a mismatch only if its stores could be queried.
func (e *DistrustError) Advice() (advice.Kind, string) {
	if e.Unknown {
		return advice.Failure, ""
	}
	return advice.Mismatch, "if its signatures are published elsewhere, list the stores in mirror.platform.signatureStores; " +
		"if others signed it, name their keys with Options.ReleaseKey; Options.IgnoreReleaseSignature mirrors it unverified"
}
