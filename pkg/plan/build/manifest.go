package build

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/image/manifest"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// A parsedManifest is the part of a manifest that planning needs.
type parsedManifest struct {
	mediaType string
	size      int64
	children  []ocispec.Descriptor // of an index
	blobs     []plan.Blob          // config and layers, duplicates removed
	// foreign is the number of layers that stay at their vendor's URLs.
	foreign    int
	*typedText // in the graph only for plans with a format
}

// A typedText has the media types of a manifest, its config and its layers, and its text if it has to be converted.
type typedText struct {
	types []string
	raw   []byte
}

// parseManifest reads an image manifest or an index. desc.MediaType is the type that the source
// reports; a mediaType inside the manifest must agree with it.
func parseManifest(desc ocispec.Descriptor, raw []byte) (*parsedManifest, error) {
	var m struct {
		SchemaVersion int                  `json:"schemaVersion"`
		MediaType     string               `json:"mediaType"`
		Config        *ocispec.Descriptor  `json:"config"`
		Layers        []ocispec.Descriptor `json:"layers"`
		Manifests     []ocispec.Descriptor `json:"manifests"`
	}
	err := manifest.CheckDensity(raw)
	if err == nil {
		err = json.Unmarshal(raw, &m)
	}
	if err != nil {
		return nil, fmt.Errorf("reading manifest %s: %w", desc.Digest, err)
	}
	if manifest.IsSchema1(desc.MediaType) || m.SchemaVersion == 1 {
		return nil, advice.New(advice.Failure, "ask its vendor for a newer image", "the image has Docker's schema 1, which registries no longer accept")
	}
	if m.MediaType != "" && desc.MediaType != m.MediaType && manifest.Is(desc.MediaType) {
		return nil, fmt.Errorf("reading manifest %s: the registry reports the type %s, the manifest %s", desc.Digest, desc.MediaType, m.MediaType)
	}
	switch {
	case m.MediaType != "":
		desc.MediaType = m.MediaType
	case !manifest.Is(desc.MediaType):
		desc.MediaType = manifest.TypeOf(raw)
	}
	n := &parsedManifest{mediaType: desc.MediaType, size: desc.Size, typedText: &typedText{types: []string{desc.MediaType}}}
	switch {
	case m.Manifests != nil && (m.Config != nil || m.Layers != nil):
		return nil, fmt.Errorf("reading manifest %s: it is both an image and an index", desc.Digest)
	case manifest.IsIndex(desc.MediaType):
		n.children = m.Manifests
		for _, c := range n.children {
			if err := checkDescriptor(c); err != nil {
				return nil, fmt.Errorf("reading index %s: %w", desc.Digest, err)
			}
		}
		return n, nil
	case !manifest.IsImage(desc.MediaType):
		return nil, advice.New(advice.Failure, "leave it out: images and indexes of OCI and Docker are mirrored, and what refers to them", "reading manifest %s: unknown type %q", desc.Digest, desc.MediaType)
	case m.Config == nil:
		return nil, fmt.Errorf("reading manifest %s: it has no config", desc.Digest)
	}
	seen, types := map[digest.Digest]int64{}, map[string]bool{desc.MediaType: true}
	n.blobs = make([]plan.Blob, 0, 1+len(m.Layers))
	for _, d := range append([]ocispec.Descriptor{*m.Config}, m.Layers...) {
		if err := checkDescriptor(d); err != nil {
			return nil, fmt.Errorf("reading manifest %s: %w", desc.Digest, err)
		}
		if !types[d.MediaType] {
			types[d.MediaType] = true
			n.types = append(n.types, d.MediaType)
		}
		if isForeign(d) {
			n.foreign++
			continue
		}
		if size, ok := seen[d.Digest]; ok {
			if size != d.Size {
				return nil, fmt.Errorf("reading manifest %s: blob %s has two sizes, %d and %d", desc.Digest, d.Digest, size, d.Size)
			}
			continue
		}
		seen[d.Digest] = d.Size
		n.blobs = append(n.blobs, plan.Blob{Digest: d.Digest, Size: d.Size})
	}
	return n, nil
}

// subjectOf returns the digest of the manifest that a manifest refers to, "" if it refers to none.
func subjectOf(raw []byte) digest.Digest {
	var m struct {
		Subject *ocispec.Descriptor `json:"subject"`
	}
	if err := json.Unmarshal(raw, &m); err != nil || m.Subject == nil {
		return ""
	}
	return m.Subject.Digest
}

// predicateAnnotation is the annotation of a sigstore bundle that says what its attestation states.
const predicateAnnotation = "dev.sigstore.bundle.predicateType"

// artifactOf returns the type of a referrer, and what it states if it is an attestation; values that no plan can
// have are left out.
func artifactOf(mediaType string, raw []byte) (artifactType, predicate string) {
	var m struct {
		ArtifactType string            `json:"artifactType"`
		Annotations  map[string]string `json:"annotations"`
		Config       struct {
			MediaType string `json:"mediaType"`
		} `json:"config"`
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return mediaType, ""
	}
	usable := func(s string) bool {
		return len(s) <= 255 && plan.CleanMessage(s) == s && !strings.ContainsAny(s, "\n\t")
	}
	artifactType = mediaType
	for _, t := range []string{m.Config.MediaType, m.ArtifactType} {
		if t != "" && usable(t) {
			artifactType = t
		}
	}
	if p := m.Annotations[predicateAnnotation]; usable(p) {
		predicate = p
	}
	return artifactType, predicate
}

// isForeign reports whether a layer is fetched from its vendor and not from the registry (Windows base layers).
func isForeign(d ocispec.Descriptor) bool {
	return len(d.URLs) > 0 &&
		(strings.Contains(d.MediaType, ".nondistributable.") || strings.Contains(d.MediaType, ".foreign."))
}

func checkDescriptor(d ocispec.Descriptor) error {
	if !reference.IsKnownDigest(d.Digest) {
		return fmt.Errorf("digest %q: %w", d.Digest, d.Digest.Validate())
	}
	return plan.CheckSize(d.Digest, d.Size)
}
