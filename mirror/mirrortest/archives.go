package mirrortest

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
)

// The configurations of two months: the second has more content.
const (
	FirstMonth = `  operators:
  - catalog: registry.example.com/acme/operator-index:v4.20
    packages: [{name: lantern}]
  additionalImages: [{name: 'images.example.net/tools/netcheck:1.4'}]
`
	SecondMonth = `  operators:
  - catalog: registry.example.com/acme/operator-index:v4.20
    packages: [{name: lantern}, {name: tidewater, minVersion: 2.1.0}]
  additionalImages: [{name: 'images.example.net/tools/netcheck:1.4'}, {name: 'images.example.net/tools/must-gather:4.20'}]
`
	// StoreOnly is a configuration of one image.
	StoreOnly = "  additionalImages: [{name: 'images.example.net/lantern/store:1.2'}]\n"
)

// Disk writes an archive of the sample's configuration, with volumes of half a megabyte, to the folder, and opens it.
func (s *Site) Disk(name string, change ...func(*mirroring.Options)) (where string, have *archive.Archive, p *plan.Plan) {
	s.T.Helper()
	small := func(o *mirroring.Options) { o.VolumeSize = 500_000 }
	where = s.Exported(s.Path("imageset.yaml"), name, append([]func(*mirroring.Options){small}, change...)...)
	have, p = s.OpenArchive(where)
	return where, have, p
}

// OpenArchive opens an archive, file://DIR, and reads its plan.
func (s *Site) OpenArchive(where string) (*archive.Archive, *plan.Plan) {
	s.T.Helper()
	have, err := archive.Open(strings.TrimPrefix(where, env.ArchiveScheme))
	fail.On(s.T, err)
	s.T.Cleanup(func() { _ = have.Close() }) // only read from
	p, err := airgap.ReadPlan(s.T.Context(), have)
	fail.On(s.T, err)
	return have, p
}

// Follow writes to a folder an archive that builds on another or repairs it, and returns it as file://DIR.
func (s *Site) Follow(name string, have *archive.Archive, opts archive.Options, content []ocispec.Descriptor) string {
	s.T.Helper()
	copyPlan := func(to io.Writer) error {
		text, err := have.OpenPlan(s.T.Context())
		if err != nil {
			return err
		}
		_, err = io.Copy(to, text)
		return errors.Join(err, text.Close())
	}
	c := archive.Content{Name: have.Selected().Series, Entries: slices.Values(content), Plan: copyPlan}
	writer, err := archive.Create(s.T.Context(), s.Path(name), c, opts)
	fail.On(s.T, err)
	for _, desc := range content {
		open := func(ctx context.Context, offset int64) (io.ReadCloser, error) {
			return have.Blob(ctx, "", desc, offset)
		}
		fail.On(s.T, writer.PutBlob(s.T.Context(), "", desc, open))
	}
	fail.On(s.T, errors.Join(writer.Finish(s.T.Context()), writer.Close()))
	return s.Archive(name)
}

// Largest returns the largest blob or manifest that is in the volume in one part.
func Largest(have *archive.Archive, volume string) (found archive.EntryInfo) {
	for e := range have.Entries() {
		if e.Volume == volume && e.IsContent && e.Parts == 0 && e.Size > found.Size {
			found = e
		}
	}
	return found
}

// Spoil changes a byte of an entry in a volume of the folder.
func (s *Site) Spoil(folder string, e archive.EntryInfo) {
	s.T.Helper()
	f, err := os.OpenFile(filepath.Join(s.Path(folder), e.Volume), os.O_RDWR, 0)
	fail.On(s.T, err)
	var b [1]byte
	at := e.Offset + e.Size/2
	_, err = f.ReadAt(b[:], at)
	b[0] ^= 1
	_, writeErr := f.WriteAt(b[:], at)
	fail.On(s.T, errors.Join(err, writeErr, f.Close()))
}

// Remove removes files of the folder.
func (s *Site) Remove(names ...string) {
	s.T.Helper()
	for _, name := range names {
		fail.On(s.T, os.RemoveAll(s.Path(name)))
	}
}

// Read returns the text of a file of the folder.
func (s *Site) Read(name string) string {
	s.T.Helper()
	text, err := os.ReadFile(s.Path(name))
	fail.On(s.T, err)
	return string(text)
}

// Exists reports whether a file of the folder exists.
func (s *Site) Exists(name string) bool {
	_, err := os.Lstat(s.Path(name))
	return err == nil
}

// Folder creates a folder, and those above it, in the folder of the site.
func (s *Site) Folder(name string) string {
	s.T.Helper()
	fail.On(s.T, os.MkdirAll(s.Path(name), 0o755))
	return s.Path(name)
}
