package registryserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// referrers are the manifests of a repository that name another one as their
// subject. They are looked for when somebody asks: most clients never do, and
// every manifest of the repository has to be read for it, once.
type referrers struct {
	turn  chan struct{} // who looks for them, or at them, holds what is in it
	known map[digest.Digest][]ocispec.Descriptor
}

func newReferrers() referrers { return referrers{turn: make(chan struct{}, 1)} }

// listReferrers answers with an index of the manifests that refer to a digest
// ("Listing Referrers"). That there are none is no error, whether the digest or
// the repository is known or not.
func (r *Registry) listReferrers(w http.ResponseWriter, req *http.Request, at place) error {
	list := []ocispec.Descriptor{}
	if at.repository != nil {
		known, err := r.referrersIn(req.Context(), at)
		if err != nil {
			return err
		}
		list = append(list, known[at.digest]...)
	}
	if kind := req.URL.Query().Get("artifactType"); kind != "" {
		list = slices.DeleteFunc(list, func(d ocispec.Descriptor) bool { return d.ArtifactType != kind })
		w.Header().Set("OCI-Filters-Applied", "artifactType")
	}
	writeJSON(w, ocispec.MediaTypeImageIndex, http.StatusOK, ocispec.Index{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex, Manifests: list,
	})
	return nil
}

// referrersIn are all referrers of a repository by their subject. A manifest that
// cannot be read is an error: a list without it would look like all there is.
func (r *Registry) referrersIn(ctx context.Context, at place) (map[digest.Digest][]ocispec.Descriptor, error) {
	refs := &at.referrers
	select {
	case refs.turn <- struct{}{}:
		defer func() { <-refs.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if refs.known != nil {
		return refs.known, nil
	}
	var manifests []*content
	for _, n := range at.has {
		if r.content[n].mediaType != "" {
			manifests = append(manifests, &r.content[n])
		}
	}
	// In this order archives have them.
	slices.SortFunc(manifests, func(a, b *content) int { return strings.Compare(string(a.digest), string(b.digest)) })
	known := map[digest.Digest][]ocispec.Descriptor{}
	for _, m := range manifests {
		_, raw, err := r.source.Manifest(ctx, at.name, m.digest)
		if err != nil {
			return nil, fmt.Errorf("looking for referrers: %w", err)
		}
		if subject, desc := referrer(m, raw); subject != "" {
			known[subject] = append(known[subject], desc)
		}
	}
	refs.known = known
	return known, nil
}

// referrer describes a manifest as a list of referrers has it; subject is "" for one
// that refers to nothing, or is no manifest of this kind.
func referrer(m *content, raw []byte) (subject digest.Digest, desc ocispec.Descriptor) {
	var text struct {
		ArtifactType string              `json:"artifactType"`
		Config       *ocispec.Descriptor `json:"config"`
		Subject      *ocispec.Descriptor `json:"subject"`
		Annotations  map[string]string   `json:"annotations"`
	}
	if err := json.Unmarshal(raw, &text); err != nil || text.Subject == nil {
		return "", desc
	}
	kind := text.ArtifactType
	if kind == "" && text.Config != nil {
		kind = text.Config.MediaType
	}
	return text.Subject.Digest, ocispec.Descriptor{
		MediaType: m.mediaType, Digest: m.digest, Size: m.size, ArtifactType: kind, Annotations: text.Annotations,
	}
}
