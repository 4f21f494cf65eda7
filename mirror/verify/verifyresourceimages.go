package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// verifyResources compares the cluster resources of a mirror with the plan and the mirror. dir is a
// folder that the user names; "" stands for those in the workspace, and the result is nil if it has none.
func verifyResources(ctx context.Context, t *site.RegistryDestination, p *plan.Plan, missing []mirror.MissingImage, dir, workspace string) (*VerifiedResources, error) {
	c := &resourceCheck{to: t, plan: p, checked: map[string]bool{}, out: &VerifiedResources{Dir: dir, Problems: []ResourceProblem{}}}
	var files []resources.File
	var problems []ResourceProblem
	var err error
	if dir == "" {
		c.out.Dir, files, problems, err = writtenResources(workspace, t)
	} else {
		files, err = readResourceFolder(dir)
	}
	if err != nil || c.out.Dir == "" {
		return nil, err
	}
	c.out.Files = len(files)
	for _, p := range problems {
		c.add(p)
	}
	c.record = withoutMissing(t, p, missing)
	flat, chosen := appliedFiles(files)
	if err := c.lookUpHosts(files); err != nil {
		return nil, err
	}
	if err := c.checkInstallFiles(ctx, files); err != nil {
		return nil, err
	}
	if len(flat) > 0 || len(chosen) == 0 {
		if err := c.check(ctx, flat, true); err != nil {
			return nil, err
		}
	}
	if len(chosen) > 0 {
		if err := c.check(ctx, chosen, false); err != nil {
			return nil, err
		}
	}
	if dir == "" && len(c.out.Problems) > 0 {
		c.out.newer = mirroredSince(ctx, t, workspace)
	}
	return c.out, ctx.Err()
}

// appliedFiles returns the files that "oc apply -f" applies, and those that "oc apply -k" does, which are
// copies in the folders of components.
func appliedFiles(files []resources.File) (flat, chosen []resources.File) {
	other := func(f resources.File) bool {
		return !slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(f.Name)) || strings.HasPrefix(f.Name, state.HostFiles+"/") || strings.HasPrefix(f.Name, state.InstallFiles+"/")
	}
	chosen = slices.DeleteFunc(resources.Applied(files), func(f resources.File) bool { return other(f) || !resources.InComponent(f.Name) })
	flat = slices.DeleteFunc(slices.Clone(files), func(f resources.File) bool { return other(f) || resources.IsSupport(f.Name) })
	return flat, chosen
}

// check checks the manifests that one command applies. whole means that they are all manifests. The
// components for some clusters are not: there, only kinds of objects that exist are compared with the
// plan.
func (c *resourceCheck) check(ctx context.Context, manifests []resources.File, whole bool) error {
	requested := resources.ReadRequested(manifests)
	for _, u := range requested.Unreadable {
		c.add(ResourceProblem{File: u.File, Problem: "it cannot be read: " + u.Err.Error()})
	}
	in := ""
	if !whole {
		in = resources.KustomizationFile
	}
	if whole || len(requested.Mirrors) > 0 {
		lost, err := requested.Unredirected(c.record.Images)
		if err != nil {
			return err
		}
		for _, l := range lost {
			c.add(ResourceProblem{File: in, Image: l.Name, Problem: "clusters do not find it in the mirror: " + l.Problem})
		}
	}
	if err := c.checkMirrors(ctx, requested.Mirrors); err != nil {
		return err
	}
	if err := c.checkImages(ctx, requested.Images); err != nil {
		return err
	}
	if err := c.checkTemplates(ctx, requested.Templates); err != nil {
		return err
	}
	if err := c.checkPolicies(requested.Policies); err != nil {
		return err
	}
	isCatalog := func(i resources.RequestedImage) bool { return i.Role == resources.RequestedCatalog }
	if whole || slices.ContainsFunc(requested.Images, isCatalog) {
		c.checkCatalogs(in, requested.Images)
	}
	return c.checkSignatures(ctx, in, requested.Signatures, whole || len(requested.Signatures) > 0)
}

// checkMirrors looks for content below each mirror of the mirror sets.
func (c *resourceCheck) checkMirrors(ctx context.Context, all []resources.RequestedMirror) error {
	known := map[string]bool{} // repositories and namespaces with images of the plan
	for _, img := range c.record.Images {
		for at := img.Mirror.Name(); at != "." && !known[at]; at = path.Dir(at) {
			known[at] = true
		}
	}
	list := sync.OnceValues(func() ([]string, error) { return c.to.Client.AllRepositories(ctx, c.to.Host) })
	for _, m := range all {
		host, prefix, _ := strings.Cut(m.Mirror, "/")
		if host != c.to.Host || c.checked[m.Mirror] {
			continue // another mirror has it
		}
		c.checked[m.Mirror] = true
		if known[m.Mirror] {
			continue
		}
		found := false
		ref := reference.Reference{Host: host, Path: prefix}
		if prefix != "" {
			tags, err := c.to.Client.Tags(ctx, ref, 1)
			if err != nil && !errors.Is(err, remote.ErrNotFound) {
				return fmt.Errorf("listing the tags of %s: %w", m.Mirror, err)
			}
			found = len(tags) > 0
		}
		at := ResourceProblem{File: m.File, Object: m.Object.String(), Image: m.Mirror}
		if !found {
			names, err := list()
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err != nil {
				at.Problem = "nothing of this plan is there, and the registry does not list its repositories: " + err.Error()
				c.out.Unchecked = append(c.out.Unchecked, at)
				continue
			}
			found = slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name+"/", prefix+"/") })
		}
		if !found {
			at.Problem = "the mirror of " + m.Source + " has no repository there"
			c.add(at)
		}
	}
	return nil
}

