// Package registriesd reads a folder registries.d (containers-registries.d(5)), which says where the
// signatures of images are stored.
//
// Every file that ends in .yaml has a section for registries, namespaces or images, and a default. No
// section may occur twice. As in containers/image, a member that the most specific section does not have
// is taken from the next one.
package registriesd

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/signature/policy"
)

const (
	// maxFile is the largest file in bytes.
	maxFile = 1 << 20
	// maxFiles is how many files of a folder are read.
	maxFiles = 10000
)

// A Config says where signatures are. The zero value names no place.
type Config struct {
	sections map[string]section // by scope; "" is the default
	from     map[string]string  // the file of each section
}

// section is the configuration of one scope.
type section struct {
	Lookaside        string `yaml:"lookaside"`
	LookasideStaging string `yaml:"lookaside-staging"`
	Sigstore         string `yaml:"sigstore"`         // an older name of lookaside
	SigstoreStaging  string `yaml:"sigstore-staging"` // and of lookaside-staging
	Attachments      *bool  `yaml:"use-sigstore-attachments"`
}

// Open reads a folder. If it does not exist, the error matches fs.ErrNotExist.
func Open(dir string) (*Config, error) {
	folder, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = folder.Close() }() // only read
	entries, err := fs.ReadDir(regular.FS(folder), ".")
	if err != nil {
		return nil, err
	}
	if len(entries) > maxFiles {
		return nil, fmt.Errorf("%s has more than %d files", dir, maxFiles)
	}
	c := &Config{sections: map[string]section{}, from: map[string]string{}}
	for _, e := range entries { // sorted
		name := e.Name()
		if !strings.HasSuffix(name, ".yaml") {
			continue
		}
		text, err := regular.Read(folder, name, maxFile)
		switch {
		case errors.Is(err, fs.ErrNotExist): // removed in the meantime
			continue
		case err != nil:
			return nil, fmt.Errorf("%s: %w", path.Join(dir, name), err)
		}
		if err := c.add(path.Join(dir, name), text); err != nil {
			return nil, advice.Wrap(advice.Input, err, "")
		}
	}
	return c, nil
}

// add adds the sections of a file.
func (c *Config) add(name string, text []byte) error {
	var file struct {
		Default *section           `yaml:"default-docker"`
		Docker  map[string]section `yaml:"docker"`
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if file.Docker == nil {
		file.Docker = map[string]section{}
	}
	if _, ok := file.Docker[""]; ok {
		return fmt.Errorf("%s: a section of docker has no name; the default is default-docker", name)
	}
	if file.Default != nil {
		file.Docker[""] = *file.Default
	}
	for scope, s := range file.Docker {
		if other, ok := c.from[scope]; ok {
			return fmt.Errorf("%s: %s is also in %s; keep one of them", name, title(scope), other)
		}
		if at := s.lookaside(); at != "" {
			u, err := url.Parse(at)
			if err != nil || u.Scheme != "https" && u.Scheme != "http" && u.Scheme != "file" {
				return fmt.Errorf("%s: %s: lookaside is not an address with https, http or file", name, title(scope))
			}
		}
		c.sections[scope], c.from[scope] = s, name
	}
	return nil
}

// title is what a section is called.
func title(scope string) string {
	return cmp.Or(scope, "default-docker")
}

func (s section) lookaside() string {
	return cmp.Or(s.Lookaside, s.Sigstore)
}

// each calls yield with the sections for an image, the most specific one first, until it returns false.
func (c *Config) each(ref reference.Reference, yield func(section) bool) {
	if c == nil {
		return
	}
	for _, scope := range append(policy.Scopes(ref), "") {
		if s, ok := c.sections[scope]; ok && !yield(s) {
			return
		}
	}
}

// Attachments returns use-sigstore-attachments for an image, and whether it is set.
func (c *Config) Attachments(ref reference.Reference) (use, set bool) {
	c.each(ref, func(s section) bool {
		if s.Attachments != nil {
			use, set = *s.Attachments, true
		}
		return !set
	})
	return use, set
}

// Lookaside returns the address of the signatures of a manifest of an image, without the number at the
// end: BASE/PATH@sha256=HEX/signature-. It returns "" if no place is configured.
func (c *Config) Lookaside(ref reference.Reference, d digest.Digest) string {
	base := ""
	c.each(ref, func(s section) bool {
		base = s.lookaside()
		return base == ""
	})
	if base == "" {
		return ""
	}
	return Address(base, ref, d)
}

// Address returns the address of the signatures of a manifest below a base, as Lookaside does.
func Address(base string, ref reference.Reference, d digest.Digest) string {
	return strings.TrimRight(base, "/") + "/" + ref.Path + "@" + d.Algorithm().String() + "=" + d.Encoded() + "/signature-"
}
