// Package fileartifact describes files as OCI artifacts, so that registries, archives and layouts carry
// them like images.
//
// The artifact of a file is a manifest with the artifact type Type, the empty config of the OCI image
// specification, and one layer: the bytes of the file as they are, under their own SHA-256. So the digest that
// a user gives for a file is the digest of a blob. Whatever copies and verifies blobs verifies the file, and
// the manifest is known without its bytes. The layer has the name of the file as its title, as other tools
// for artifacts write it, and AnnotationExecutable if the file is a program.
//
// All files are in one repository, Repository, so that the list of its tags is the list of files: not every
// registry lists repositories. Each file has two tags (Tags): its name, which the newest mirrored content
// gets, and its name with the beginning of its digest, which keeps older content and the content of other
// image sets.
package fileartifact

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/opencontainers/go-digest"
	specs "github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

const (
	// Type is the artifact type of files.
	Type = "application/vnd.gantry.file.v1"
	// LayerType is the media type of their bytes.
	LayerType = "application/octet-stream"
	// AnnotationExecutable is "true" on the layer of a program.
	AnnotationExecutable = "vnd.gantry.file.executable"
	// MaxSize is the maximum size of a file in bytes.
	MaxSize = 1 << 40
)

// A File is a file without its bytes.
type File struct {
	Name       string // CheckName accepts it
	Digest     digest.Digest
	Size       int64
	Executable bool
}

// Store stores the parts of an artifact.
type Store interface {
	Write(ctx context.Context, mediaType string, write func(io.Writer) error) (ocispec.Descriptor, error)
}

// Layer returns the descriptor of the bytes of a file.
func (f File) Layer() ocispec.Descriptor {
	d := ocispec.Descriptor{
		MediaType: LayerType, Digest: f.Digest, Size: f.Size, Annotations: map[string]string{ocispec.AnnotationTitle: f.Name},
	}
	if f.Executable {
		d.Annotations[AnnotationExecutable] = "true"
	}
	return d
}

// Build stores the artifact of a file without its bytes, and returns its manifest. The same file has the
// same manifest.
func Build(ctx context.Context, store Store, f File) (ocispec.Descriptor, error) {
	put := func(mediaType string, content []byte) (ocispec.Descriptor, error) {
		d, err := store.Write(ctx, mediaType, func(w io.Writer) error {
			_, err := io.Copy(w, bytes.NewReader(content))
			return err
		})
		if err != nil {
			return d, fmt.Errorf("storing the manifest of file %s: %w", f.Name, err)
		}
		return ocispec.Descriptor{MediaType: mediaType, Digest: d.Digest, Size: d.Size}, nil
	}
	if err := errors.Join(CheckName(f.Name), checkSize(f.Size), checkDigest(f.Digest)); err != nil {
		return ocispec.Descriptor{}, fmt.Errorf("file %.300q: %w", f.Name, err)
	}
	empty := ocispec.DescriptorEmptyJSON
	if _, err := put(empty.MediaType, empty.Data); err != nil {
		return ocispec.Descriptor{}, err
	}
	raw, err := json.Marshal(ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, ArtifactType: Type,
		Config: ocispec.Descriptor{MediaType: empty.MediaType, Digest: empty.Digest, Size: empty.Size},
		Layers: []ocispec.Descriptor{f.Layer()},
	})
	if err != nil {
		return ocispec.Descriptor{}, fmt.Errorf("making the manifest of file %s: %w", f.Name, err)
	}
	return put(ocispec.MediaTypeImageManifest, raw)
}

// FromManifest returns the file that the manifest of an artifact describes. Nothing of the manifest is
// trusted.
func FromManifest(raw []byte) (File, error) {
	var m ocispec.Manifest
	if err := json.Unmarshal(raw, &m); err != nil {
		return File{}, fmt.Errorf("reading the manifest: %w", err)
	}
	if m.ArtifactType != Type {
		return File{}, fmt.Errorf("it is not a file: its artifact type is %.100q", m.ArtifactType)
	}
	if len(m.Layers) != 1 {
		return File{}, fmt.Errorf("it has %d layers, and a file has one", len(m.Layers))
	}
	l := m.Layers[0]
	f := File{Name: l.Annotations[ocispec.AnnotationTitle], Digest: l.Digest, Size: l.Size, Executable: l.Annotations[AnnotationExecutable] == "true"}
	return f, errors.Join(CheckName(f.Name), checkSize(f.Size), checkDigest(f.Digest))
}

func checkSize(n int64) error {
	if n < 0 || n > MaxSize {
		return fmt.Errorf("its size is %d bytes, and the limit is %d", n, int64(MaxSize))
	}
	return nil
}

func checkDigest(d digest.Digest) error {
	if d.Validate() != nil || d.Algorithm() != digest.SHA256 {
		return fmt.Errorf("%.100q is not a sha256 digest", string(d))
	}
	return nil
}
