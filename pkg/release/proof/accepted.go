package proof

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/opencontainers/go-digest"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/pkg/signature/gpg"
)

const (
	notLookedAt = "whether clusters accept the signatures of releases was not looked at (--ignore-release-signature)"

	writeIt = "mirror again from this workspace to write it"
	sayKeys = "; where others than the vendor signed it, say with --release-key here too whose signatures count"
)

// unsigned says which signatures of a release clusters will not find, or not
// believe. Where nobody knows what clusters have, those of the plan are looked at.
func (c *Check) unsigned(r Planned) ([]Problem, error) {
	if r.Unverified && len(r.Signatures) == 0 {
		c.report.note("release " + r.name() + " was planned without its signature (--ignore-release-signature): clusters take it with --force alone")
		c.signatures[r.Digest] = nil
		return nil, nil
	}
	var keyrings []gpg.Keyring
	if !c.IgnoreSignatures {
		var err error
		if keyrings, err = c.Keyrings(r.Product); err != nil {
			return nil, err
		}
	}
	var problems []Problem
	for i, s := range r.Signatures {
		if slices.ContainsFunc(r.Signatures[:i], func(o Signature) bool { return o.Digest == s.Digest }) {
			continue
		}
		file, text, err := c.ConfigMap(s.Digest)
		switch {
		case errors.Is(err, ErrNoConfigMaps):
			c.report.note("there are no cluster resources for this mirror in the workspace " + c.Workspace + ": whether the ConfigMaps of signatures were written was not looked at")
			c.signatures[r.Digest] = r.signatures()
			return problems, nil
		case errors.Is(err, fs.ErrNotExist):
			problems = append(problems, noConfigMap(s.Digest, file))
			continue
		case err != nil:
			return nil, err
		}
		bodies, err := resources.ReadSignatures(text, s.Digest)
		if err == nil && !c.IgnoreSignatures {
			err = gpg.VerifyAll(bodies, s.Digest, keyrings, c.Now)
		}
		if err != nil {
			problem := Problem{Problem: err.Error(), At: file, Hint: writeIt}
			if errors.As(err, new(*gpg.DistrustError)) {
				problem.Hint += sayKeys
			}
			problems = append(problems, problem)
			continue
		}
		c.signatures[s.Digest] = bodies
	}
	return problems, nil
}

func noConfigMap(image digest.Digest, file string) Problem {
	return Problem{Problem: "the ConfigMap with the signatures of " + image.String() + " is not there", At: file, Hint: writeIt}
}

// signed looks for the signatures of a release that clusters are updated to, where no
// plan says what there was to be. By whose keys they are is for the clusters to say.
func (c *Check) signed(version string, arch release.Arch) error {
	r := c.mirror.Find(version, arch) // it is in the graph
	if _, known := c.signatures[r.Digest]; known || c.IgnoreSignatures {
		return nil
	}
	file, text, err := c.ConfigMap(r.Digest)
	var problem Problem
	switch {
	case errors.Is(err, ErrNoConfigMaps):
		c.report.note("there are no cluster resources for this mirror in the workspace " + c.Workspace +
			": whether clusters find the signatures of the releases, and accept them, was not looked at: name the workspace from which it was mirrored (--workspace), or check a plan (--plan)")
		return nil
	case errors.Is(err, fs.ErrNotExist):
		problem = noConfigMap(r.Digest, file)
		problem.Hint += "; where it was mirrored with --ignore-release-signature, clusters take it with --force alone: where they are to, say the flag here too"
	case err != nil:
		return err
	default:
		bodies, err := resources.ReadSignatures(text, r.Digest)
		if err == nil {
			c.signatures[r.Digest] = bodies
			return nil
		}
		problem = Problem{Problem: err.Error(), At: file, Hint: writeIt}
	}
	c.report.addRelease(ReleaseReport{Name: release.Name(version, arch), Digest: r.Digest, Problems: []Problem{problem}})
	return nil
}

// signatures are those of a release image itself, without those of its children.
func (r Planned) signatures() [][]byte {
	var bodies [][]byte
	for _, s := range r.Signatures {
		if s.Digest == r.Digest {
			bodies = append(bodies, s.Body)
		}
	}
	return bodies
}

// readKeys reads the keys of the releases that hops lead away from.
func (c *Check) readKeys(ctx context.Context, updates []Update) error {
	if c.IgnoreSignatures {
		c.report.note(notLookedAt)
		return nil
	}
	var from []*Release
	for _, u := range updates {
		for _, h := range u.Hops {
			r := c.mirror.Find(h.From, u.Arch)
			if r == nil {
				continue // which is in the way of the hop
			}
			if _, known := c.keys[r.Digest]; !known {
				c.keys[r.Digest] = nil
				from = append(from, r)
			}
		}
	}
	keys := make([]Keys, len(from))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(c.Jobs)
	for i, r := range from {
		g.Go(func() (err error) {
			keys[i], err = ReadKeys(ctx, c.registry, r)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i, r := range from {
		c.keys[r.Digest] = keys[i]
	}
	return nil
}

// refused says why clusters of one version do not accept the release of another, of
// which they are offered an update.
func (c *Check) refused(fromVersion, toVersion string, arch release.Arch) []Problem {
	from, to := c.mirror.Find(fromVersion, arch), c.mirror.Find(toVersion, arch)
	if from == nil || to == nil || c.IgnoreSignatures {
		return nil
	}
	signatures, ok := c.signatures[to.Digest]
	keys, read := c.keys[from.Digest]
	switch {
	case !ok || !read:
		return nil // which is in the way of the release, or not known
	case keys == nil:
		c.report.note("release " + release.Name(fromVersion, arch) + " brings no keys of signatures: clusters that run it take any other with --force alone")
		return nil
	}
	err := keys.Verify(to.Digest, signatures, c.Now)
	if err == nil {
		return nil
	}
	if len(signatures) == 0 {
		return []Problem{{
			Problem: fmt.Sprintf("a cluster that runs %s will not accept %s, which was mirrored without signatures", fromVersion, toVersion), At: to.Ref,
			Hint: "mirror without --ignore-release-signature; clusters take it with --force alone, and where they are to, say the flag here too",
		}}
	}
	return []Problem{{
		Problem: fmt.Sprintf("a cluster that runs %s will not accept the signatures of %s: %v", fromVersion, toVersion, err), At: from.Ref,
		Hint: "the keys are those of " + fromVersion + ": mirror without --release-key, from a store with signatures by them (mirror.platform.signatureStores), or go by a release that brings the new key; else clusters take it with --force alone",
	}}
}
