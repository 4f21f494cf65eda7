// Package keychain finds the credentials for a registry.
//
// A Keychain is created once and serves every request of a run: catalogs, images, signatures,
// charts. It takes a host and a repository path, and returns a Credential. The zero Credential
// means that the request is anonymous.
//
// It reads the files that podman, skopeo, oc and docker write, in this order; the first file that
// has the registry decides:
//
//	Options.AuthFile, $REGISTRY_AUTH_FILE,
//	$XDG_RUNTIME_DIR/containers/auth.json, ~/.config/containers/auth.json,
//	$DOCKER_CONFIG/config.json, ~/.docker/config.json
//
// In a file, the longest path prefix wins: "quay.io/a/b" before "quay.io/a" before "quay.io". At
// each prefix, credHelpers come before auths; credsStore comes last. Each file is read once, when
// it is first needed. The result of a credential helper is cached for five minutes, because its
// tokens may be short-lived.
//
// A file that the user named must exist. A file that exists must be readable and well-formed.
// Errors name the file and the key in it, but never show content, and a Credential redacts itself
// however it is printed.
package keychain

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gantry-mirror/gantry/pkg/advice"
)

// Options configure a Keychain. With the zero value, it reads the same files as podman and docker
// do for the user who runs the program.
type Options struct {
	// AuthFile is a file that the user named. It is read first and must exist.
	AuthFile string
	// NamedBy is the option that named AuthFile, for errors. The default is "Options.AuthFile".
	NamedBy string
	// Getenv reads the environment; nil means os.Getenv.
	Getenv func(string) string
	// Home is the user's home folder; "" means os.UserHomeDir.
	Home string
	// RuntimeDir contains containers/<uid>/auth.json, which podman writes if $XDG_RUNTIME_DIR is
	// not set. The default is /run.
	RuntimeDir string
	// Warn is called once for each file with secrets that other users can read. Nil ignores them.
	Warn func(file string, info fs.FileInfo)
	// Now returns the time; nil means time.Now.
	Now func() time.Time
}

// A Keychain finds credentials. It is safe for concurrent use.
type Keychain struct {
	files   []*authFile
	helpers *helpers
}

// New returns a Keychain. It reads nothing before the first call of Credential or CheckNamed.
func New(o Options) *Keychain {
	o = o.withDefaults()
	return &Keychain{files: o.files(), helpers: newHelpers(lookUpHelper, o.Now)}
}

// CheckNamed reads the files that the user named. It returns an error if one of them does not exist
// or is not an auth file.
func (k *Keychain) CheckNamed() error {
	var problems []error
	for _, f := range k.files {
		if f.namedBy != "" {
			_, err := f.load()
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

func (o Options) withDefaults() Options {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Home == "" {
		// Without a home folder the files below it do not exist.
		o.Home, _ = os.UserHomeDir()
	}
	o.RuntimeDir = cmp.Or(o.RuntimeDir, "/run")
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// files returns the files in the order in which they are read.
func (o Options) files() []*authFile {
	var list []*authFile
	seen := map[string]bool{}
	add := func(namedBy, dir string, elem ...string) {
		if dir == "" {
			return
		}
		path := filepath.Join(append([]string{dir}, elem...)...)
		if !seen[path] {
			seen[path] = true
			list = append(list, newAuthFile(path, namedBy, o.Warn))
		}
	}
	add(cmp.Or(o.NamedBy, "Options.AuthFile"), o.AuthFile)
	add("$REGISTRY_AUTH_FILE", o.Getenv("REGISTRY_AUTH_FILE"))
	if dir := o.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		add("", dir, "containers", "auth.json")
	} else if uid := os.Getuid(); uid >= 0 {
		add("", o.RuntimeDir, "containers", strconv.Itoa(uid), "auth.json")
	}
	if dir := o.Getenv("XDG_CONFIG_HOME"); dir != "" {
		add("", dir, "containers", "auth.json")
	}
	if o.Home != "" {
		add("", o.Home, ".config", "containers", "auth.json")
	}
	add("", o.Getenv("DOCKER_CONFIG"), "config.json")
	if o.Home != "" {
		add("", o.Home, ".docker", "config.json")
	}
	return list
}

// LoginFile returns the auth file that a login writes to: the file named by AuthFile, else by
// $REGISTRY_AUTH_FILE, else the first of podman's files. A file below /run is deleted at the next
// boot, so it is used only if it exists.
func (o Options) LoginFile() (string, error) {
	o = o.withDefaults()
	for _, f := range o.files() {
		switch {
		case f.namedBy != "":
			return f.path, nil
		case filepath.Base(f.path) != "auth.json":
			continue // docker's
		case o.Getenv("XDG_RUNTIME_DIR") == "" && strings.HasPrefix(f.path, filepath.Clean(o.RuntimeDir)+string(filepath.Separator)):
			if _, err := os.Stat(f.path); err != nil {
				continue
			}
		}
		return f.path, nil
	}
	return "", advice.New(advice.Failure, "name a file with Options.AuthFile", "there is no home folder to keep credentials in")
}

// Credential returns the credential for the repository path at host ("quay.io", "127.0.0.1:5000");
// path may be empty. The zero Credential means anonymous. It returns an error if a named file does
// not exist, if a file cannot be read or is malformed, and if a credential helper fails.
func (k *Keychain) Credential(ctx context.Context, host, path string) (Credential, error) {
	keys := prefixes(canonicalHost(host), strings.Trim(path, "/"))
	for _, f := range k.files {
		cred, found, err := f.find(ctx, keys, k.helpers)
		if err != nil {
			return Credential{}, err
		}
		if found {
			cred.Source = f.path
			return cred, nil
		}
	}
	return Credential{}, nil
}

// Files returns the names of the files that are read, in this order.
func (k *Keychain) Files() []string {
	names := make([]string, 0, len(k.files))
	for _, f := range k.files {
		names = append(names, f.path)
	}
	return names
}

// Narrower reports whether there are credentials for single repositories or folders below host/path,
// so that the one for host/path may not be used at all. Files that cannot be read have none.
func (k *Keychain) Narrower(host, path string) bool {
	folder := strings.TrimSuffix(canonicalHost(host)+"/"+strings.Trim(path, "/"), "/") + "/"
	for _, f := range k.files {
		a, err := f.load()
		if err != nil {
			continue
		}
		keys := slices.AppendSeq(slices.Collect(maps.Keys(a.Auths)), maps.Keys(a.CredHelpers))
		if slices.ContainsFunc(keys, func(key string) bool { return strings.HasPrefix(key, folder) }) {
			return true
		}
	}
	return false
}

// prefixes returns host/path and its parents, longest first, host last.
func prefixes(host, path string) []string {
	var keys []string
	for path != "" {
		keys = append(keys, host+"/"+path)
		i := strings.LastIndexByte(path, '/')
		path = path[:max(i, 0)]
	}
	return append(keys, host)
}

// canonicalHost returns one name for Docker Hub, which has several.
func canonicalHost(host string) string {
	host = strings.ToLower(host)
	switch host {
	case "index.docker.io", "registry-1.docker.io":
		return "docker.io"
	}
	return host
}
