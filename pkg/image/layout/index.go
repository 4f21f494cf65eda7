package layout

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/advice/suggest"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
)

// maxIndex is the maximum size of index.json in bytes: some 200,000 images.
const maxIndex = 64 << 20

// Index reads index.json. Descriptors with an invalid digest or size are an error.
func (l *Layout) Index() (ocispec.Index, error) {
	raw, err := regular.Read(l.root, ocispec.ImageIndexFile, maxIndex)
	if err != nil {
		return ocispec.Index{}, fmt.Errorf("reading the index of %s: %w", l.root.Name(), err)
	}
	index, err := parseIndex(raw)
	if err != nil {
		return ocispec.Index{}, fmt.Errorf("reading %s: %w", l.path(ocispec.ImageIndexFile), err)
	}
	return index, nil
}

func parseIndex(raw []byte) (ocispec.Index, error) {
	var index ocispec.Index
	if err := json.Unmarshal(raw, &index); err != nil {
		return ocispec.Index{}, err
	}
	if index.SchemaVersion != 2 {
		return ocispec.Index{}, fmt.Errorf("schemaVersion is %d, not 2", index.SchemaVersion)
	}
	for i, m := range index.Manifests {
		if err := CheckDigest(m.Digest); err != nil {
			return ocispec.Index{}, fmt.Errorf("manifests[%d]: %w", i, err)
		}
		if m.Size < 0 {
			return ocispec.Index{}, fmt.Errorf("manifests[%d]: size %d", i, m.Size)
		}
	}
	return index, nil
}

// SetIndex replaces index.json. The same manifests give the same bytes.
func (l *Layout) SetIndex(ctx context.Context, manifests iter.Seq[ocispec.Descriptor]) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	err := l.disk.Write(ocispec.ImageIndexFile, func(w io.Writer) error { return WriteIndex(w, manifests) })
	if err != nil {
		return fmt.Errorf("writing the index of %s: %w", l.root.Name(), err)
	}
	return nil
}

// WriteIndex writes index.json with these manifests, one entry at a time. The bytes are the same as
// of encodeIndex.
func WriteIndex(w io.Writer, manifests iter.Seq[ocispec.Descriptor]) error {
	out := bufio.NewWriterSize(w, 64<<10)
	raw, err := encodeIndex(ocispec.Index{})
	if err != nil {
		return err
	}
	_, _ = out.Write(bytes.TrimSuffix(raw, []byte("]}"))) // Flush returns the first error
	separator := ""
	for m := range manifests {
		if raw, err = json.Marshal(m); err != nil {
			return err
		}
		_, _ = out.WriteString(separator)
		_, _ = out.Write(raw)
		separator = ","
	}
	_, _ = out.WriteString("]}")
	return out.Flush()
}

// encodeIndex returns the bytes of index.json, with schema version and media type. The same index
// gives the same bytes.
func encodeIndex(index ocispec.Index) ([]byte, error) {
	index.SchemaVersion = 2
	index.MediaType = ocispec.MediaTypeImageIndex
	if index.Manifests == nil {
		index.Manifests = []ocispec.Descriptor{} // the specification requires an array
	}
	return json.Marshal(index)
}

// Resolve finds a manifest in index.json: by its name there (annotation
// org.opencontainers.image.ref.name) or by its digest. If name is "", it returns the only manifest.
// If the name is missing or ambiguous, the error lists the choices.
func (l *Layout) Resolve(name string) (ocispec.Descriptor, error) {
	index, err := l.Index()
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	var found []ocispec.Descriptor
	for _, m := range index.Manifests {
		matches := name == "" || m.Annotations[ocispec.AnnotationRefName] == name || m.Digest == digest.Digest(name)
		same := func(d ocispec.Descriptor) bool { return d.Digest == m.Digest }
		if matches && !slices.ContainsFunc(found, same) {
			found = append(found, m)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	problem, hint := explain(name, found, index.Manifests)
	return ocispec.Descriptor{}, advice.New(advice.Failure, hint, "OCI layout %s: %s", l.root.Name(), problem)
}

// explain returns why a name did not select one manifest, and what to do.
func explain(name string, found, all []ocispec.Descriptor) (problem, hint string) {
	switch {
	case len(all) == 0:
		return "it has no images", ""
	case name == "":
		return fmt.Sprintf("it has %d images", len(found)), "name one of them: " + choices(found)
	case len(found) > 1:
		return fmt.Sprintf("%d images are named %q", len(found), name), "name one by its digest: " + choices(found)
	}
	names := elements.Map(all, func(m ocispec.Descriptor) string { return m.Annotations[ocispec.AnnotationRefName] })
	if near := suggest.Phrase(name, names); near != "" {
		return fmt.Sprintf("no image is named %q", name), near
	}
	return fmt.Sprintf("no image is named %q", name), "it has: " + choices(all)
}

// choices lists up to ten manifests by name, or by digest if they have no name.
func choices(all []ocispec.Descriptor) string {
	var names []string
	for _, m := range all {
		name := m.Annotations[ocispec.AnnotationRefName]
		if name == "" || slices.Contains(names, name) {
			name = m.Digest.String()
		}
		names = append(names, name)
	}
	slices.Sort(names)
	if more := len(names) - 10; more > 0 {
		names = append(names[:10], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}
