package archive

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
	"github.com/gantry-mirror/gantry/pkg/signature/sshsig"
)

// SignatureNamespace is the namespace of signatures of set manifests. Signatures of other
// namespaces are not accepted.
const SignatureNamespace = "gantry"

// A SignatureError tells why the signature of an archive, or its absence, is not accepted: the
// archive was altered, the signature is of something else, or its key is not trusted.
type SignatureError struct {
	Dir  string
	File string // the set manifest, or its signature
	Err  error
}

func (e *SignatureError) Error() string {
	return fmt.Sprintf("the archive in %s is refused: %s: %v", e.Dir, e.File, e.Err)
}

func (e *SignatureError) Unwrap() error { return e.Err }

// Advice implements advice.Adviser.
func (e *SignatureError) Advice() (advice.Kind, string) {
	switch {
	case errors.Is(e.Err, sshsig.ErrUnsigned):
		return advice.Mismatch, "have it signed where it was written (Options.SignKey), or accept it unsigned with Options.RequireSignature=false"
	case errors.As(e.Err, new(*sshsig.UntrustedError)):
		return advice.Mismatch, "ask its author which key that is, over another channel than this disk, before you trust the key"
	}
	return advice.Mismatch, "bring the files gantry-*.json and gantry-*.json.sig again from where they were written"
}

// Signature returns the verdict of OpenOptions.Signatures about the set. It is zero without that
// policy.
func (a *Archive) Signature() sshsig.Verdict { return a.signature }

// signatureOf checks the signature of a set, which may be in any of the folders. The chosen set
// names the sets it builds on and all content by digest, so with the signatures of repairs,
// everything that is read is covered.
func (a *Archive) signatureOf(c manifestCopy) (sshsig.Verdict, error) {
	if a.policy == nil {
		return sshsig.Verdict{}, nil
	}
	id := c.set.id()
	var refused []error
	for i, root := range a.folders {
		armored, err := regular.Read(root, id.signature(), sshsig.MaxSize)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		verdict := sshsig.Verdict{}
		if err == nil {
			verdict, err = a.checkSignature(c, armored)
		}
		if err == nil {
			for _, other := range refused {
				a.log.Warn("another folder has a good signature", "used", a.dirs[i], "error", other)
			}
			return verdict, nil
		}
		refused = append(refused, &SignatureError{Dir: a.dirs[i], File: id.signature(), Err: err})
	}
	if len(refused) > 0 {
		return sshsig.Verdict{}, refused[0]
	}
	if c.recovery != nil && c.recovery.signature != nil {
		verdict, err := a.policy.Check(SignatureNamespace, bytes.NewReader(c.recovery.copied), c.recovery.signature)
		if err != nil {
			err = &SignatureError{Dir: a.dirs[c.dir], File: id.signature() + " in " + copyPath, Err: err}
		}
		return verdict, err
	}
	verdict, err := a.checkSignature(c, nil)
	if err != nil {
		err = &SignatureError{Dir: a.dirs[c.dir], File: id.manifest(), Err: err}
	}
	return verdict, err
}

// signatureDamage returns the signatures of the sets that the selected one builds on which are not
// signatures of these sets. The key of such a signature need not be trusted, since the selected set
// covers them.
func (a *Archive) signatureDamage() []Damage {
	if a.policy == nil {
		return nil
	}
	var damage []Damage
	for _, m := range a.members {
		if m.set == a.set || m.set.Repairs != nil {
			continue
		}
		id := m.outer.id()
		for _, root := range a.folders {
			armored, err := regular.Read(root, id.signature(), sshsig.MaxSize)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err == nil {
				_, err = a.checkSignature(manifestCopy{dir: m.dir, set: m.outer, digest: m.digest, recovery: m.recovery}, armored)
			}
			if err != nil && !errors.As(err, new(*sshsig.UntrustedError)) {
				damage = append(damage, Damage{File: id.signature(), Problem: fmt.Sprintf("it is not the signature of %s: %v", id.manifest(), err)})
			}
		}
	}
	return damage
}

// checkSignature checks the signature of a set manifest, which is read again and must be what was
// read before.
func (a *Archive) checkSignature(c manifestCopy, armored []byte) (sshsig.Verdict, error) {
	if c.recovery != nil {
		return a.policy.Check(SignatureNamespace, bytes.NewReader(c.recovery.text), armored)
	}
	f, _, err := regular.Open(a.folders[c.dir], c.set.id().manifest())
	if err != nil {
		return sshsig.Verdict{}, err
	}
	defer f.Close() // only read from
	sum := digest.SHA256.Digester()
	verdict, err := a.policy.Check(SignatureNamespace, io.TeeReader(io.LimitReader(f, maxSet), sum.Hash()), armored)
	if err == nil && verdict.Signed && sum.Digest() != c.digest {
		err = errors.New("the set manifest changed while it was read")
	}
	if err != nil {
		return sshsig.Verdict{}, err
	}
	return verdict, nil
}
