package airgap

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/signature/sshsig"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// A SigningPolicy decides which archives a run that signs may sign or build on, besides those that
// its workspace wrote. A signature vouches for everything that the archive builds on, and what is
// on a disk may come from anybody.
type SigningPolicy struct {
	// Key is the fingerprint of the key that the run signs with.
	Key string
	// Policy returns the policy of the site. It is called only if it is needed.
	Policy func() (*sshsig.Policy, error)
}

// check returns an error unless a set in a folder is signed with the run's own key or as the policy
// requires.
func (v *SigningPolicy) check(dir string, set state.SetRef) error {
	signed, err := verdictOf(dir, set, &sshsig.Policy{Now: time.Now()})
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
			_, err = verdictOf(dir, set, policy)
		}
	}
	if err == nil {
		return nil
	}
	if refused, ok := errors.AsType[*archive.SignatureError](err); ok {
		err = refused.Err
	}
	return advice.New(advice.Mismatch, "write all content with Options.Full, or name the key that signed it with Options.VerifyKey or Options.AllowedSigners",
		"sequence %d in %s is neither signed again nor built on: this workspace did not write it, and %v", set.Sequence, dir, err)
}

// verdictOf checks the signature of a set in a folder.
func verdictOf(dir string, set state.SetRef, policy *sshsig.Policy) (sshsig.Verdict, error) {
	have, err := archive.InspectWith(archive.OpenOptions{Sequence: set.Sequence, Signatures: policy}, dir)
	if err != nil {
		return sshsig.Verdict{}, err
	}
	if now := have.Selected().Set; now != set.Set {
		err = fmt.Errorf("what lies there under its number is %s", now)
	}
	return have.Signature(), cmp.Or(err, have.Close())
}

// wroteSet reports whether the workspace wrote a set.
func (l *history) wroteSet(set state.SetRef) bool {
	return slices.ContainsFunc(l.exports, func(c state.Export) bool { return c.SetRef == set && !c.Found })
}

// checkSigner returns an error if the run signs and may neither sign nor build on a set in a
// folder.
func (l *history) checkSigner(dir string, set state.SetRef) error {
	if l.signing == nil || l.wroteSet(set) {
		return nil
	}
	return l.signing.check(dir, set)
}
