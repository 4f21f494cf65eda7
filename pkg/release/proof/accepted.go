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
			problems = append(problems, Problem{Problem: "the ConfigMap with the signatures of " + s.Digest.String() + " is not there", At: file, Hint: writeIt})
			continue
		case err != nil:
			return nil, err
		}
		bodies, err := c.believed(r.Product, s.Digest, text)
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

// believed returns the signatures of a ConfigMap, verified with the keys by which
// releases are mirrored.
func (c *Check) believed(product release.Product, d digest.Digest, configMap []byte) ([][]byte, error) {
	bodies, err := resources.ReadSignatures(configMap, d)
	if err != nil || c.IgnoreSignatures {
		return bodies, err
	}
	keyrings, err := c.Keyrings(product)
	if err != nil {
		return nil, err
	}
	return bodies, gpg.VerifyAll(bodies, d, keyrings, c.Now)
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
		c.report.note("whether clusters accept the signatures of releases was not looked at (--ignore-release-signature)")
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
	keys := c.keys[from.Digest]
	switch {
	case !ok:
		return nil // which is in the way of the release
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
