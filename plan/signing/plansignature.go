package signing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/file/durable"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/signature/sshsig"
	"github.com/gantry-mirror/gantry/pkg/site/keys"
)

const (
	// PlanSignatureNamespace is the namespace of signatures of plans. A signature of an archive is not
	// one of a plan.
	PlanSignatureNamespace = "gantry-plan"
	// PlanSignatureSuffix is added to the name of a plan for the file of its signature.
	PlanSignatureSuffix = ".sig"
	// planSigners is the file in the configuration of a user or machine with keys. One of them must
	// have signed every plan.
	planSigners = "plan_signers"
	// machineConfig is the default of Env.MachineConfig.
	machineConfig = "/etc/gantry"
)

// A PlanFile is the file that a plan is written to.
type PlanFile struct {
	Path string
	// SigningKey signs the plan. The signature is written beside it, with PlanSignatureSuffix added to
	// the name. Nil signs nothing, and leaves a signature that is there.
	SigningKey *sshsig.Key
}

// WritePlan writes a plan and its signature, and returns the digest of the file.
func WritePlan(ctx context.Context, p *plan.Plan, to PlanFile) (digest.Digest, error) {
	sum := digest.SHA256.Digester()
	err := durable.Write(to.Path, func(w io.Writer) error { return p.Write(io.MultiWriter(w, sum.Hash())) })
	if err != nil || to.SigningKey == nil {
		return sum.Digest(), err
	}
	text, _, err := regular.OpenPath(to.Path)
	if err != nil {
		return "", fmt.Errorf("signing the plan: %w", err)
	}
	signature, err := to.SigningKey.Sign(ctx, PlanSignatureNamespace, text)
	if err := errors.Join(err, text.Close()); err != nil {
		return "", fmt.Errorf("signing the plan %s: %w", to.Path, err)
	}
	return sum.Digest(), durable.WriteFile(to.Path+PlanSignatureSuffix, signature)
}

// A PlanSignatureError is why the signature of a plan, or its absence, is not accepted.
type PlanSignatureError struct {
	// Plan is the file, or the configuration that a plan would be made from.
	Plan string
	// RequiredBy is the file that requires a signature, or "".
	RequiredBy string
	Err        error
}

func (e *PlanSignatureError) Error() string {
	text := fmt.Sprintf("the plan %s is refused: %v", e.Plan, e.Err)
	if e.RequiredBy != "" {
		text += fmt.Sprintf(" (%s requires signed plans)", e.RequiredBy)
	}
	return text
}

func (e *PlanSignatureError) Unwrap() error { return e.Err }

// Advice implements advice.Adviser.
func (e *PlanSignatureError) Advice() (advice.Kind, string) {
	switch {
	case errors.Is(e.Err, errNotAPlan):
		return advice.Mismatch, "run gantry plan, have its file signed, and set Options.Plan"
	case errors.Is(e.Err, sshsig.ErrUnsigned):
		return advice.Mismatch, "have it signed by who approves plans: gantry plan with Options.SignKey, or ssh-keygen -Y sign -n " + PlanSignatureNamespace
	case errors.As(e.Err, new(*sshsig.UntrustedError)):
		return advice.Mismatch, "have it signed with a key that is accepted here"
	}
	return advice.Mismatch, "compare its digest with the one that was approved, and bring the plan and its signature again"
}

// errNotAPlan refuses a configuration where only signed plans are accepted.
var errNotAPlan = errors.New("it would be made from a configuration, and only signed plans are accepted")

// planSignerFiles returns the files that require signed plans: the machine's and the user's.
func planSignerFiles(e *env.Env) []string {
	var files []string
	machine := filepath.Join(cmp.Or(e.MachineConfig, machineConfig), planSigners)
	if _, err := os.Stat(machine); !errors.Is(err, fs.ErrNotExist) {
		files = append(files, machine) // an error is returned when it is read
	}
	if user := env.ConfigFile(e.Variable, planSigners); user != "" {
		files = append(files, user)
	}
	return files
}

// An ApprovedPlan is a plan that was read from a file, and who signed it.
type ApprovedPlan struct {
	*plan.Plan
	Digest    digest.Digest
	signature *sshsig.Verdict // nil if it is not signed
}