// checkImages requests the images that objects name, and compares catalogs and graph data with the plan.
func (c *resourceCheck) checkImages(ctx context.Context, all []resources.RequestedImage) error {
	for _, i := range all {
		at := ResourceProblem{File: i.File, Object: i.Object.String(), Image: i.Image}
		if c.checked[at.Object+" "+i.Image] {
			continue
		}
		c.checked[at.Object+" "+i.Image] = true
		ref, err := reference.Parse(i.Image)
		if err != nil {
			at.Problem = err.Error()
			c.add(at)
			continue
		}
		if ref.Host != c.to.Host {
			continue // of another mirror, or of the Internet
		}
		if at.Problem, err = c.imageProblem(ctx, i.Role, ref); err != nil {
			return fmt.Errorf("looking for %s: %w", i.Image, err)
		}
		if at.Problem != "" {
			c.add(at)
		}
	}
	return nil
}

// checkCatalogs looks for objects of each catalog of the plan.
func (c *resourceCheck) checkCatalogs(in string, all []resources.RequestedImage) {
	for _, planned := range c.record.Catalogs {
		names := func(i resources.RequestedImage) bool {
			ref, err := reference.Parse(i.Image)
			return err == nil && i.Role == resources.RequestedCatalog && ref.Name() == planned.Mirror.Name()
		}
		if planned.VariantOf == "" && !slices.ContainsFunc(all, names) {
			c.add(ResourceProblem{File: in, Image: planned.Mirror.Name() + ":" + planned.Mirror.Tag, Problem: "no CatalogSource and no ClusterCatalog names this catalog"})
		}
	}
}

// imageProblem requests an image that an object names. It returns what is wrong, or "".
func (c *resourceCheck) imageProblem(ctx context.Context, role resources.RequestedRole, ref reference.Reference) (string, error) {
	if role == resources.RequestedReleases {
		tags, err := c.to.Client.Tags(ctx, ref, 1)
		if errors.Is(err, remote.ErrNotFound) || err == nil && len(tags) == 0 {
			return "the repository has no releases", nil
		}
		return "", err
	}
	desc, exists, err := c.to.Client.ManifestExists(ctx, ref)
	switch {
	case err != nil:
		return "", err
	case !exists:
		return "the mirror does not have this " + string(role), nil
	}
	var planned []reference.Reference
	if role == resources.RequestedGraphData && c.record.GraphData != nil {
		planned = append(planned, *c.record.GraphData)
	}
	for _, p := range c.record.Catalogs {
		if role == resources.RequestedCatalog {
			planned = append(planned, p.Mirror)
		}
	}
	planned = slices.DeleteFunc(planned, func(p reference.Reference) bool { return p.Name() != ref.Name() })
	if len(planned) == 0 || slices.ContainsFunc(planned, func(p reference.Reference) bool { return p.Digest == desc.Digest }) {
		return "", nil // of another image set, or as planned
	}
	if ref.Tag != "" && ref.Digest == "" && !slices.ContainsFunc(planned, func(p reference.Reference) bool { return p.Tag == ref.Tag }) {
		return "", nil // another tag of the repository
	}
	return fmt.Sprintf("it is not the %s of the plan, which is %s", role, planned[0].Digest), nil
}

// checkSignatures compares the ConfigMaps with the releases of the plan if they are to be complete, and
// looks for the images of other ConfigMaps.
func (c *resourceCheck) checkSignatures(ctx context.Context, in string, all []resources.RequestedSignature, complete bool) error {
	planned := map[digest.Digest]bool{}
	for _, r := range c.record.Releases {
		for _, s := range r.Signatures {
			planned[s.Digest] = true
			has := func(have resources.RequestedSignature) bool {
				return have.Digest == s.Digest && slices.ContainsFunc(have.Bodies, func(body []byte) bool { return slices.Equal(body, s.Body) })
			}
			if complete && !slices.ContainsFunc(all, has) {
				c.add(ResourceProblem{
					File: cmp.Or(in, fileOf(all, s.Digest)), Image: r.Mirror.String(),
					Problem: fmt.Sprintf("no ConfigMap has a signature of %s, so that clusters refuse the release", s.Digest),
				})
			}
		}
	}
	repository := c.to.Repository(plan.ReleaseRepository)
	for _, s := range all {
		if planned[s.Digest] || c.checked[s.Digest.String()] {
			continue
		}
		c.checked[s.Digest.String()] = true
		_, exists, err := c.to.Client.ManifestExists(ctx, repository.WithDigest(s.Digest))
		if err != nil {
			return fmt.Errorf("looking for %s: %w", repository.WithDigest(s.Digest), err)
		}
		if !exists {
			c.add(ResourceProblem{File: s.File, Object: s.Object.String(), Image: repository.WithDigest(s.Digest).String(), Problem: "the mirror does not have the release image that it has signatures of"})
		}
	}
	return nil
}

// fileOf returns the file with signatures of an image, or the one that it should be in.
func fileOf(all []resources.RequestedSignature, d digest.Digest) string {
	if i := slices.IndexFunc(all, func(s resources.RequestedSignature) bool { return s.Digest == d }); i >= 0 {
		return all[i].File
	}
	return resources.SignatureFile(d)
}
