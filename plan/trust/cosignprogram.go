package trust

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"github.com/gantry-mirror/gantry/pkg/advice/tail"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/signature/policy"
)

const (
	// cosignTime is how long cosign may take for one image. It is generous: it reads several servers.
	cosignTime = 5 * time.Minute
	// maxCosignOutput is how much of what cosign prints about an error is kept, in bytes.
	maxCosignOutput = 4 << 10
)

// A findCosign is the program cosign of the user. It verifies keyless signatures: with the keys of
// Fulcio and Rekor that it has, and all formats that it knows.
type cosignProgram struct {
	path  string
	flags []string
}

// findCosign finds the program.
func findCosign(e *env.Env, name string) (*cosignProgram, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return nil, env.InputHint("name the program", "Options.Cosign: %w", err)
	}
	c := &cosignProgram{path: path}
	if e.Source.SkipTLSVerify {
		c.flags = append(c.flags, "--allow-insecure-registry")
	}
	if e.Source.PlainHTTP {
		c.flags = append(c.flags, "--allow-http-registry")
	}
	return c, nil
}

// verify asks cosign whether an identity signed an image. at is the image where it is read. If cosign
// refuses it, the error is a *policy.RefusedError with what cosign prints.
func (c *cosignProgram) verify(ctx context.Context, file string, img policy.Image, at, email, issuer string) error {
	ctx, cancel := context.WithTimeout(ctx, cosignTime)
	defer cancel()
	args := append([]string{"verify", "--certificate-identity", email, "--certificate-oidc-issuer", issuer, "--output", "json"}, c.flags...)
	cmd := exec.CommandContext(ctx, c.path, append(args, at)...)
	said := &tail.Writer{Limit: maxCosignOutput}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = io.Discard, said, time.Second
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("verifying %s with %s: %w", img, c.path, context.Cause(ctx))
	case !errors.As(err, &exit):
		return fmt.Errorf("verifying %s: %w", img, err)
	}
	reason := fmt.Errorf("%s ended with status %d: %s", c.path, exit.ExitCode(), said.Line())
	return &policy.RefusedError{Image: img, Policy: file, Scope: "fulcio", Type: policy.SigstoreSigned, Reasons: []error{reason}}
}
