package image

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/image/manifest"
)

// manifestFormat converts single manifests.
type manifestFormat manifest.Format

// convert returns an image manifest in the format, nil if it has that format already.
func (f manifestFormat) convert(desc ocispec.Descriptor, m Object) (Object, error) {
	format := manifest.Format(f)
	mediaType, ok := format.Equivalent(desc.MediaType)
	if !ok {
		return nil, fmt.Errorf("%w: its type is %q", ErrNotConvertible, desc.MediaType)
	}
	changed := mediaType != desc.MediaType
	artifact := ""
	if err := m.Field("artifactType", &artifact); err != nil {
		return nil, err
	}
	_, hasSubject := m["subject"]
	if format == manifest.Docker && (artifact != "" || hasSubject) {
		return nil, fmt.Errorf("%w: it is an artifact of OCI", ErrNotConvertible)
	}
	config, same, err := f.entry(m["config"], "config", changed)
	if err != nil {
		return nil, err
	}
	changed = changed || !same
	var layers []json.RawMessage
	if err := m.Field("layers", &layers); err != nil {
		return nil, err
	}
	lines := make([]json.RawMessage, 0, len(layers))
	for _, layer := range layers {
		line, same, err := f.entry(layer, "layer", mediaType != desc.MediaType)
		if err != nil {
			return nil, err
		}
		lines, changed = append(lines, line), changed || !same
	}
	if !changed {
		return nil, nil
	}
	if format == manifest.Docker {
		m = Object{"schemaVersion": json.RawMessage("2")} // Docker's manifests have no other fields
	}
	if m, err = m.With("mediaType", mediaType); err != nil {
		return nil, err
	}
	if m, err = m.With("config", config); err != nil {
		return nil, err
	}
	return m.With("layers", lines)
}

// entry returns the config or a layer of a manifest in the format. known means that only types which images
// have are accepted. same reports whether nothing changed.
func (f manifestFormat) entry(line json.RawMessage, what string, known bool) (_ json.RawMessage, same bool, err error) {
	format := manifest.Format(f)
	o, err := DecodeObject(line)
	if err != nil {
		return nil, false, fmt.Errorf("reading its %s: %w", what, err)
	}
	var mediaType string
	if err := o.Field("mediaType", &mediaType); err != nil {
		return nil, false, err
	}
	other, ok := format.Equivalent(mediaType)
	switch {
	case !ok && format == manifest.Docker && (known || format.Refuses(mediaType)):
		return nil, false, fmt.Errorf("%w: its %s has the type %q", ErrNotConvertible, what, mediaType)
	case !ok, other == mediaType && !known:
		return line, true, nil
	case format == manifest.Docker:
		o = o.only("digest", "size", "urls")
	}
	if o, err = o.With("mediaType", other); err != nil {
		return nil, false, err
	}
	line, err = encode(o)
	return line, false, err
}

// only returns a copy with no other keys than these.
func (o Object) only(keys ...string) Object {
	c := Object{}
	for _, k := range keys {
		if v, ok := o[k]; ok {
			c[k] = v
		}
	}
	return c
}

// index writes the images of an index in the format and returns the index, nil if nothing changes.
func (v *converter) index(ctx context.Context, desc ocispec.Descriptor, index Object, depth int) (Object, error) {
	if _, hasSubject := index["subject"]; hasSubject && v.Format == manifest.Docker {
		return nil, fmt.Errorf("%w: it is an artifact of OCI", ErrNotConvertible)
	}
	var children []json.RawMessage
	if err := index.Field("manifests", &children); err != nil {
		return nil, err
	}
	mediaType, _ := v.Format.Equivalent(desc.MediaType)
	changed := mediaType != desc.MediaType
	kept := make([]json.RawMessage, 0, len(children))
	for _, child := range children {
		line, same, err := v.child(ctx, child, mediaType != desc.MediaType, depth)
		if err != nil {
			return nil, err
		}
		if line != nil {
			kept = append(kept, line)
		}
		changed = changed || !same
	}
	switch {
	case len(kept) == 0:
		return nil, fmt.Errorf("%w: it has no image", ErrNotConvertible)
	case !changed:
		return nil, nil
	case mediaType != desc.MediaType && v.Format == manifest.Docker:
		index = Object{"schemaVersion": json.RawMessage("2")}
	}
	if mediaType != desc.MediaType {
		var err error
		if index, err = index.With("mediaType", mediaType); err != nil {
			return nil, err
		}
	}
	return index.With("manifests", kept)
}

// child returns the line of an index for one of its children, nil if it is left out. whole means that the
// index gets another type. same reports whether the line is unchanged.
func (v *converter) child(ctx context.Context, line json.RawMessage, whole bool, depth int) (_ json.RawMessage, same bool, err error) {
	var c ocispec.Descriptor
	if err := json.Unmarshal(line, &c); err != nil {
		return nil, false, err
	}
	docker := v.Format == manifest.Docker
	switch {
	case v.Keep != nil && !v.Keep(c.Digest):
		return nil, false, nil
	case docker && isAttestation(c) && (whole || c.MediaType != manifest.DockerImage):
		return nil, false, nil
	case docker && manifest.IsIndex(c.MediaType):
		return nil, false, fmt.Errorf("%w: it lists another index, %s", ErrNotConvertible, c.Digest)
	}
	made, err := v.convert(ctx, c, depth+1)
	switch {
	case v.KeepMade != nil && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrNotConvertible)), err == nil && v.KeepMade != nil && !v.KeepMade(made.Digest):
		return nil, false, nil
	case err != nil:
		return nil, false, err
	}
	if made.Digest == c.Digest && (!whole || !docker) {
		return line, true, nil
	}
	o, err := DecodeObject(line)
	if err == nil && docker {
		o, err = v.withPlatform(ctx, o.only("digest", "size", "platform"), c)
	}
	if err == nil {
		o, err = pointAt(o, made)
	}
	if err == nil {
		o, err = o.With("mediaType", made.MediaType)
	}
	if err != nil {
		return nil, false, err
	}
	line, err = encode(o)
	return line, false, err
}

// withPlatform adds the platform of an image to its line, where Docker requires it, from its config.
func (v *converter) withPlatform(ctx context.Context, line Object, c ocispec.Descriptor) (Object, error) {
	if c.Platform != nil {
		return line, nil
	}
	i := &Image{reader: v.Reader, source: v.source}
	m, err := i.readManifest(ctx, &c)
	if err != nil {
		return nil, err
	}
	p, err := i.readPlatform(ctx, c, m)
	switch {
	case err != nil:
		return nil, err
	case p == nil:
		return nil, fmt.Errorf("%w: it lists an artifact, %s", ErrNotConvertible, c.Digest)
	}
	return line.With("platform", ocispec.Platform{OS: p.OS, Architecture: p.Architecture, Variant: p.Variant})
}
