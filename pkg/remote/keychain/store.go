package keychain

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/file/durable"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
)

// ErrKeptByHelper means that an auth file uses a credential helper for a registry: an entry in the
// file would be ignored.
var ErrKeptByHelper = errors.New("the credentials of this registry are kept by a helper")

// Store writes user name and password for key, "HOST" or "HOST/PATH", into the auth file at path,
// which may not exist yet. Other content of the file is kept. The file is replaced atomically and
// readable by its owner only (0600). If path is a symbolic link, its target is replaced.
func Store(path, key string, c Credential) error {
	switch {
	case c.Username == "" || c.Password == "":
		return fmt.Errorf("storing credentials for %s: user name or password is empty", key)
	case strings.Contains(c.Username, ":"):
		// The name ends at the first colon (RFC 7617).
		return fmt.Errorf("storing credentials for %s: a user name cannot contain a colon", key)
	}
	auth := base64.StdEncoding.EncodeToString([]byte(c.Username + ":" + c.Password))
	entry, err := json.Marshal(map[string]string{"auth": auth})
	if err != nil {
		return fmt.Errorf("storing credentials for %s: %w", key, err)
	}
	return edit(path, key, func(auths map[string]json.RawMessage) bool {
		found := spellings(auths, key)
		if len(found) == 0 {
			found = []string{normalizeKey(key)}
		}
		for _, k := range found {
			auths[k] = entry
		}
		return true
	})
}

// Remove removes the entries for key, in all spellings, from the auth file at path. found is false
// if it has none; the file is then unchanged.
func Remove(path, key string) (found bool, err error) {
	err = edit(path, key, func(auths map[string]json.RawMessage) bool {
		for _, k := range spellings(auths, key) {
			delete(auths, k)
			found = true
		}
		return found
	})
	return found, err
}

// spellings returns the keys of a file that mean key: "https://quay.io" is "quay.io".
func spellings(auths map[string]json.RawMessage, key string) []string {
	want := normalizeKey(key)
	return slices.DeleteFunc(slices.Sorted(maps.Keys(auths)), func(k string) bool { return normalizeKey(k) != want })
}

// edit calls change with the entries of a file and writes the file if it returns true.
func edit(path, key string, change func(map[string]json.RawMessage) bool) error {
	wrap := func(err error) error { return fmt.Errorf("editing credentials in %s: %w", path, err) }
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	data, _, err := regular.ReadStart(path, maxAuthFile+1)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return wrap(pathless(err))
	}
	// A file that cannot be parsed is not overwritten.
	known, err := parse(data)
	if err != nil {
		return wrap(err)
	}
	if helper := known.CredHelpers[normalizeKey(key)]; helper != "" || known.CredsStore != "" {
		helper = cmp.Or(helper, known.CredsStore)
		return wrap(fmt.Errorf("%w, docker-credential-%s", ErrKeptByHelper, helper))
	}
	file, auths := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	if err := unmarshalObject(bytes.TrimSpace(data), &file); err != nil {
		return wrap(err)
	}
	if err := unmarshalObject(file["auths"], &auths); err != nil {
		return wrap(err)
	}
	if !change(auths) {
		return nil
	}
	if file["auths"], err = encode(auths, ""); err != nil {
		return wrap(err)
	}
	text, err := encode(file, "\t")
	if err != nil {
		return wrap(err)
	}
	if err := durable.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return wrap(pathless(err))
	}
	if err := durable.WritePrivate(path, text); err != nil {
		return wrap(pathless(err))
	}
	return nil
}

// unmarshalObject fills an empty map from JSON that parse has accepted. Empty text and null leave
// it empty.
func unmarshalObject(raw json.RawMessage, into *map[string]json.RawMessage) error {
	if len(raw) == 0 {
		return nil
	}
	if json.Unmarshal(raw, into) != nil {
		return errors.New("the file is not a JSON object with \"auths\"")
	}
	if *into == nil {
		*into = map[string]json.RawMessage{}
	}
	return nil
}

func encode(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	err := enc.Encode(v)
	return b.Bytes(), err
}

// pathless returns err without the path, which the message already contains.
func pathless(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}
