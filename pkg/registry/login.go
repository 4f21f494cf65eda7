package registry

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/advice/redact"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/remote/keychain"
)

// LoginOptions says which credentials Login checks and stores.
type LoginOptions struct {
	// Env says how the registry is reached: AuthFile is the file that is written, and Source says how
	// its certificate is verified.
	Env *env.Env
	// Registry is HOST[:PORT][/PATH]. Credentials with a path are used only for repositories below it.
	Registry string
	// Ask returns the credentials. It is called after the other options were checked.
	Ask func() (keychain.Credential, error)
}

// A LoginResult is the result of Login. Its JSON is what gantry registry login --output json prints.
type LoginResult struct {
	Version  int    `json:"version"`
	Registry string `json:"registry"`
	User     string `json:"user"`
	File     string `json:"file"`
	// Checked is false if the registry does not require credentials.
	Checked bool `json:"checked"`
}

// Login sends credentials to a registry and stores them if it accepts them. The file is Env.AuthFile,
// $REGISTRY_AUTH_FILE or the one of podman. Other credentials in it stay.
func Login(ctx context.Context, o LoginOptions) (*LoginResult, error) {
	e, done := o.Env.OrDefault()
	defer done()
	host, path, file, err := loginPlace(e, o.Registry)
	if err != nil {
		return nil, err
	}
	cred, err := o.Ask()
	if err == nil {
		err = checkCredential(cred)
	}
	if err != nil {
		return nil, err
	}
	client, err := env.NewClient(e, remote.Single, env.Side{SkipTLSVerify: e.Source.SkipTLSVerify, PlainHTTP: e.Source.PlainHTTP}, hostCredential{host, cred})
	if err != nil {
		return nil, err
	}
	checked, err := client.Login(ctx, host, path)
	if errors.Is(err, remote.ErrUnauthorized) && !errors.Is(err, remote.ErrDenied) {
		return nil, fmt.Errorf("%s refused the password for user %q: %w", host, cred.Username, err)
	}
	if err != nil {
		return nil, err
	}
	key := strings.TrimSuffix(host+"/"+path, "/")
	if err := storeError(keychain.Store(file, key, cred)); err != nil {
		return nil, err
	}
	return &LoginResult{Version: 1, Registry: key, User: cred.Username, File: file, Checked: checked}, nil
}

// LogoutOptions says which credentials Logout removes.
type LogoutOptions struct {
	// Env names the file in AuthFile.
	Env *env.Env
	// Registry is HOST[:PORT][/PATH].
	Registry string
}

// A LogoutResult is the result of Logout. Its JSON is what gantry registry logout --output json prints.
type LogoutResult struct {
	Version  int    `json:"version"`
	Registry string `json:"registry"`
	File     string `json:"file"`
	// Removed is false if the file had no credentials for the registry.
	Removed bool `json:"removed"`
	// Remaining names another file that has credentials for the registry, or is "".
	Remaining string `json:"-"`
}

// Logout removes the credentials for a registry from the file that Login writes.
func Logout(ctx context.Context, o LogoutOptions) (*LogoutResult, error) {
	e, done := o.Env.OrDefault()
	defer done()
	host, path, file, err := loginPlace(e, o.Registry)
	if err != nil {
		return nil, err
	}
	key := strings.TrimSuffix(host+"/"+path, "/")
	removed, err := keychain.Remove(file, key)
	if err != nil {
		return nil, storeError(err)
	}
	result := &LogoutResult{Version: 1, Registry: key, File: file, Removed: removed}
	// Not AuthFile: reading a named file that does not exist is an error.
	remaining, err := keychain.New(keychain.Options{Getenv: e.Variable, Home: e.Home}).Credential(ctx, host, path)
	if err == nil && !remaining.Anonymous() {
		result.Remaining = remaining.Source
	}
	return result, nil
}

// loginPlace returns the host and path of a registry, and the file in which credentials are stored.
func loginPlace(e *env.Env, registry string) (host, path, file string, err error) {
	if host, path, err = parseRegistry(registry); err != nil {
		return "", "", "", err
	}
	file, err = keychain.Options{AuthFile: e.AuthFile, Getenv: e.Variable, Home: e.Home}.LoginFile()
	return host, path, file, advice.Wrap(advice.Input, err, "")
}

// storeError adds a hint to the error of a file that cannot be written.
func storeError(err error) error {
	if errors.Is(err, keychain.ErrKeptByHelper) {
		return advice.Wrap(advice.Input, err, "use the tool that configured the helper, or name another file with Options.AuthFile")
	}
	return err
}

// parseRegistry parses HOST[:PORT][/PATH].
func parseRegistry(registry string) (host, path string, err error) {
	rest := strings.TrimSuffix(strings.TrimPrefix(registry, env.RegistryScheme), "/")
	host, path, _ = strings.Cut(rest, "/")
	// Parsed as the reference of a repository below the path.
	ref, err := reference.Parse(host + "/" + strings.TrimPrefix(path+"/x", "/"))
	if strings.Contains(rest, "://") || err != nil || ref.Host != host || ref.Identifier() != "" {
		return "", "", env.InputHint("write HOST[:PORT][/PATH], such as quay.io, localhost or mirror.example.com:5000/ocp", "%q is not a registry", redact.Address(registry))
	}
	return host, path, nil
}

// checkCredential returns an error if a user name or password cannot be one.
func checkCredential(c keychain.Credential) error {
	switch {
	case c.Username == "" || strings.Contains(c.Username, ":"):
		return env.Inputf("the user name is empty or contains a colon")
	case c.Password == "":
		return env.InputHint("write it to standard input, or type it", "the password is empty")
	case len(c.Password) > env.MaxPassword || strings.ContainsAny(c.Password, "\r\n\x00"):
		return env.Inputf("the password has several lines, or more than %d bytes", env.MaxPassword)
	}
	return nil
}

// A hostCredential is a credential for one host.
type hostCredential struct {
	host string
	cred keychain.Credential
}

// Credential returns the credential if the host matches, and otherwise none.
func (h hostCredential) Credential(_ context.Context, host, _ string) (keychain.Credential, error) {
	if host != h.host {
		return keychain.Credential{}, nil
	}
	return h.cred, nil
}
