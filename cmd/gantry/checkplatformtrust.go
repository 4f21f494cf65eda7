package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/release/proof"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/pkg/signature/gpg"
	"github.com/gantry-mirror/gantry/pkg/workspace"
	"github.com/gantry-mirror/gantry/plan"
)

// unsigned says which signatures of a release clusters will not find, or not
// believe. Where the workspace is not here, those of the plan are looked at.
func (c *platformCheck) unsigned(r plan.Release) ([]platformProblem, error) {
	if r.Unverified && len(r.Signatures) == 0 {
		c.note("release " + r.Name() + " was planned without its signature (--ignore-release-signature): clusters take it with --force alone")
		c.signatures[r.Digest] = nil
		return nil, nil
	}
	var problems []platformProblem
	for i, s := range r.Signatures {
		if slices.ContainsFunc(r.Signatures[:i], func(o plan.Signature) bool { return o.Digest == s.Digest }) {
			continue
		}
		file, text, err := workspace.ReadResource(strings.TrimPrefix(c.flags.workspace, fileScheme), c.target.key(), resources.SignatureFile(s.Digest))
		switch {
		case errors.Is(err, workspace.ErrNoResources):
			c.note("there are no cluster resources for this mirror in the workspace " + c.flags.workspace + ": whether the ConfigMaps of signatures were written was not looked at")
			c.signatures[r.Digest] = signaturesOf(r)
			return problems, nil
		case errors.Is(err, fs.ErrNotExist):
			problems = append(problems, platformProblem{Problem: "the ConfigMap with the signatures of " + s.Digest.String() + " is not there", At: file, Hint: "mirror again from this workspace to write it"})
			continue
		case err != nil:
			return nil, err
		}
		bodies, err := c.believed(r, s.Digest, text)
		if err != nil {
			problem := platformProblem{Problem: err.Error(), At: file, Hint: "mirror again from this workspace to write it"}
			if errors.As(err, new(*gpg.DistrustError)) {
				problem.Hint += "; where others than the vendor signed it, say with --release-key here too whose signatures count"
			}
			problems = append(problems, problem)
			continue
		}
		c.signatures[s.Digest] = bodies
	}
	return problems, nil
}

// believed returns the signatures of a ConfigMap, verified with the keys that gantry
// mirror takes.
func (c *platformCheck) believed(r plan.Release, d digest.Digest, configMap []byte) ([][]byte, error) {
	bodies, err := resources.ReadSignatures(configMap, d)
	if err != nil || c.flags.ignore {
		return bodies, err
	}
	trust, err := c.updates(nil, c.configured, c.flags.releaseFlags).trust(r.Product)
	if err != nil {
		return nil, err
	}
	return bodies, gpg.VerifyAll(bodies, d, trust.Keyrings, time.Now())
}

// signaturesOf are those of a payload itself, without those of its children.
func signaturesOf(r plan.Release) [][]byte {
	var bodies [][]byte
	for _, s := range r.Signatures {
		if s.Digest == r.Digest {
			bodies = append(bodies, s.Body)
		}
	}
	return bodies
}

// readKeys reads the keys of the releases that hops lead away from.
func (c *platformCheck) readKeys(ctx context.Context, updates []plan.UpdatePath) error {
	if c.flags.ignore {
		c.note("whether clusters accept the signatures of releases was not looked at (--ignore-release-signature)")
		return nil
	}
	var from []*proof.Release
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
	keys := make([]proof.Keys, len(from))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(min(c.target.streams, maxReleaseReads))
	for i, r := range from {
		g.Go(func() (err error) {
			keys[i], err = proof.ReadKeys(ctx, c.images, r)
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

// refused says why clusters do not accept the release that a hop leads to.
func (c *platformCheck) refused(h proof.Hop, arch release.Arch) []platformProblem {
	from, to := c.mirror.Find(h.From, arch), c.mirror.Find(h.To, arch)
	if from == nil || to == nil || c.flags.ignore {
		return nil
	}
	signatures, ok := c.signatures[to.Digest]
	keys := c.keys[from.Digest]
	switch {
	case !ok:
		return nil // which is in the way of the release
	case keys == nil:
		c.note("release " + release.Name(h.From, arch) + " brings no keys of signatures: clusters that run it take any other with --force alone")
		return nil
	}
	err := keys.Verify(to.Digest, signatures, time.Now())
	if err == nil {
		return nil
	}
	if len(signatures) == 0 {
		return []platformProblem{{
			Problem: fmt.Sprintf("a cluster that runs %s will not accept %s, which was mirrored without signatures", h.From, h.To), At: to.Ref,
			Hint: "mirror without --ignore-release-signature; clusters take it with --force alone, and where they are to, say the flag here too",
		}}
	}
	return []platformProblem{{
		Problem: fmt.Sprintf("a cluster that runs %s will not accept the signatures of %s: %v", h.From, h.To, err), At: from.Ref,
		Hint: "the keys are those of " + h.From + ": mirror without --release-key, from a store with signatures by them (mirror.platform.signatureStores), or go by a release that brings the new key; else clusters take it with --force alone",
	}}
}
