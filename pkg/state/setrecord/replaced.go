package setrecord

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/opencontainers/go-digest"
)

// maxReplaced is the maximum number of manifests that Replaced returns.
const maxReplaced = 10_000

// Replaced returns the manifests of the runs before the revisions of an image set that the repository still has, without
// those of the revisions, the oldest first, at most 10,000. A run that changed nothing has a manifest that loses its tag
// when the next run is recorded. manifest returns a manifest of the repository.
func Replaced(ctx context.Context, revisions []Revision, manifest func(context.Context, digest.Digest) ([]byte, error)) ([]digest.Digest, error) {
	var all []digest.Digest
	seen := map[digest.Digest]bool{}
	for i := range revisions {
		seen[revisions[i].Manifest] = true
	}
	for i := len(revisions) - 1; i >= 0; i-- {
		for next := revisions[i].Previous; next != "" && !seen[next] && len(all) < maxReplaced; {
			seen[next] = true
			raw, err := manifest(ctx, next)
			if errors.Is(err, fs.ErrNotExist) {
				break
			}
			if err != nil {
				return nil, fmt.Errorf("reading the earlier record %s: %w", next, err)
			}
			t, err := parseManifest(raw)
			if err != nil || t.Name != revisions[i].Name {
				break // another program wrote it
			}
			all = append(all, next)
			next = t.Previous
		}
	}
	slices.Reverse(all)
	return all, nil
}
