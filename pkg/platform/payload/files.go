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

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/image/layers"
)

// The files of a release image (oc, pkg/cli/admin/release/new.go).
const (
	manifestsDir   = "release-manifests"
	referencesFile = manifestsDir + "/image-references"
	metadataFile   = manifestsDir + "/release-metadata"
	bootFile       = manifestsDir + "/0000_50_installer_coreos-bootimages.yaml"
)

// Limits on the files. The largest manifests of 2026, custom resource definitions, have 2 MB.
const (
	maxFile = 32 << 20
	maxKept = 128 << 20 // of all files kept in memory
)

// A releaseFiles holds the release files of one layer.
type releaseFiles struct {
	references, metadata, boot []byte
	manifests                  []file

	extent  extent
	left    *layers.Budget
	seen    map[string]bool
	changed bool // the layer changes the directory
	kept    int
	text    bytes.Buffer // the current file
}

// An extent is how much of a release is kept.
type extent int

const (
	onlyMetadata extent = iota
	needed              // what Payload has
	complete            // all manifests, too
)

// A file is a manifest that may be needed.
type file struct {
	name string
	text []byte
}

// manifests reads layers from the top down to the one with the references, and returns its index.
func (r reader) manifests(ctx context.Context, img *releaseImage, keep extent) (*releaseFiles, int, error) {
	left := layers.NewBudget(layers.MaxUnpacked)
	for at, v := range slices.Backward(img.layers) {
		f := &releaseFiles{extent: keep, left: left, seen: map[string]bool{}}
		if err := r.layer(ctx, v, left, f.add); err != nil {
			return nil, 0, err
		}
		switch has := f.seen[referencesFile]; {
		case has && !f.seen[metadataFile]:
			return nil, 0, fmt.Errorf("%w: /%s exists, but /%s does not", ErrNoRelease, referencesFile, metadataFile)
		case has:
			elements.Sort(f.manifests, func(a, b file) int { return cmp.Compare(a.name, b.name) })
			return f, at, nil
		case f.changed:
			return nil, 0, fmt.Errorf("layer %s changes part of /%s; layers on top of a release image are not supported", v.desc.Digest, manifestsDir)
		}
	}
	return nil, 0, fmt.Errorf("%w: label %s exists, but /%s does not", ErrNoRelease, versionLabel, referencesFile)
}

// layer calls visit for every header of a layer, and compares the layer with its diff ID.
func (r reader) layer(ctx context.Context, l layer, left *layers.Budget, visit func(*tar.Header, io.Reader) error) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("layer %s: %w", l.desc.Digest, err)
		}
	}()
	if !layers.IsType(l.desc.MediaType) {
		return fmt.Errorf("media type %.200q is not supported", l.desc.MediaType)
	}
	blob, err := r.src.Blob(ctx, r.source, l.desc, 0)
	if err != nil {
		return err
	}
	sum, err := layers.Read(blob, left, func(r io.Reader) error { return walk(r, visit) })
	if err == nil && sum != l.diffID {
		err = fmt.Errorf("its unpacked digest is %s, the config says %s", sum, l.diffID)
	}
	return err
}

// walk calls visit for every header of a tar archive. The header's name is a path relative to the
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

// add processes one header.
func (f *releaseFiles) add(h *tar.Header, r io.Reader) error {
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
		return errors.New("the name occurs twice in the layer")
	}
	f.seen[h.Name] = true
	if h.Typeflag != tar.TypeReg {
		return errors.New("not a regular file")
	}
	if f.extent == onlyMetadata && h.Name != metadataFile {
		return nil
	}
	// A sparse file takes a few bytes in the archive and reads as any number of zeros.
	f.text.Reset()
	if err := fill(&f.text, f.left.Limit(r), maxFile); err != nil {
		return err
	}
	return f.keep(h.Name, f.text.Bytes())
}

// keep stores a copy of a file that is needed.
func (f *releaseFiles) keep(name string, text []byte) error {
	switch {
	case name == referencesFile:
		f.references = bytes.Clone(text)
	case name == metadataFile:
		f.metadata = bytes.Clone(text)
	case f.extent == complete:
		f.manifests = append(f.manifests, file{name, bytes.Clone(text)})
		if name == bootFile {
			f.boot = f.manifests[len(f.manifests)-1].text
		}
	case name == bootFile:
		f.boot = bytes.Clone(text)
	case slices.ContainsFunc(wanted, func(w string) bool { return bytes.Contains(text, []byte(w)) }):
		f.manifests = append(f.manifests, file{name, bytes.Clone(text)})
	default:
		return nil
	}
	if f.kept += len(text); f.kept > maxKept {
		return fmt.Errorf("the release files have more than %d bytes in total", maxKept)
	}
	return nil
}

// isManifest reports whether the cluster version operator reads a file of that name as a manifest.
func isManifest(base string) bool {
	switch path.Ext(base) {
	case ".yaml", ".yml", ".json":
		return !strings.HasPrefix(base, ".wh.")
	}
	return false
}
