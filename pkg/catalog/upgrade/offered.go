package upgrade

import (
	"fmt"
	"slices"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
)

// An Offer is a bundle that a new installation of a package gets, and that does not fit the clusters.
type Offer struct {
	Catalog string `json:"catalog"`
	Package string `json:"package"`
	Channel string `json:"channel"`
	Bundle  string `json:"bundle"`
	Version string `json:"version"`
	// Blocks are why it does not fit.
	Blocks []Block `json:"blocks"`
}

// Offers returns the heads of the default channels of catalogs that do not fit clusters of a version of
// OpenShift, by catalog and package: they need a newer Kubernetes or an API that it does not have, or they
// keep the cluster from the version. Packages of operators are left out, since Check has their updates.
func Offers(catalogs []Catalog, operators []Result, clusterVersion string) ([]Offer, error) {
	c, err := clusterOf(clusterVersion)
	if err != nil || !c.known {
		return nil, err
	}
	all := []Offer{}
	for _, k := range catalogs {
		for _, p := range k.Kept.Packages {
			if slices.ContainsFunc(operators, func(r Result) bool { return r.Package == p.Name }) {
				continue
			}
			ch := p.Channel(p.DefaultChannel)
			if ch == nil {
				continue
			}
			for _, head := range graph.Inspect(ch.Entries).Heads {
				b := p.Bundle(head)
				if b == nil {
					continue
				}
				if blocks := c.unfit(factsOf(b)); len(blocks) > 0 {
					all = append(all, Offer{k.Name, p.Name, ch.Name, b.Name, b.Version.String(), blocks})
				}
			}
		}
	}
	return all, nil
}

// unfit returns why a bundle does not fit the cluster.
func (c cluster) unfit(f facts) (all []Block) {
	if b, ok := c.tooOld(f, graph.Classic); ok {
		all = append(all, b)
	}
	all = append(all, c.missingAPIs(f, graph.Classic)...)
	if max, ok := c.exceeds(f.max); ok {
		all = append(all, Block{Kind: MaxOpenShift, Message: fmt.Sprintf("%s supports OpenShift up to %s (olm.maxOpenShiftVersion): a cluster with it is not updated to %s", f.name, max, c)})
	}
	for _, crd := range f.CRDs {
		if crd.APIVersion == "apiextensions.k8s.io/v1beta1" && c.openshift.GTE(semver.Version{Major: 4, Minor: 9}) {
			all = append(all, oldDefinition(f.name, crd.Name))
		}
	}
	return all
}

// oldDefinition is the block of a bundle with a CustomResourceDefinition of v1beta1.
func oldDefinition(bundle, definition string) Block {
	return Block{Kind: OldCRD, Message: fmt.Sprintf("%s has the CustomResourceDefinition %s as v1beta1, which OpenShift 4.9 and later do not install", bundle, definition)}
}
