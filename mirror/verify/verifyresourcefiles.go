package verify

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/pkg/signature/cosign"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/state"
	"github.com/gantry-mirror/gantry/pkg/state/setrecord"
)

// checkTemplates looks for the images that annotations of CatalogSources resolve to. OLM asks for another one
// after each update of the cluster.
func (c *resourceCheck) checkTemplates(ctx context.Context, all []resources.RequestedTemplate) error {
	for _, t := range all {
		at := ResourceProblem{File: t.File, Object: t.Object.String(), Image: string(t.Template)}
		if host, _, _ := strings.Cut(string(t.Template), "/"); host != c.to.Host || c.checked[at.Object+" "+at.Image] {
			continue // of another mirror, or of the Internet
		}
		c.checked[at.Object+" "+at.Image] = true
		found := slices.ContainsFunc(c.record.Catalogs, func(p resources.Catalog) bool { return t.Template.Matches(p.Mirror.Name() + ":" + p.Mirror.Tag) })
		repository := t.Template.Repository()
		if found || repository == "" {
			continue // or the tags of many repositories would have to be listed
		}
		ref, err := reference.Parse(repository)
		if err == nil {
			tags, listErr := c.to.Client.Tags(ctx, ref, 0)
			if listErr != nil && !errors.Is(listErr, remote.ErrNotFound) {
				return fmt.Errorf("listing the tags of %s: %w", repository, listErr)
			}
			found = slices.ContainsFunc(tags, func(tag string) bool { return t.Template.Matches(ref.Name() + ":" + tag) })
		}
		if !found {
			at.Problem = "the mirror has no image that the annotation resolves to"
			c.add(at)
		}
	}
	return nil
}

// checkPolicies looks for images of the plan that nodes would refuse: a policy requires signatures of them, and the
// plan has none where nodes look for them, at the tag of the digest of each platform.
func (c *resourceCheck) checkPolicies(all []resources.RequestedPolicy) error {
	if len(all) == 0 {
		return nil
	}
	contents, err := c.plan.Contents()
	if err != nil {
		return err
	}
	tags := map[string]bool{}
	for i := range c.plan.Images {
		for _, tag := range c.plan.Images[i].Tags {
			tags[c.plan.Images[i].Repository+":"+tag] = true
		}
	}
	for i := range c.plan.Images {
		img := &c.plan.Images[i]
		ref, err := reference.Parse(img.Source)
		if err != nil || !slices.Contains([]plan.ImageKind{plan.RelatedImage, plan.BundleImage, plan.AdditionalImage, plan.ComponentImage, plan.ReleaseImage}, img.Kind) {
			continue // catalogs are requested by their names in the mirror
		}
		signed := true
		if err := contents.Walk(img.Digest, func(m *plan.Manifest) error {
			signed = signed && (len(m.Manifests) > 0 || tags[img.Repository+":"+cosign.Tag(m.Digest)])
			return nil
		}, func(plan.Blob) error { return nil }); err != nil {
			return err
		}
		for j := range all {
			at := ResourceProblem{File: all[j].File, Object: all[j].Object.String(), Image: img.Source, Problem: "nodes that apply it refuse this image: the plan has no signature of it"}
			if key := at.Object + " " + at.Image; !signed && all[j].Covers(ref.Name()) && !c.checked[key] {
				c.checked[key] = true
				c.add(at)
			}
		}
	}
	return nil
}

// checkInstallFiles looks for the images and repositories of the mirror that the files for installers name.
func (c *resourceCheck) checkInstallFiles(ctx context.Context, files []resources.File) error {
	named := regexp.MustCompile(`(?:^|[^A-Za-z0-9._:/@-])(` + regexp.QuoteMeta(c.to.Host) + `/[A-Za-z0-9._/-]*[A-Za-z0-9](?:(?::[A-Za-z0-9_][A-Za-z0-9._-]*)?@sha256:[0-9a-f]{64}|:[A-Za-z0-9_][A-Za-z0-9._-]*[A-Za-z0-9])?)`)
	for _, f := range files {
		if !strings.HasPrefix(f.Name, state.InstallFiles+"/") || strings.HasSuffix(f.Name, ".md") {
			continue
		}
		var mirrors []resources.RequestedMirror
		for _, m := range named.FindAllStringSubmatch(string(f.Text), -1) {
			ref, err := reference.Parse(m[1])
			if err != nil || ref.Digest == "" && ref.Tag == "" {
				mirrors = append(mirrors, resources.RequestedMirror{File: f.Name, Source: "a source", Mirror: m[1]})
				continue
			}
			if c.checked[f.Name+" "+m[1]] {
				continue
			}
			c.checked[f.Name+" "+m[1]] = true
			_, exists, err := c.to.Client.ManifestExists(ctx, ref)
			if err != nil {
				return fmt.Errorf("looking for %s: %w", m[1], err)
			}
			if !exists {
				c.add(ResourceProblem{File: f.Name, Image: m[1], Problem: "the mirror does not have this image"})
			}
		}
		if err := c.checkMirrors(ctx, mirrors); err != nil {
			return err
		}
	}
	return nil
}

// maxNewerSets is how many image sets a hint names.
const maxNewerSets = 3

// mirroredSince describes the image sets of the mirror that another workspace mirrored after the last run of this
// one. It only adds to a hint: what cannot be read is left out.
func mirroredSince(ctx context.Context, t *site.RegistryDestination, workspace string) (newer []string) {
	known, err := state.ReadRecordedSets(env.WorkspaceDir(workspace), t.Key())
	if err != nil {
		return nil
	}
	sets := t.ImageSets()
	listed, err := setrecord.List(ctx, sets)
	if err != nil {
		return nil
	}
	for i := range listed {
		revision, err := setrecord.CurrentOf(ctx, sets, &listed[i])
		if err != nil {
			continue
		}
		if saved, ok := known[revision.Name]; ok {
			if have, err := setrecord.ParseRevision(saved.Revision); err == nil && listed[i].Has(have) {
				continue
			}
		}
		if len(newer) == maxNewerSets {
			return append(newer, "and others")
		}
		newer = append(newer, fmt.Sprintf("%s mirrored the image set %s on %s", site.Owner(revision), revision.Name, revision.LastRun.UTC().Format("2006-01-02 at 15:04 UTC")))
	}
	return newer
}
