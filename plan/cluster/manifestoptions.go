package cluster

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/pkg/state"
	"github.com/gantry-mirror/gantry/plan/trust"
)

// A Format says for which clusters and how the cluster resources of a run are written.
type Format struct {
	// For are the clusters that apply the cluster resources: "openshift-4.20" or "kubernetes", and further
	// components, separated by commas: "openshift-4.20,update-service". The default is the one of the run
	// before, or the oldest OpenShift that the mirror has releases or catalogs for.
	For string
	// ICSP writes ImageContentSourcePolicies for clusters before OpenShift 4.13, in place of mirror sets.
	ICSP bool
	// MirrorSourcePolicy is the mirrorSourcePolicy of the cluster resources.
	MirrorSourcePolicy string
	// ImagePolicies is the version of the ClusterImagePolicies that are written for images that
	// trust.ImageTrust verified: ImagePolicyV1, which is the default, ImagePolicyV1alpha1 or NoImagePolicies of
	// package resources.
	ImagePolicies string
	// ImagePolicyNamespace writes ImagePolicies for this namespace in place of ClusterImagePolicies.
	ImagePolicyNamespace string
	// ResourceName becomes part of the names of mirror sets and of the UpdateService, so that those of
	// several mirrors exist beside each other in a cluster. The default is no name for the first mirror
	// of a workspace, and the name of the image set for others. The workspace keeps it.
	ResourceName string
	// RenameCatalogs forgets the names that CatalogSources and ClusterCatalogs have, and names them as
	// oc mirror does.
	RenameCatalogs bool
}

// Manifests returns the options that write manifests in this format.
func (f *Format) Manifests() ManifestOptions {
	return ManifestOptions{Options: resources.Options{
		MirrorSourcePolicy: f.MirrorSourcePolicy, ImagePolicies: f.ImagePolicies, ImagePolicyNamespace: f.ImagePolicyNamespace, ICSP: f.ICSP,
	}, Target: f.For}
}

// ManifestOptions say how cluster resources are written.
type ManifestOptions struct {
	resources.Options
	// Target is Format.For, or ResourcesOptions.For; "" keeps the one of the workspace.
	Target string
	// Accepted is what the signature policy of the run found; nil without one.
	Accepted *trust.AcceptedImages
}

// saved returns the options as the workspace keeps them.
func (o *ManifestOptions) saved(t *site.RegistryDestination, by mirrorAccess) state.ManifestOptions {
	return state.ManifestOptions{
		For: o.Target, MirrorSourcePolicy: o.MirrorSourcePolicy, ImagePolicies: o.ImagePolicies, ImagePolicyNamespace: o.ImagePolicyNamespace, ICSP: o.ICSP,
		AliasOf: t.AliasOf, PlainHTTP: by.plainHTTP, CA: by.ca,
	}
}

// CheckFor returns an error if the value of Format.For is invalid, or contradicts the other options.
func CheckFor(text string, o resources.Options) error {
	if o.ICSP && o.MirrorSourcePolicy != "" {
		return env.InputHint("leave one of them out", "Options.ICSP cannot be combined with Options.MirrorSourcePolicy, which ImageContentSourcePolicies do not have")
	}
	if text == "" {
		return nil
	}
	target, err := resources.ParseTarget(text)
	switch {
	case err != nil:
		return env.Inputf("Options.For: %w", err)
	case o.MirrorSourcePolicy != "" && beforeMirrorSets(target):
		return env.InputHint("leave one of them out", "clusters before OpenShift 4.13 have no mirror sets that Options.MirrorSourcePolicy could be in")
	}
	return nil
}

// beforeMirrorSets reports whether clusters know only ImageContentSourcePolicies.
func beforeMirrorSets(t resources.Target) bool {
	return t.Version != resources.OpenShiftVersion{} && t.Version.Compare(resources.OpenShiftVersion{Major: 4, Minor: 13}) < 0
}

// chooseTarget sets which clusters the manifests are for: as given, as in the run before, or according
// to the content of the mirror.
func chooseTarget(s *workspace.Session, t *site.RegistryDestination, r *Manifests, o *ManifestOptions) error {
	if o.Target == "" {
		saved, err := s.ManifestOptions(t.Key())
		if err != nil {
			return err
		}
		o.Target = saved.For
	}
	if o.Target != "" {
		var err error
		if r.target, err = resources.ParseTarget(o.Target); err != nil {
			return advice.Wrap(advice.Input, fmt.Errorf("the clusters of %s: %w", t, err), "set Options.For")
		}
		o.ICSP = o.ICSP || o.MirrorSourcePolicy == "" && beforeMirrorSets(r.target)
	}
	if !r.target.Kubernetes && r.target.Version == (resources.OpenShiftVersion{}) {
		versions := elements.Map(r.all.Releases, func(one state.Release) string { return one.Version })
		r.target.Version = resources.OldestVersion(versions, r.all.Catalogs)
	}
	if beforeMirrorSets(r.target) && !o.ICSP {
		r.notes = append(r.notes, fmt.Sprintf("clusters of OpenShift %s do not know ImageDigestMirrorSets; set Options.ICSP for ImageContentSourcePolicies, or Options.For to the version of the clusters", r.target.Version))
	}
	return nil
}

// withoutAliases leaves out the folders for other names of a mirror.
func withoutAliases(s *workspace.Session, folders map[string][]resources.File) error {
	all, err := s.AllManifestOptions()
	if err != nil {
		return err
	}
	for key, o := range all {
		if o.AliasOf != "" {
			delete(folders, s.ResourcesDir(key))
		}
	}
	return nil
}

// kustomize adds the files that apply the manifests in one step.
func (r *Manifests) kustomize(t *site.RegistryDestination, ca []byte, without map[string]string) error {
	own := map[string][]resources.File{}
	catalogs, err := resources.DefaultCatalogs(r.target)
	if err != nil {
		return err
	}
	trusted, err := resources.TrustedCA(t.Host, ca)
	if err != nil {
		return err
	}
	maps.Copy(own, catalogs)
	maps.Copy(own, trusted)
	files, applied, err := resources.Kustomize(r.files, own, without, r.target)
	if err != nil {
		return err
	}
	more, err := resources.Skeletons(t.Host)
	if err != nil {
		return err
	}
	r.applied, r.support = applied, elements.Sorted(slices.Values(append(files, more...)), func(a, b resources.File) int { return strings.Compare(a.Name, b.Name) })
	return nil
}
