package payload

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/layers"
)

// The files of a release image (oc, pkg/cli/admin/release/new.go).
const (
	manifestsDir   = "release-manifests"
	referencesFile = manifestsDir + "/image-references"
	metadataFile   = manifestsDir + "/release-metadata"
	bootFile       = manifestsDir + "/0000_50_installer_coreos-bootimages.yaml"
)

// Limits on the files. The largest manifests of 2026, definitions of custom
// resources, have 2 MB.
const (
	maxFile = 32 << 20
	maxHeld = 128 << 20 // in all, of those that are held
)

// A found is what a layer has of a release.
type found struct {
	references, metadata, boot []byte
	manifests                  []file

	brief   bool // nothing but the metadata is held
	left    *layers.Budget
	seen    map[string]bool
	changed bool // the layer changes the folder
	held    int
	text    bytes.Buffer // the file that is read
}

// A file is a manifest that may be one of those that are looked for.
type file struct {
	name string
	text []byte
}

// manifests reads layers from the top to the one with the references, whose
// position it returns.
func (r reader) manifests(ctx context.Context, img *image, brief bool) (*found, int, error) {
	left := layers.NewBudget(layers.MaxUnpacked)
	for at := len(img.layers) - 1; at >= 0; at-- {
		f := &found{brief: brief, left: left, seen: map[string]bool{}}
		if err := r.layer(ctx, img.layers[at], left, f.add); err != nil {
			return nil, 0, err
		}
		switch has := f.seen[referencesFile]; {
		case has && !f.seen[metadataFile]:
			return nil, 0, fmt.Errorf("%w: it has /%s, but no /%s", ErrNoRelease, referencesFile, metadataFile)
		case has:
			slices.SortFunc(f.manifests, func(a, b file) int { return cmp.Compare(a.name, b.name) })
			return f, at, nil
		case f.changed:
			return nil, 0, fmt.Errorf("layer %s changes /%s without having all of it: it was added to a release image, which is then none", img.layers[at].desc.Digest, manifestsDir)
		}
	}
	return nil, 0, fmt.Errorf("%w: it has the label %s, but no /%s", ErrNoRelease, versionLabel, referencesFile)
}

// layer gives every header of a layer to visit and holds the layer against its
// diff ID.
func (r reader) layer(ctx context.Context, l layer, left *layers.Budget, visit func(*tar.Header, io.Reader) error) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("layer %s: %w", l.desc.Digest, err)
		}
	}()
	if !layers.IsType(l.desc.MediaType) {
		return fmt.Errorf("the media type %.200q is not one that can be read", l.desc.MediaType)
	}
	blob, err := r.src.Blob(ctx, r.source, l.desc)
	if err != nil {
		return err
	}
	sum, err := layers.Read(blob, left, func(r io.Reader) error { return walk(r, visit) })
	if err == nil && sum != l.diffID {
		err = fmt.Errorf("it unpacks to %s, but the config says %s", sum, l.diffID)
	}
	return err
}

// walk gives every header of a tar archive to visit, its name a path below the
// root of the image.
func walk(r io.Reader, visit func(*tar.Header, io.Reader) error) error {
	t := tar.NewReader(r)
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Typeflag == tar.TypeXGlobalHeader {
			continue
		}
		h.Name = path.Clean("/" + h.Name)[1:]
		if err := visit(h, t); err != nil {
			return fmt.Errorf("reading %.200q: %w", h.Name, err)
		}
	}
}

// add takes in one header.
func (f *found) add(h *tar.Header, r io.Reader) error {
	dir, base := path.Split(h.Name)
	switch {
	case strings.HasPrefix(h.Name, manifestsDir+"/") && h.Typeflag != tar.TypeDir,
		h.Name == manifestsDir && h.Typeflag != tar.TypeDir,
		h.Name == ".wh."+manifestsDir, h.Name == ".wh..wh..opq":
		f.changed = true
	}
	isManifest := isManifest(base)
	if dir != manifestsDir+"/" || !isManifest && h.Name != referencesFile && h.Name != metadataFile || h.Typeflag == tar.TypeDir {
		return nil
	}
	if f.seen[h.Name] {
		return errors.New("the layer has the name twice")
	}
	f.seen[h.Name] = true
	if h.Typeflag != tar.TypeReg {
		return errors.New("it is no regular file")
	}
	if f.brief && h.Name != metadataFile {
		return nil
	}
	// A sparse file of a few bytes in the archive reads as any number of zeros.
	f.text.Reset()
	if err := fill(&f.text, f.left.Limit(r), maxFile); err != nil {
		return err
	}
	return f.hold(h.Name, f.text.Bytes())
}

// hold keeps a copy of a file that is wanted.
func (f *found) hold(name string, text []byte) error {
	switch {
	case name == referencesFile:
		f.references = bytes.Clone(text)
	case name == metadataFile:
		f.metadata = bytes.Clone(text)
	case name == bootFile:
		f.boot = bytes.Clone(text)
	case slices.ContainsFunc(wanted, func(w string) bool { return bytes.Contains(text, []byte(w)) }):
		f.manifests = append(f.manifests, file{name, bytes.Clone(text)})
	default:
		return nil
	}
	if f.held += len(text); f.held > maxHeld {
		return fmt.Errorf("with it, the files that are held have more than %d bytes", maxHeld)
	}
	return nil
}

// isManifest goes by the names that the cluster-version operator reads.
func isManifest(base string) bool {
	switch path.Ext(base) {
	case ".yaml", ".yml", ".json":
		return !strings.HasPrefix(base, ".wh.")
	}
	return false
}
