package registrytest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// A Repository is the content of one repository in the storage of a registry of Start.
type Repository struct {
	Name      string
	Tags      map[string]digest.Digest
	Manifests []digest.Digest // sorted
	Blobs     []digest.Digest // sorted; configs and layers
	Uploads   int             // opened, but neither finished nor canceled
}

// Repositories lists the repositories below a prefix ("." is all), sorted by name, from the files
// of the registry's storage. Content without tags is included.
func (s *Server) Repositories(prefix string) ([]Repository, error) {
	s.needsFiles()
	if s.process == nil {
		return nil, errors.New("listing what a registry in memory stores: use Start")
	}
	storage := os.DirFS(path.Join(s.process.storage(), "repositories", s.namespace))
	byName := map[string]*Repository{}
	err := fs.WalkDir(storage, prefix, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		repository, inside, found := strings.Cut(name, "/_")
		if !found {
			return nil
		}
		r := byName[repository]
		if r == nil {
			r = &Repository{Name: repository, Tags: map[string]digest.Digest{}}
			byName[repository] = r
		}
		return r.add(storage, name, strings.Split(inside, "/"), e)
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // nothing was stored yet
	}
	if err != nil {
		return nil, fmt.Errorf("listing what the registry stores: %w", err)
	}
	var all []Repository
	for _, r := range byName {
		slices.Sort(r.Manifests)
		slices.Sort(r.Blobs)
		all = append(all, *r)
	}
	elements.Sort(all, func(a, b Repository) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// add adds one file of the repository's folder; inside are the parts of its path, without the
// underscore of the first.
func (r *Repository) add(storage fs.FS, name string, inside []string, e fs.DirEntry) error {
	link := func() (digest.Digest, error) {
		text, err := fs.ReadFile(storage, name)
		return digest.Digest(text), err
	}
	switch {
	case inside[0] == "uploads" && e.Name() == "startedat":
		// A canceled upload leaves its folder, without this file.
		r.Uploads++
	case e.Name() != "link":
	case inside[0] == "layers":
		d, err := link()
		r.Blobs = append(r.Blobs, d)
		return err
	case inside[0] == "manifests" && inside[1] == "revisions":
		d, err := link()
		r.Manifests = append(r.Manifests, d)
		return err
	case inside[0] == "manifests" && inside[1] == "tags" && inside[3] == "current":
		d, err := link()
		r.Tags[inside[2]] = d
		return err
	}
	return nil
}

// CheckRepository reads all content of a repository, tagged or not, and compares it with its
// digest. It also pulls each tag with everything it needs. The error joins what is missing or
// wrong.
func (c *Client) CheckRepository(ctx context.Context, r Repository) error {
	problems := elements.Map(r.Blobs, func(d digest.Digest) error { return c.checkBlob(ctx, r.Name, d) })
	for _, d := range r.Manifests {
		if _, _, err := c.manifest(ctx, r.Name, d.String()); err != nil {
			problems = append(problems, fmt.Errorf("checking %s/%s@%s: %w", c.host, r.Name, d, err))
		}
	}
	for tag, d := range r.Tags {
		got, err := c.Pull(ctx, r.Name, tag)
		if err == nil && got.Digest != d {
			err = fmt.Errorf("%s/%s:%s is %s and stored as %s", c.host, r.Name, tag, got.Digest, d)
		}
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

// checkBlob compares a blob of unknown size with its digest.
func (c *Client) checkBlob(ctx context.Context, repository string, d digest.Digest) error {
	return c.blob(ctx, repository, ocispec.Descriptor{Digest: d, Size: -1}, io.Discard)
}
