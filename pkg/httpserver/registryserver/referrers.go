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

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// referrers are the manifests of a repository that name another one as their subject. They are
// collected on the first request: most clients never ask, and every manifest of the repository has
// to be read once.
type referrers struct {
	lock  chan struct{} // of one element, full while locked; unlike a mutex, waiting ends with the context
	known map[digest.Digest][]ocispec.Descriptor
}

func newReferrers() referrers { return referrers{lock: make(chan struct{}, 1)} }

// listReferrers returns an index of the manifests that refer to a digest ("Listing Referrers"). The
// list is empty, without an error, if the digest or the repository is unknown.
func (r *Registry) listReferrers(w http.ResponseWriter, req *http.Request, res resource) error {
	list := []ocispec.Descriptor{}
	if res.repository != nil {
		known, err := r.referrersIn(req.Context(), res)
		if err != nil {
			return err
		}
		list = append(list, known[res.digest]...)
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

// referrersIn returns all referrers of a repository by their subject. A manifest that cannot be
// read is an error: a list without it would look complete.
func (r *Registry) referrersIn(ctx context.Context, res resource) (map[digest.Digest][]ocispec.Descriptor, error) {
	refs := &res.referrers
	select {
	case refs.lock <- struct{}{}:
		defer func() { <-refs.lock }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if refs.known != nil {
		return refs.known, nil
	}
	var manifests []*content
	for _, n := range res.has {
		if r.content[n].mediaType != "" {
			manifests = append(manifests, &r.content[n])
		}
	}
	// Archives contain manifests in this order.
	elements.Sort(manifests, func(a, b *content) int { return strings.Compare(string(a.digest), string(b.digest)) })
	known := map[digest.Digest][]ocispec.Descriptor{}
	for _, m := range manifests {
		_, raw, err := r.source.Manifest(ctx, res.name, m.digest)
		if err != nil {
			return nil, fmt.Errorf("reading referrers: %w", err)
		}
		if subject, desc := referrer(m, raw); subject != "" {
			known[subject] = append(known[subject], desc)
		}
	}
	refs.known = known
	return known, nil
}

// referrer returns the descriptor of a manifest for a list of referrers. subject is "" if the
// manifest refers to nothing or cannot be parsed.
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
