package chart

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"

	specs "github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// The media types of charts in registries (https://helm.sh/docs/topics/registries).
const (
	ConfigType     = "application/vnd.cncf.helm.config.v1+json"
	ArchiveType    = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
	ProvenanceType = "application/vnd.cncf.helm.chart.provenance.v1.prov"
)

// Store stores the parts of an artifact.
type Store interface {
	Write(ctx context.Context, mediaType string, write func(io.Writer) error) (ocispec.Descriptor, error)
}

// Build stores a chart as an artifact, and returns its manifest.
func Build(ctx context.Context, store Store, c *Chart) (ocispec.Descriptor, error) {
	m := ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest,
		Annotations: map[string]string{ocispec.AnnotationTitle: c.Name, ocispec.AnnotationVersion: c.Version},
	}
	put := func(mediaType string, content []byte) (ocispec.Descriptor, error) {
		d, err := store.Write(ctx, mediaType, func(w io.Writer) error {
			_, err := io.Copy(w, bytes.NewReader(content))
			return err
		})
		if err != nil {
			return d, fmt.Errorf("storing chart %s %s: %w", c.Name, c.Version, err)
		}
		return ocispec.Descriptor{MediaType: mediaType, Digest: d.Digest, Size: d.Size}, nil
	}
	var err error
	if m.Config, err = put(ConfigType, c.metadata); err != nil {
		return m.Config, err
	}
	layer, err := put(ArchiveType, c.Archive)
	if err != nil {
		return layer, err
	}
	m.Layers = append(m.Layers, layer)
	if c.Provenance != nil {
		if layer, err = put(ProvenanceType, c.Provenance); err != nil {
			return layer, err
		}
		m.Layers = append(m.Layers, layer)
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return ocispec.Descriptor{}, fmt.Errorf("making the manifest of chart %s: %w", c.Name, err)
	}
	return put(ocispec.MediaTypeImageManifest, raw)
}

// FromManifest returns the archive and the provenance file that the manifest of an artifact names;
// provenance is nil if there is none.
func FromManifest(raw []byte) (archive ocispec.Descriptor, provenance *ocispec.Descriptor, err error) {
	var m ocispec.Manifest
	if err := json.Unmarshal(raw, &m); err != nil {
		return archive, nil, fmt.Errorf("reading the manifest: %w", err)
	}
	if m.Config.MediaType != ConfigType {
		return archive, nil, fmt.Errorf("it is not a chart: its config has the type %.100q", m.Config.MediaType)
	}
	found := false
	for i, l := range m.Layers {
		switch l.MediaType {
		case ArchiveType, "application/tar+gzip": // the latter before Helm 3.7
			archive, found = l, true
		case ProvenanceType:
			provenance = &m.Layers[i]
		}
	}
	switch {
	case !found:
		return archive, nil, fmt.Errorf("it is not a chart: no layer has the type %s", ArchiveType)
	case archive.Size > MaxArchive:
		return archive, nil, fmt.Errorf("the archive has %d bytes, more than %d", archive.Size, MaxArchive)
	}
	return archive, provenance, nil
}
