package cluster

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/mirror/site"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/pkg/state"
	"github.com/gantry-mirror/gantry/pkg/workspace"
	"github.com/gantry-mirror/gantry/plan/trust"
)

// ManifestOptions say how cluster resources are written.
type ManifestOptions struct {
	resources.Options
	// Target is MirrorOptions.For, or ResourcesOptions.For; "" keeps the one of the workspace.
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

// CheckFor returns an error if the value of MirrorOptions.For is invalid, or contradicts the other options.
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
		var versions []string
		for _, one := range r.all.Releases {
			versions = append(versions, one.Version)
		}
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
	for _, write := range []func() (map[string][]resources.File, error){
		func() (map[string][]resources.File, error) { return resources.DefaultCatalogs(r.target) },
		func() (map[string][]resources.File, error) { return resources.TrustedCA(t.Host, ca) },
	} {
		more, err := write()
		if err != nil {
			return err
		}
		for name, files := range more {
			own[name] = files
		}
	}
	files, applied, err := resources.Kustomize(r.files, own, without, r.target)
	if err != nil {
		return err
	}
	more, err := resources.Skeletons(t.Host)
	if err != nil {
		return err
	}
	r.applied, r.support = applied, slices.SortedFunc(slices.Values(append(files, more...)), func(a, b resources.File) int { return strings.Compare(a.Name, b.Name) })
	return nil
}
