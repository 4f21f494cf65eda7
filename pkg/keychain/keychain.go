// Package keychain finds the credentials for a registry.
//
// A Keychain is made once and serves every request of a run: catalogs, images,
// signatures, charts. Host and repository path go in, a Credential comes out;
// the zero Credential means that nothing is known and the request is anonymous.
//
// The files are those that podman, skopeo, oc and docker write. They are asked
// in this order, and the first that knows the registry decides:
//
//	Options.AuthFile (--authfile), $REGISTRY_AUTH_FILE,
//	$XDG_RUNTIME_DIR/containers/auth.json, ~/.config/containers/auth.json,
//	$DOCKER_CONFIG/config.json, ~/.docker/config.json
//
// Inside a file the longest path prefix wins: "quay.io/a/b" before "quay.io/a"
// before "quay.io". At each prefix credHelpers come before auths; credsStore
// comes last. Each file is read once, when it is first needed; what a helper
// answers is kept for five minutes, for its tokens may be short-lived.
//
// A file that the user named must exist; a file that exists must be readable
// and well-formed. Errors name the file and the key in it and never show any
// content, and a Credential redacts itself however it is printed.
package keychain

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Options say where a Keychain looks. The zero value looks where podman and
// docker do for the user who runs the program.
type Options struct {
	// AuthFile is a file that the user named. It comes first and must exist.
	AuthFile string
	// AuthFlag is what the user named AuthFile with, for errors; "" means
	// --authfile.
	AuthFlag string
	// Getenv reads the environment; nil means os.Getenv.
	Getenv func(string) string
	// Home is the user's home folder; "" means os.UserHomeDir.
	Home string
	// RuntimeDir holds containers/<uid>/auth.json, which podman writes where
	// $XDG_RUNTIME_DIR is not set; "" means /run.
	RuntimeDir string
	// Now tells the time; nil means time.Now.
	Now func() time.Time
}

// A Keychain finds credentials. It is safe for concurrent use.
type Keychain struct {
	files   []*authFile
	helpers *helpers
}

// New makes a Keychain. Nothing is read before the first call of Credential or CheckNamed.
func New(o Options) *Keychain {
	o = o.withDefaults()
	return &Keychain{files: o.files(), helpers: newHelpers(lookUpHelper, o.Now)}
}

// CheckNamed reads the files that the user named, and fails where one is not there
// or is no auth file.
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
	if o.RuntimeDir == "" {
		o.RuntimeDir = "/run"
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// files lists the files in the order in which they are asked.
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
			list = append(list, newAuthFile(path, namedBy))
		}
	}
	add(cmp.Or(o.AuthFlag, "--authfile"), o.AuthFile)
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

// LoginFile is the auth file that a login writes to: the one that was named with
// AuthFile, else with $REGISTRY_AUTH_FILE, else the first of podman's places
// that the user has. A file under /run goes with the next boot, so that it is
// only taken where it exists.
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
	return "", errors.New("there is no home folder to keep credentials in: name a file with --authfile")
}

// Credential returns what is known for the repository path at host
// ("quay.io", "127.0.0.1:5000"); path may be empty. The zero Credential means
// anonymous. It fails when a file that has to be asked is missing although it
// was named, cannot be read or is malformed, and when a credential helper
// fails.
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

// prefixes lists host/path and what lies above it, longest first, host last.
func prefixes(host, path string) []string {
	var keys []string
	for path != "" {
		keys = append(keys, host+"/"+path)
		i := strings.LastIndexByte(path, '/')
		path = path[:max(i, 0)]
	}
	return append(keys, host)
}

// canonicalHost gives Docker Hub, which has several names, one.
func canonicalHost(host string) string {
	host = strings.ToLower(host)
	switch host {
	case "index.docker.io", "registry-1.docker.io":
		return "docker.io"
	}
	return host
}
