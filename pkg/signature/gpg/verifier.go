package gpg

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/release"
)

// A verifier sees the signatures of one image, one after another.
type verifier struct {
	digest    digest.Digest
	keyrings  []Keyring
	now       time.Time
	satisfied []bool // by keyring
	good      []Signature
	problems  []error
	bad       bool // there was a signature that is no good
	unasked   bool // there was a store that could not be asked
}

func newVerifier(d digest.Digest, keyrings []Keyring, now time.Time) (*verifier, error) {
	if err := checkDigest(d); err != nil {
		return nil, err
	}
	if len(keyrings) == 0 {
		return nil, fmt.Errorf("verifying the signature of %s: there is no key to verify it with; name a keyring", d)
	}
	return &verifier{digest: d, keyrings: keyrings, now: now, satisfied: make([]bool, len(keyrings))}, nil
}

// checkDigest holds d to what stores and ConfigMaps name signatures by.
func checkDigest(d digest.Digest) error {
	if err := d.Validate(); err != nil || d.Algorithm() != digest.SHA256 {
		return fmt.Errorf("looking for signatures: %q is not a sha256 digest", d)
	}
	return nil
}

// add examines a signature that was found at place.
func (v *verifier) add(place string, body []byte) {
	m, err := readMessage(body)
	if err != nil {
		v.bad = true
		v.problem(place, err)
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
			s.Body, s.Place = bytes.Clone(body), place
			v.keep(s)
		}
		trusted = true
	}
	if !trusted {
		v.bad = true
		v.problem(place, reasons...)
	}
}

// keep adds a signature, unless another store has it too.
func (v *verifier) keep(s Signature) {
	if !slices.ContainsFunc(v.good, func(other Signature) bool { return bytes.Equal(other.Body, s.Body) }) {
		v.good = append(v.good, s)
	}
}

// problem remembers what is wrong at place; several keyrings often say the same.
func (v *verifier) problem(place string, reasons ...error) {
	var said []string
	for _, reason := range reasons {
		if text := reason.Error(); !slices.Contains(said, text) {
			said = append(said, text)
		}
	}
	v.problems = append(v.problems, &problem{place, strings.Join(said, "; "), errors.Join(reasons...)})
}

// A problem is what is wrong with one signature, or with asking for it.
type problem struct {
	place, text string
	cause       error
}

func (p *problem) Error() string { return p.place + ": " + p.text }
func (p *problem) Unwrap() error { return p.cause }

// result is nil if each keyring is satisfied, and else a *DistrustError.
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
	return &DistrustError{Digest: v.digest, Keyrings: missing, Unknown: v.unasked && !v.bad, None: !v.unasked && !v.bad && len(v.good) == 0, Problems: v.problems}
}

// A DistrustError is an image whose signatures do not satisfy every keyring.
type DistrustError struct {
	Digest   digest.Digest
	Keyrings []string // those that are not satisfied
	// Unknown says that nothing speaks against the image: no bad signature was seen,
	// and a store that may have good ones could not be asked.
	Unknown bool
	// None says that every store answered, and has no signature of the image.
	None bool
	// Problems are what is wrong with each signature and each store.
	Problems []error
}

// Is makes an image that nobody signed a [release.ErrUnsigned].
func (e *DistrustError) Is(target error) bool { return e.None && target == release.ErrUnsigned }

func (e *DistrustError) Error() string {
	text := fmt.Sprintf("the image %s is not trusted: no signature satisfies the keyring %s", e.Digest, strings.Join(e.Keyrings, " nor "))
	if len(e.Problems) > 0 {
		text += ":\n" + strings.Join(fold(e.Problems), "\n")
	}
	return text
}

// fold are the texts of problems. Signatures of one store of which the same is said,
// as where a proxy answers in its place, share one: "STORE/…/signature-1 to
// signature-9: why".
func fold(problems []error) []string {
	var lines []string
	var first, last *problem // of the line before
	for _, err := range problems {
		var p *problem
		switch {
		case !errors.As(err, &p):
			first, lines = nil, append(lines, err.Error())
		case first != nil && p.follows(last):
			last, lines[len(lines)-1] = p, first.place+" to "+p.name()+": "+first.text
		default:
			first, last, lines = p, p, append(lines, p.Error())
		}
	}
	return lines
}

// name is that of the signature: "signature-9", as its store has it.
func (p *problem) name() string { return p.place[strings.LastIndexByte(p.place, '/')+1:] }

// follows reports whether the same is said of the next signature of the same store.
// Errors of the network hold the name.
func (p *problem) follows(o *problem) bool {
	var n, before int
	const form = "signature-%d"
	if _, err := fmt.Sscanf(p.name(), form, &n); err != nil {
		return false
	}
	if _, err := fmt.Sscanf(o.name(), form, &before); err != nil {
		return false
	}
	return n == before+1 && strings.TrimSuffix(p.place, p.name()) == strings.TrimSuffix(o.place, o.name()) &&
		strings.ReplaceAll(p.text, p.name(), o.name()) == o.text
}

func (e *DistrustError) Unwrap() []error { return e.Problems }
