package archive

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/regular"
	"github.com/gantry-mirror/gantry/pkg/sshsig"
)

// SignatureNamespace is what signatures of set manifests are for, so that one of
// something else is none.
const SignatureNamespace = "gantry"

// A SignatureError says why the signature of an archive, or that there is none,
// is not taken: it was altered, is of something else, or of nobody who is
// trusted.
type SignatureError struct {
	Dir  string
	File string // the set manifest, or its signature
	Err  error
}

func (e *SignatureError) Error() string {
	return fmt.Sprintf("the archive in %s is refused: %s: %v", e.Dir, e.File, e.Err)
}

func (e *SignatureError) Unwrap() error { return e.Err }

// Signature is who signed the set, as OpenOptions.Signatures found it; the zero
// value where it did not look.
func (a *Archive) Signature() sshsig.Verdict { return a.signature }

// checkSignature looks at the signature of the chosen set. What that builds on is
// named in it by digest, and content by its own, so all that is read is covered.
func (a *Archive) checkSignature(policy *sshsig.Policy) error {
	if policy == nil {
		return nil
	}
	id := a.set.id()
	var refused error
	refuse := func(dir int, file string, err error) {
		err = &SignatureError{Dir: a.dirs[dir], File: file, Err: err}
		if refused == nil {
			refused = err
		} else {
			a.log.Warn("another signature is refused", "error", err)
		}
	}
	signed := false
	for dir, root := range a.folders {
		armored, err := regular.Read(root, id.signature(), sshsig.MaxSize)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		signed = true
		verdict := sshsig.Verdict{}
		if err == nil {
			verdict, err = a.signedBy(policy, armored)
		}
		if err == nil {
			a.signature = verdict
			if refused != nil {
				a.log.Warn("another folder has a good signature", "used", a.dirs[dir], "error", refused)
			}
			return nil
		}
		refuse(dir, id.signature(), err)
	}
	if !signed {
		if _, err := a.signedBy(policy, nil); err != nil {
			refuse(a.chosenMember().dir, id.manifest(), err)
		}
	}
	return refused
}

// signedBy asks a policy for the signature of the set manifest that was read, which
// is read again: the medium may say something else by now.
func (a *Archive) signedBy(policy *sshsig.Policy, armored []byte) (sshsig.Verdict, error) {
	m := a.chosenMember()
	f, info, err := regular.Open(a.folders[m.dir], m.name)
	if err != nil {
		return sshsig.Verdict{}, err
	}
	defer f.Close() // only read from
	if info.Size() > maxSet {
		return sshsig.Verdict{}, errors.New("the set manifest changed while it was read")
	}
	sum := digest.SHA256.Digester()
	text := io.TeeReader(io.LimitReader(f, maxSet), sum.Hash())
	verdict, err := policy.Check(SignatureNamespace, text, armored)
	if err == nil && verdict.Signed && sum.Digest() != m.digest {
		err = errors.New("the set manifest changed while it was read")
	}
	if err != nil {
		return sshsig.Verdict{}, err
	}
	return verdict, nil
}

// chosenMember is the set that was chosen, among those that were read.
func (a *Archive) chosenMember() *member {
	return a.members[slices.IndexFunc(a.members, func(m *member) bool { return m.set == a.set })]
}
