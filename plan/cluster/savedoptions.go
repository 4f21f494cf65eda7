package cluster

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// Manifests returns the options that are set.
func (o *ResourcesOptions) Manifests() ManifestOptions {
	return ManifestOptions{Options: resources.Options{
		MirrorSourcePolicy: o.MirrorSourcePolicy, ImagePolicies: o.ImagePolicies, ImagePolicyNamespace: o.ImagePolicyNamespace, ICSP: o.ICSP != nil && *o.ICSP,
	}, Target: o.For}
}

// Over returns the options of the last run, changed by those that are set. A saved option that contradicts
// one that is set does not apply.
func (o *ResourcesOptions) Over(saved state.ManifestOptions) (ManifestOptions, error) {
	opts := o.Manifests()
	opts.Target = cmp.Or(opts.Target, saved.For)
	target, err := resources.ParseTarget(opts.Target)
	if err != nil { // chooseTarget returns it
		target = resources.Target{}
	}
	switch {
	case o.ICSP != nil && !*o.ICSP && beforeMirrorSets(target):
		return opts, env.InputHint("set Options.For to OpenShift 4.13 or later, or leave Options.ICSP out", "clusters of OpenShift %s have only ImageContentSourcePolicies", target.Version)
	case o.ICSP == nil && o.MirrorSourcePolicy == "":
		opts.ICSP = saved.ICSP && !otherClusters(o.For, saved.For)
	}
	if o.MirrorSourcePolicy == "" && !opts.ICSP && !beforeMirrorSets(target) {
		opts.MirrorSourcePolicy = saved.MirrorSourcePolicy
	}
	opts.ImagePolicies = cmp.Or(opts.ImagePolicies, saved.ImagePolicies)
	opts.ImagePolicyNamespace = cmp.Or(opts.ImagePolicyNamespace, saved.ImagePolicyNamespace)
	return opts, opts.Check()
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
func access(s *workspace.Session, t *site.RegistryDestination) (mirrorAccess, error) {
	if t.Offline && s.Env.CertDir == "" && s.Env.Destination.CertDir == "" && !s.Env.Destination.PlainHTTP {
		saved, err := s.ManifestOptions(cmp.Or(t.AliasOf, t.Key()))
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
	return mirrorAccess{s.Env.Destination.PlainHTTP || t.Client.UsesHTTP(t.Host), string(ca)}, nil
}

// caFile returns the text of resources.CAFile, which is "" if the user put one into the folder or if the CA
// is unknown, and what Kustomize has to leave out without it.
func caFile(s *workspace.Session, t *site.RegistryDestination, r *Manifests) (ca []byte, without map[string]string, err error) {
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
