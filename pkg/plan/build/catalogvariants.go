package build

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/resources"
)

// A catalogVariantSet has the catalogs that the annotation olm.catalogImageTemplate of a targetCatalogSourceTemplate names for
// the versions of the clusters. They have the selection of the catalog with the template.
type catalogVariantSet struct {
	operators []imageset.Operator
	of        []string // the name of the catalog with the template, for each
	notes     []string
}

// kubernetesVersions returns the versions of Kubernetes of the clusters, sorted: "1.33.4" of payloads
// that contain it, otherwise "1.33".
func kubernetesVersions(payloads []selectedRelease, clusters []Cluster) []string {
	var versions []string
	for _, p := range payloads {
		versions = append(versions, cmp.Or(p.payload.VersionOf("kubernetes"), release.Kubernetes(p.version)))
	}
	for _, c := range clusters {
		v := release.Kubernetes(c.Version)
		if !slices.ContainsFunc(versions, func(known string) bool { return strings.HasPrefix(known+".", v+".") }) {
			versions = append(versions, v)
		}
	}
	versions = slices.DeleteFunc(versions, func(v string) bool { return v == "" })
	slices.Sort(versions)
	return slices.Compact(versions)
}

// catalogVariants resolves the annotations of all templates.
func catalogVariants(ctx context.Context, ops []imageset.Operator, versions []string, sources Sources) (v catalogVariantSet, err error) {
	for _, op := range ops {
		if op.TargetCatalogSourceTemplate == "" {
			continue
		}
		text, err := sources.Files.ReadFile(op.TargetCatalogSourceTemplate)
		if err != nil {
			return v, inputErrorf("%s: reading targetCatalogSourceTemplate: %w", op.Pos, err)
		}
		if t := resources.ReadImageTemplate(text); t != "" {
			if err := v.add(ctx, op, ops, t, versions, sources); err != nil {
				return v, err
			}
		}
	}
	return v, nil
}

// add adds the catalogs that the template of an operator names.
func (v *catalogVariantSet) add(ctx context.Context, op imageset.Operator, ops []imageset.Operator, t resources.ImageTemplate, versions []string, sources Sources) error {
	note := func(format string, args ...any) {
		v.notes = append(v.notes, fmt.Sprintf("%s: olm.catalogImageTemplate %s: ", catalogName(op), t)+fmt.Sprintf(format, args...))
	}
	if len(versions) == 0 {
		note("no image of it is mirrored, because the versions of the clusters are unknown; select the platform releases that they run, or give their ClusterVersions")
		return nil
	}
	for _, version := range versions {
		ref, err := t.Resolve(version)
		switch {
		case errors.Is(err, resources.ErrNoPatch):
			note("no image of it is mirrored for Kubernetes %s, because the patch version is unknown; select the platform releases that the clusters run", version)
			continue
		case err != nil:
			note("OLM ignores it: %v", err)
			return nil
		}
		variant := variantOf(op, ref)
		if slices.ContainsFunc(slices.Concat(ops, v.operators), func(have imageset.Operator) bool { return sameCatalog(have, variant) }) {
			continue
		}
		if _, _, err := sources.Images.Manifest(ctx, ref.String(), ""); errors.Is(err, fs.ErrNotExist) {
			note("%s does not exist, so clusters with Kubernetes %s would find no catalog", ref, version)
			continue
		} else if err != nil {
			return fmt.Errorf("reading %s, which olm.catalogImageTemplate of %s names: %w", ref, catalogName(op), err)
		}
		v.operators, v.of = append(v.operators, variant), append(v.of, catalogName(op))
	}
	return nil
}

// variantOf returns the entry for a catalog that the template of another one names. Its tag in the
// mirror is the name of its source, since OLM computes it.
func variantOf(op imageset.Operator, ref reference.Reference) imageset.Operator {
	v := op
	v.Catalog, v.TargetCatalogSourceTemplate, v.TargetClusterCatalogTemplate, v.TargetTag = ref.String(), "", "", ""
	own, err := reference.Parse(op.Catalog)
	if err != nil || own.Name() != ref.Name() {
		v.TargetCatalog = ""
	} else if op.TargetTag != "" && own.Tag == ref.Tag {
		v.TargetTag = ref.Tag // the other entry has another tag
	}
	return v
}

// sameCatalog reports whether two entries have one source and one target.
func sameCatalog(a, b imageset.Operator) bool {
	x, errX := reference.Parse(a.Catalog)
	y, errY := reference.Parse(b.Catalog)
	tag := func(op imageset.Operator, r reference.Reference) string {
		return cmp.Or(op.TargetTag, r.Tag)
	}
	return errX == nil && errY == nil && x.Name() == y.Name() && x.Tag == y.Tag && a.TargetCatalog == b.TargetCatalog && tag(a, x) == tag(b, y)
}

// catalogName returns plan.Catalog.Name of the entry of a configuration.
func catalogName(op imageset.Operator) string {
	return plan.Catalog{Source: op.Catalog, Target: targetName(op)}.Name()
}

// markVariants records in the entries of the variants, which come last, which catalog they belong to.
func (s catalogSelection) markVariants(v catalogVariantSet) {
	for i, r := range s.all[len(s.all)-len(v.of):] {
		r.entry.VariantOf = v.of[i]
	}
}
