package archive

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

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

// signatureOf looks at the signature of a set, which may lie in any of the folders.
// What the chosen set builds on is named in it by digest, and content by its own,
// so with that of the repairs all that is read is covered.
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
			verdict, err = a.judgeManifest(c, armored)
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
	verdict, err := a.judgeManifest(c, nil)
	if err != nil {
		err = &SignatureError{Dir: a.dirs[c.dir], File: id.manifest(), Err: err}
	}
	return verdict, err
}

// judgeManifest asks the policy about the signature of a set manifest, which is read
// again and has to be what was read before.
func (a *Archive) judgeManifest(c manifestCopy, armored []byte) (sshsig.Verdict, error) {
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
