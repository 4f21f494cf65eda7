package keychain

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/gantry-mirror/gantry/pkg/file/regular"
)

// maxAuthFile is the size limit of one file in bytes.
const maxAuthFile = 1 << 20

// An authFile is one auth.json or config.json. It is read on first use.
type authFile struct {
	path    string
	namedBy string // the flag or variable that named it; "" for a default path
	load    func() (*auths, error)
	warn    func(file string, info fs.FileInfo) // about one that others can read
}

// auths is the part of such a file that concerns registries (containers-auth.json(5), docker's
// config.json).
type auths struct {
	Auths       map[string]entry  `json:"auths"`
	CredHelpers map[string]string `json:"credHelpers"`
	CredsStore  string            `json:"credsStore"`
}

type entry struct {
	Auth          string `json:"auth"`
	Username      string `json:"username"`
	Password      string `json:"password"`
	IdentityToken string `json:"identitytoken"`
	RegistryToken string `json:"registrytoken"`
}

func newAuthFile(path, namedBy string, warn func(string, fs.FileInfo)) *authFile {
	f := &authFile{path: path, namedBy: namedBy, warn: warn}
	f.load = sync.OnceValues(f.read)
	return f
}

func (f *authFile) read() (*auths, error) {
	data, info, err := regular.ReadStart(f.path, maxAuthFile+1)
	if f.namedBy == "" && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)) {
		return &auths{}, nil
	}
	if err != nil {
		return nil, f.wrap(err)
	}
	a, err := parse(data)
	if err != nil {
		return nil, f.wrap(err)
	}
	if f.warn != nil && regular.IsExposed(info) && a.hasSecret() {
		f.warn(f.path, info)
	}
	return a, nil
}

// hasSecret reports whether there is a password or a token in the file.
func (a *auths) hasSecret() bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(a.Auths)), func(e entry) bool { return e.Auth+e.Password+e.IdentityToken+e.RegistryToken != "" })
}

func (f *authFile) wrap(err error) error {
	err = pathless(err)
	if f.namedBy != "" {
		return fmt.Errorf("reading credentials from %s (named by %s): %w", f.path, f.namedBy, err)
	}
	return fmt.Errorf("reading credentials from %s: %w", f.path, err)
}

// parse reads the JSON of an auth file. Its errors name the line, but nothing from its content.
func parse(data []byte) (*auths, error) {
	if len(data) > maxAuthFile {
		return nil, fmt.Errorf("the file is larger than %d bytes", maxAuthFile)
	}
	a := &auths{}
	if len(bytes.TrimSpace(data)) == 0 {
		data = []byte("{}") // "docker logout" can leave an empty file
	}
	err := json.Unmarshal(data, a)
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return nil, fmt.Errorf("line %d is not valid JSON", line(data, syntax.Offset))
	case errors.As(err, &kind):
		return nil, fmt.Errorf("line %d has a value of the wrong type: want \"auths\" and \"credHelpers\" as objects, \"credsStore\" as a string", line(data, kind.Offset))
	case err != nil:
		return nil, errors.New("the file is not a JSON object with \"auths\"")
	}
	a.normalize()
	return a, nil
}

func line(data []byte, offset int64) int {
	return 1 + bytes.Count(data[:min(max(offset, 0), int64(len(data)))], []byte("\n"))
}

// normalize changes the keys to host[/path]. If several keys are equal then, the one that already
// had this form takes precedence, then the first in order.
func (a *auths) normalize() {
	a.Auths = normalizeKeys(a.Auths)
	a.CredHelpers = normalizeKeys(a.CredHelpers)
}

func normalizeKeys[V any](in map[string]V) map[string]V {
	out := make(map[string]V, len(in))
	from := make(map[string]string, len(in))
	for key, v := range in {
		n := normalizeKey(key)
		old, found := from[n]
		if !found || key == n || old != n && key < old {
			out[n], from[n] = v, key
		}
	}
	return out
}

// normalizeKey removes the scheme of a key, and the API version that docker writes into it
// ("https://index.docker.io/v1/").
func normalizeKey(key string) string {
	rest, ok := strings.CutPrefix(key, "https://")
	if !ok {
		rest, ok = strings.CutPrefix(key, "http://")
	}
	host, path, _ := strings.Cut(strings.Trim(rest, "/"), "/")
	if ok && (path == "v1" || path == "v2") {
		path = ""
	}
	host = canonicalHost(host)
	if path == "" {
		return host
	}
	return host + "/" + path
}

// find looks for the keys, longest first. found is false if the file has no credential for them.
func (f *authFile) find(ctx context.Context, keys []string, h *helpers) (Credential, bool, error) {
	a, err := f.load()
	if err != nil {
		return Credential{}, false, err
	}
	known := false
	for _, key := range keys {
		if helper := a.CredHelpers[key]; helper != "" {
			cred, found, err := h.get(ctx, helper, key)
			if err != nil {
				return Credential{}, false, fmt.Errorf("%s, credHelpers: %w", f.path, err)
			}
			if found {
				return cred, true, nil
			}
		}
		e, ok := a.Auths[key]
		known = known || ok
		cred, err := e.credential()
		if err != nil {
			return Credential{}, false, f.wrap(fmt.Errorf("the entry of %q in \"auths\": %w", key, err))
		}
		if !cred.Anonymous() {
			return cred, true, nil
		}
	}
	if a.CredsStore == "" {
		return Credential{}, false, nil
	}
	cred, found, err := h.get(ctx, a.CredsStore, keys[len(keys)-1])
	// docker leaves an empty entry in "auths" for each credential in the store. Without such an
	// entry, a store that is not installed is ignored.
	if errors.Is(err, errNoHelper) && !known {
		return Credential{}, false, nil
	}
	if err != nil {
		return Credential{}, false, fmt.Errorf("%s, credsStore: %w", f.path, err)
	}
	return cred, found, nil
}

func (e entry) credential() (Credential, error) {
	c := Credential{Username: e.Username, Password: e.Password, IdentityToken: e.IdentityToken, RegistryToken: e.RegistryToken}
	if e.Auth == "" {
		return c, nil
	}
	raw, err := base64.StdEncoding.DecodeString(e.Auth)
	if err != nil {
		raw, err = base64.RawStdEncoding.DecodeString(e.Auth)
	}
	if err != nil {
		return Credential{}, errors.New("\"auth\" is not base64")
	}
	user, password, ok := strings.Cut(string(raw), ":")
	if !ok || user == "" {
		return Credential{}, errors.New("\"auth\" is not the base64 of USER:PASSWORD")
	}
	// docker pads old passwords with NUL.
	c.Username, c.Password = user, strings.TrimRight(password, "\x00")
	return c, nil
}
