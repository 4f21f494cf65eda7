package proof

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/opencontainers/go-digest"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/pkg/signature/gpg"
)

const (
	signaturesNotChecked = "the signatures of releases were not checked (Options.IgnoreReleaseSignature)"

	writeAgain    = "mirror again from this workspace"
	alsoTrustKeys = "; if it is signed with another key than the vendor's, set Options.ReleaseKeys as for mirroring"
)

// checkPlannedSignatures returns what is wrong with the ConfigMaps that bring the signatures of a
// planned release to clusters. If there are no cluster resources to read, the signatures of the
// plan count.
func (c *Check) checkPlannedSignatures(r plan.Release) ([]Problem, error) {
	if r.Unverified && len(r.Signatures) == 0 {
		c.report.note("release " + r.Name() + " was planned without its signature (Options.IgnoreReleaseSignature): clusters accept it only with oc adm upgrade --force")
		c.signatures[r.Digest] = nil
		return nil, nil
	}
	var keyrings []gpg.Keyring
	if !c.IgnoreReleaseSignature {
		var err error
		if keyrings, err = c.Keyrings(r.Product); err != nil {
			return nil, err
		}
	}
	var problems []Problem
	for i, s := range r.Signatures {
		if slices.ContainsFunc(r.Signatures[:i], func(o plan.Signature) bool { return o.Digest == s.Digest }) {
			continue
		}
		file, text, err := c.ConfigMap(s.Digest)
		switch {
		case errors.Is(err, ErrNoConfigMaps):
			c.report.note("the workspace " + c.Workspace + " has no cluster resources for this mirror: the ConfigMaps of signatures were not checked")
			c.signatures[r.Digest] = r.OwnSignatures()
			return problems, nil
		case errors.Is(err, fs.ErrNotExist):
			problems = append(problems, noConfigMap(s.Digest, file))
			continue
		case err != nil:
			return nil, err
		}
		bodies, err := resources.ReadSignatures(text, s.Digest)
		if err == nil && !c.IgnoreReleaseSignature {
			err = gpg.VerifyAll(bodies, s.Digest, keyrings, c.Now)
		}
		if err != nil {
			problem := Problem{Problem: err.Error(), At: file, Hint: writeAgain}
			if errors.As(err, new(*gpg.DistrustError)) {
				problem.Hint += alsoTrustKeys
			}
			problems = append(problems, problem)
			continue
		}
		c.signatures[s.Digest] = bodies
	}
	return problems, nil
}

func noConfigMap(image digest.Digest, file string) Problem {
	return Problem{Problem: "the ConfigMap with the signatures of " + image.String() + " is missing", At: file, Hint: writeAgain}
}

// checkSignatures reads the signatures of a release that clusters are updated to, if no plan lists
// them. Which keys made them is checked with those of the cluster.
func (c *Check) checkSignatures(version string, arch release.Arch) error {
	r := c.mirror.Find(version, arch) // it is in the graph
	if _, known := c.signatures[r.Digest]; known || c.IgnoreReleaseSignature {
		return nil
	}
	file, text, err := c.ConfigMap(r.Digest)
	var problem Problem
	switch {
	case errors.Is(err, ErrNoConfigMaps):
		c.report.note("the workspace " + c.Workspace +
			" has no cluster resources for this mirror: the signatures of releases were not checked; set Options.Workspace to the workspace that was used for mirroring, or Options.Plan")
		return nil
	case errors.Is(err, fs.ErrNotExist):
		problem = noConfigMap(r.Digest, file)
		problem.Hint += "; if it was mirrored with Options.IgnoreReleaseSignature, clusters accept it only with oc adm upgrade --force: set the option here too"
	case err != nil:
		return err
	default:
		bodies, err := resources.ReadSignatures(text, r.Digest)
		if err == nil {
			c.signatures[r.Digest] = bodies
			return nil
		}
		problem = Problem{Problem: err.Error(), At: file, Hint: writeAgain}
	}
	c.report.addRelease(ReleaseReport{Name: release.Name(version, arch), Digest: r.Digest, Problems: []Problem{problem}})
	return nil
}

// readKeys reads the keys of the releases that hops start from.
func (c *Check) readKeys(ctx context.Context, updates []Update) error {
	if c.IgnoreReleaseSignature {
		c.report.note(signaturesNotChecked)
		return nil
	}
	var from []*Release
	for _, u := range updates {
		for _, h := range u.Hops {
			r := c.mirror.Find(h.From, u.Arch)
			if r == nil {
				continue // the missing release is reported with the hop
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

// rejections returns why clusters of one version do not accept the release of another that they are
// offered.
func (c *Check) rejections(fromVersion, toVersion string, arch release.Arch) []Problem {
	from, to := c.mirror.Find(fromVersion, arch), c.mirror.Find(toVersion, arch)
	if from == nil || to == nil || c.IgnoreReleaseSignature {
		return nil
	}
	signatures, ok := c.signatures[to.Digest]
	keys, read := c.keys[from.Digest]
	switch {
	case !ok || !read:
		return nil // unknown, or reported with the release
	case keys == nil:
		c.report.note("release " + release.Name(fromVersion, arch) + " has no keys to verify updates with: clusters that run it accept updates only with oc adm upgrade --force")
		return nil
	}
	err := keys.Verify(to.Digest, signatures, c.Now)
	if err == nil {
		return nil
	}
	if len(signatures) == 0 {
		return []Problem{{
			Problem: fmt.Sprintf("a cluster that runs %s will not accept %s, which was mirrored without signatures", fromVersion, toVersion), At: to.Ref,
			Hint: "mirror without Options.IgnoreReleaseSignature, or set it here too if clusters are to be updated with oc adm upgrade --force",
		}}
	}
	return []Problem{{
		Problem: fmt.Sprintf("a cluster that runs %s will not accept the signatures of %s: %v", fromVersion, toVersion, err), At: from.Ref,
		Hint: "the keys are in release " + fromVersion + ": mirror without Options.ReleaseKeys from a store with signatures of these keys (mirror.platform.signatureStores), update through a release that has the new key, or use oc adm upgrade --force",
	}}
}
