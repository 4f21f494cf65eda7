package mirror

import (
	"context"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
)

// confirmRepair checks a blob that was damaged or missing at the registry after it was sent again. A
// registry that finds a file of that digest in its storage may keep it, whatever is in the file.
func (r *run) confirmRepair(ctx context.Context, b *blob, repository string) error {
	if _, repaired := r.damaged.Load(b.desc.Digest); !repaired {
		return nil
	}
	problem, err := r.blobProblem(ctx, repository, b)
	if err != nil {
		return explain(err, "checking blob "+b.desc.Digest.String())
	}
	if problem == "" {
		return nil
	}
	return keptDamage("blob", b.desc.Digest, problem)
}

// confirmManifests reads those manifests of an image that were damaged and pushed again.
func (r *run) confirmManifests(ctx context.Context, img *image) error {
	for _, m := range img.manifests {
		if _, repaired := r.damaged.Load(m.Digest); !repaired {
			continue
		}
		problem, err := problemOf(r.reader.ReadManifest(ctx, img.repository, manifestDescriptor(m)))
		if err != nil {
			return explain(err, "checking manifest "+m.Digest.String())
		}
		if problem != "" {
			return keptDamage("manifest", m.Digest, problem)
		}
	}
	return nil
}

// keptDamage is the error of content that a registry accepted again without replacing its own copy.
func keptDamage(kind string, d digest.Digest, problem string) error {
	file := "docker/registry/v2/blobs/" + d.Algorithm().String() + "/" + d.Encoded()[:2] + "/" + d.Encoded() + "/data"
	return advice.New(advice.Failure,
		"remove its file from the registry's storage (in a CNCF distribution registry "+file+"), restart the registry, and run again with Options.CheckBlobs",
		"the registry accepted %s %s and kept its own copy, which %s", kind, d, strings.TrimSuffix(problem, ": content does not match"))
}
