package keychain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"github.com/docker/docker-credential-helpers/client"
	"github.com/docker/docker-credential-helpers/credentials"
)

// errNoHelper means that the helper's program is not installed.
var errNoHelper = errors.New("the program is not in $PATH")

// A helperRunner makes the program docker-credential-<name>, ready to be run
// with the arguments that it is given.
type helperRunner func(ctx context.Context, name string) (client.ProgramFunc, error)

func runHelper(ctx context.Context, name string) (client.ProgramFunc, error) {
	program, err := exec.LookPath("docker-credential-" + name)
	if err != nil {
		return nil, errNoHelper
	}
	return func(args ...string) client.Program {
		return &helperProgram{exec.CommandContext(ctx, program, args...)}
	}, nil
}

// A helperProgram is a run of a helper that ends with the context.
type helperProgram struct{ cmd *exec.Cmd }

func (p *helperProgram) Output() ([]byte, error) { return p.cmd.Output() }
func (p *helperProgram) Input(in io.Reader)      { p.cmd.Stdin = in }

// askHelper asks a helper for the credential of key, an auth file's key. The
// protocol is that of docker-credential-helpers.
func askHelper(ctx context.Context, run helperRunner, name, key string) (Credential, bool, error) {
	if strings.ContainsAny(name, "/\\ \t\n\x00") {
		return Credential{}, false, errors.New("a helper's name has no spaces or slashes: it is what follows \"docker-credential-\"")
	}
	program, err := run(ctx, name)
	if err != nil {
		return Credential{}, false, fmt.Errorf("asking docker-credential-%s for %s: %w", name, key, err)
	}
	for _, server := range serverNames(key) {
		got, err := client.Get(program, server)
		switch {
		case err == nil && got.Username == "<token>":
			return Credential{IdentityToken: got.Secret}, true, nil
		case err == nil:
			return Credential{Username: got.Username, Password: got.Secret}, true, nil
		case credentials.IsErrCredentialsNotFound(err), credentials.IsCredentialsMissingServerURL(err):
		case ctx.Err() != nil:
			return Credential{}, false, ctx.Err()
		default:
			// What the program printed may hold what must not be shown.
			return Credential{}, false, fmt.Errorf("asking docker-credential-%s for %s: the program ended with an error", name, key)
		}
	}
	return Credential{}, false, nil
}

// serverNames lists the names under which helpers keep a registry.
func serverNames(key string) []string {
	if key == "docker.io" {
		return []string{"https://index.docker.io/v1/", "docker.io", "index.docker.io"}
	}
	return []string{key, "https://" + key}
}
