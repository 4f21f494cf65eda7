package gantry

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// manifests returns the options that are set.
func (o *ResourcesOptions) manifests() manifestOptions {
	return manifestOptions{Options: resources.Options{
		MirrorSourcePolicy: o.MirrorSourcePolicy, ImagePolicies: o.ImagePolicies, ImagePolicyNamespace: o.ImagePolicyNamespace, ICSP: o.ICSP != nil && *o.ICSP,
	}, target: o.For}
}

// manifestOptions returns how the cluster resources of a run are written. t is nil if they are for no registry.
func (s *Session) manifestOptions(o *MirrorOptions, t *RegistryDestination) (manifestOptions, error) {
	if o.again == nil {
		return o.manifests(), nil
	}
	saved, err := s.ManifestOptions(t.Key())
	if err != nil {
		return manifestOptions{}, err
	}
	t.aliasOf = saved.AliasOf
	return o.again.over(saved)
}

// over returns the options of the last run, changed by those that are set. A saved option that contradicts
// one that is set does not apply.
func (o *ResourcesOptions) over(saved state.ManifestOptions) (manifestOptions, error) {
	opts := o.manifests()
	opts.target = cmp.Or(opts.target, saved.For)
	target, err := resources.ParseTarget(opts.target)
	if err != nil { // chooseTarget returns it
		target = resources.Target{}
	}
	switch {
	case o.ICSP != nil && !*o.ICSP && beforeMirrorSets(target):
		return opts, inputHint("set Options.For to OpenShift 4.13 or later, or leave Options.ICSP out", "clusters of OpenShift %s have only ImageContentSourcePolicies", target.Version)
	case o.ICSP == nil && o.MirrorSourcePolicy == "":
		opts.ICSP = saved.ICSP && !otherClusters(o.For, saved.For)
	}
	if o.MirrorSourcePolicy == "" && !opts.ICSP && !beforeMirrorSets(target) {
		opts.MirrorSourcePolicy = saved.MirrorSourcePolicy
	}
	opts.ImagePolicies = cmp.Or(opts.ImagePolicies, saved.ImagePolicies)
	opts.ImagePolicyNamespace = cmp.Or(opts.ImagePolicyNamespace, saved.ImagePolicyNamespace)
	return opts, opts.check()
}

// otherClusters reports whether given names a version of OpenShift, or another platform, that saved does
// not. Their version decides about ImageContentSourcePolicies.
func otherClusters(given, saved string) bool {
	now, err := resources.ParseTarget(given)
	if err != nil || !now.Kubernetes && now.Version == (resources.OpenShiftVersion{}) {
		return false
	}
	before, err := resources.ParseTarget(saved)
	return err != nil || now.Kubernetes != before.Kubernetes || now.Version != before.Version
}

// A mirrorAccess says how clusters and machines connect to a mirror.
type mirrorAccess struct {
	plainHTTP bool
	ca        string // certificates as PEM, without private keys
}

// access returns how clusters connect to a mirror: as this run does, by plain HTTP also without Options if the mirror
// does not support TLS. A run that does not connect to it, and
// that has no options for it, uses those of the last run.
func (s *Session) access(t *RegistryDestination) (mirrorAccess, error) {
	if t.offline && s.env.CertDir == "" && s.env.Destination.CertDir == "" && !s.env.Destination.PlainHTTP {
		saved, err := s.ManifestOptions(cmp.Or(t.aliasOf, t.Key()))
		if err != nil {
			return mirrorAccess{}, err
		}
		if saved.PlainHTTP || saved.CA != "" {
			return mirrorAccess{saved.PlainHTTP, saved.CA}, nil
		}
	}
	ca, err := t.Client.Authorities(t.Host)
	if err != nil {
		return mirrorAccess{}, advice.Wrap(advice.Input, err, "")
	}
	return mirrorAccess{s.env.Destination.PlainHTTP || t.Client.UsesHTTP(t.Host), string(ca)}, nil
}

// caFile returns the text of resources.CAFile, which is "" if the user put one into the folder or if the CA
// is unknown, and what Kustomize has to leave out without it.
func (s *Session) caFile(t *RegistryDestination, r *clusterResources) (ca []byte, without map[string]string, err error) {
	listed, err := s.ListedResources(t.Key())
	if err != nil {
		return nil, nil, err
	}
	mine := slices.ContainsFunc(listed, func(name string) bool { return strings.HasSuffix(name, "/"+resources.CAFile) })
	found, err := s.HasResource(t.Key(), resources.CAFile)
	switch {
	case err != nil:
		return nil, nil, err
	case found && !mine:
		return nil, nil, nil
	case r.access.ca == "":
		return nil, resources.WithoutCA(), nil
	}
	return []byte(r.access.ca), nil, nil
}