// An Approval says which plan a run copies, and who must have signed it.
type Approval struct {
	// Plan is the file of the plan, and Config the configuration of a run that copies its plan without one.
	Plan, Config string
	// RequireSignedPlan refuses a plan that is not signed by a key of Trust, which is nil if no key is trusted.
	RequireSignedPlan bool
	Trust             func() (*sshsig.Policy, error)
}

// ApprovePlan reads the plan of a run, and checks its signature. It returns nil for a run without
// Options.Plan, unless that is refused because only signed plans are accepted.
func ApprovePlan(e *env.Env, o Approval) (*ApprovedPlan, error) {
	files := planSignerFiles(e)
	if o.Plan == "" {
		if o.Config != "" && len(files) > 0 {
			return nil, &PlanSignatureError{Plan: "of " + o.Config, RequiredBy: files[0], Err: errNotAPlan}
		}
		return nil, nil
	}
	p, sum, err := readPlan(o.Plan)
	if err != nil {
		return nil, err
	}
	approved := &ApprovedPlan{Plan: p, Digest: sum}
	for _, file := range files {
		parse := func(text []byte) (*sshsig.Signers, error) { return sshsig.ParseAllowedSigners(text, time.Local) }
		signers, err := keys.ReadSigners(parse, "keys for plans", file)
		if err != nil {
			return nil, err
		}
		if err := approved.check(o.Plan, &sshsig.Policy{Signers: signers, Required: true, Now: time.Now()}); err != nil {
			return nil, &PlanSignatureError{Plan: o.Plan, RequiredBy: file, Err: err}
		}
	}
	if len(files) == 0 || o.RequireSignedPlan {
		demands := sshsig.Policy{Now: time.Now()}
		if o.Trust != nil {
			policy, err := o.Trust()
			if err != nil {
				return nil, err
			}
			demands = *policy
		}
		if demands.Required = o.RequireSignedPlan; demands.Required && demands.Signers == nil {
			return nil, env.InputHint("name keys with Options.VerifyKey or Options.AllowedSigners", "Options.RequireSignedPlan: no trusted keys are known")
		}
		if err := approved.check(o.Plan, &demands); err != nil {
			return nil, &PlanSignatureError{Plan: o.Plan, Err: err}
		}
	}
	if v := approved.signature; v != nil && v.Trusted {
		e.Noticef("mirroring the plan %s, %s, signed by %s", o.Plan, sum, v.Signer)
	} else if v != nil {
		e.Noticef("mirroring the plan %s, %s, signed with the %s key %s; set Options.VerifyKey or Options.AllowedSigners to verify it", o.Plan, sum, v.Type, v.Key)
	} else {
		e.Noticef("mirroring the plan %s, %s", o.Plan, sum)
	}
	return approved, nil
}

// check checks the signature beside the file of the plan, which must have the content that was read.
func (a *ApprovedPlan) check(file string, policy *sshsig.Policy) error {
	armored, _, err := regular.ReadPath(file+PlanSignatureSuffix, sshsig.MaxSize)
	if errors.Is(err, fs.ErrNotExist) {
		_, err = policy.Check(PlanSignatureNamespace, strings.NewReader(""), nil)
		return err
	}
	if err != nil {
		return err
	}
	input, _, err := regular.OpenPath(file)
	if err != nil {
		return err
	}
	defer input.Close() // only read
	text, err := planText(input)
	if err != nil {
		return err
	}
	sum := digest.SHA256.Digester()
	verdict, err := policy.Check(PlanSignatureNamespace, io.TeeReader(text, sum.Hash()), armored)
	if err == nil && sum.Digest() != a.Digest {
		err = errors.New("the plan changed while it was read")
	}
	if err == nil {
		a.signature = &verdict
	}
	return err
}

// DigestOf returns the digest of the plan in Approval.Plan, or of another one without that.
func (a *ApprovedPlan) DigestOf(p *plan.Plan) (digest.Digest, error) {
	if a == nil {
		return p.Digest()
	}
	return a.Digest, nil
}

// Signer returns who signed the plan, or nil.
func (a *ApprovedPlan) Signer() *sshsig.Verdict {
	if a == nil {
		return nil
	}
	return a.signature
}
