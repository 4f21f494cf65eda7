package carry

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/pkg/sshsig"
)

// A Voucher says whose archives a run that signs may sign or build on, besides those
// that its workspace wrote: a signature answers for all that the archive builds on, and
// what lies on a medium may be anybody's.
type Voucher struct {
	// Key is the fingerprint of the key that the run signs with.
	Key string
	// Policy is that of the site. It is asked for when it is needed.
	Policy func() (*sshsig.Policy, error)
}

// vouch is an error where a set in a folder is signed neither with the run's own key nor
// as the policy wants.
func (v *Voucher) vouch(dir string, set archive.BaseSet) error {
	signed, err := signedAs(dir, set, &sshsig.Policy{Now: time.Now()})
	switch {
	case err == nil && !signed.Signed:
		err = sshsig.ErrUnsigned
	case err == nil && signed.Key != v.Key:
		policy, policyErr := v.Policy()
		if policyErr != nil {
			return policyErr
		}
		err = fmt.Errorf("it is signed with the %s key %s, and no keys are known", signed.Type, signed.Key)
		if policy.Signers != nil {
			_, err = signedAs(dir, set, policy)
		}
	}
	if err == nil {
		return nil
	}
	var refused *archive.SignatureError
	if errors.As(err, &refused) {
		err = refused.Err
	}
	return mismatchf("write all content with --full, or name the key that signed it with --verify-key or --allowed-signers",
		"sequence %d in %s is neither signed anew nor built on: this workspace did not write it, and %v", set.Sequence, dir, err)
}

// signedAs is who signed a set in a folder.
func signedAs(dir string, set archive.BaseSet, policy *sshsig.Policy) (sshsig.Verdict, error) {
	have, err := archive.InspectWith(archive.OpenOptions{Sequence: set.Sequence, Signatures: policy}, dir)
	if err != nil {
		return sshsig.Verdict{}, err
	}
	if now := have.Newest().Set; now != set.Set {
		err = fmt.Errorf("what lies there under its number is %s", now)
	}
	return have.Signature(), cmp.Or(err, have.Close())
}

// wrote reports whether the workspace wrote a set.
func (l *lineage) wrote(set archive.BaseSet) bool {
	for _, c := range l.past {
		if c.Sequence == set.Sequence && c.Set == set.Set {
			return !c.Found
		}
	}
	return false
}

// vouchFor is an error where a run that signs may not sign a set in a folder, nor build
// on it.
func (l *lineage) vouchFor(dir string, set archive.BaseSet) error {
	if l.voucher == nil || l.wrote(set) {
		return nil
	}
	return l.voucher.vouch(dir, set)
}
