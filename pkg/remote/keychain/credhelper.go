package keychain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/docker/docker-credential-helpers/client"
	"github.com/docker/docker-credential-helpers/credentials"
)

// errNoHelper means that the helper's program is not installed.
var errNoHelper = errors.New("the program is not in $PATH")

// helperLife is how long the result of a helper is cached.
const helperLife = 5 * time.Minute

// A helperFinder finds the program docker-credential-<name>.
type helperFinder func(ctx context.Context, name string) (client.ProgramFunc, error)

func lookUpHelper(ctx context.Context, name string) (client.ProgramFunc, error) {
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

// helpers runs credential helpers, one at a time, and caches their results: a run needs the same
// one for every repository of a host.
type helpers struct {
	find    helperFinder
	now     func() time.Time
	lock    chan struct{}
	results map[helperQuery]helperResult // guarded by lock
}

type helperQuery struct{ helper, key string }

type helperResult struct {
	cred  Credential
	found bool
	until time.Time
}

func newHelpers(find helperFinder, now func() time.Time) *helpers {
	return &helpers{find: find, now: now, lock: make(chan struct{}, 1), results: map[helperQuery]helperResult{}}
}

// get returns the credential of key, a key of an auth file, from a helper. It speaks the
// protocol of docker-credential-helpers.
func (h *helpers) get(ctx context.Context, helper, key string) (Credential, bool, error) {
	select {
	case h.lock <- struct{}{}:
		defer func() { <-h.lock }()
	case <-ctx.Done():
		return Credential{}, false, ctx.Err()
	}
	q := helperQuery{helper, key}
	if a, ok := h.results[q]; ok && h.now().Before(a.until) {
		return a.cred, a.found, nil
	}
	cred, found, err := h.run(ctx, helper, key)
	if err != nil {
		return Credential{}, false, err
	}
	h.results[q] = helperResult{cred, found, h.now().Add(helperLife)}
	return cred, found, nil
}

func (h *helpers) run(ctx context.Context, helper, key string) (Credential, bool, error) {
	if strings.ContainsAny(helper, "/\\ \t\n\x00") {
		return Credential{}, false, errors.New("the name of a helper must not contain spaces or slashes; it is the part after \"docker-credential-\"")
	}
	program, err := h.find(ctx, helper)
	if err != nil {
		return Credential{}, false, fmt.Errorf("getting the credentials of %s from docker-credential-%s: %w", key, helper, err)
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
			// The program's output may contain secrets.
			return Credential{}, false, fmt.Errorf("getting the credentials of %s from docker-credential-%s: the program ended with an error", key, helper)
		}
	}
	return Credential{}, false, nil
}

// serverNames returns the names under which helpers store a registry.
func serverNames(key string) []string {
	if key == "docker.io" {
		return []string{"https://index.docker.io/v1/", "docker.io", "index.docker.io"}
	}
	return []string{key, "https://" + key}
}
