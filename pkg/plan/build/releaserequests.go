package build

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// addRequests requests the payloads, all images that they name, and the image of graph data.
func (r platformReleases) addRequests(set *requestSet) (notes []string, err error) {
	for _, p := range r.payloads {
		more, err := r.addPayloadRequests(set, p)
		if err != nil {
			return nil, err
		}
		notes = append(notes, more...)
	}
	if err := r.addSampleRequests(set); err != nil {
		return nil, err
	}
	r.addGraphRequest(set)
	return notes, nil
}

func (r platformReleases) addPayloadRequests(set *requestSet, p selectedRelease) (notes []string, err error) {
	name := p.name()
	w := imageRequest{platforms: r.cfg.Platforms, position: r.cfg.Pos}
	w.kind, w.repo, w.tags, w.reasons = plan.ReleaseImage, plan.ReleaseRepository, []string{name}, []plan.Reason{{Release: name}}
	if err := set.addReference(p.entry.Source, w); err != nil {
		return nil, err
	}
	w.kind, w.repo = plan.ComponentImage, plan.ComponentRepository
	for _, c := range p.payload.Components {
		w.tags, w.reasons = nil, nil
		for _, part := range c.Names {
			w.tags = append(w.tags, name+"-"+part)
			w.reasons = append(w.reasons, plan.Reason{Release: name, Name: part})
		}
		if err := set.addReference(c.Ref, w); err != nil {
			return nil, fmt.Errorf("release %s: component %s: %w", name, c.Names[0], err)
		}
	}
	if !r.cfg.KubeVirtContainer {
		return nil, nil
	}
	disks, err := p.payload.KubeVirt()
	if err != nil {
		return nil, err
	}
	found := false
	w.kind, w.platforms = plan.BootImage, nil
	for _, arch := range slices.Sorted(maps.Keys(disks)) {
		if !usesArch(r.cfg, p.arch, arch) {
			continue
		}
		found = true
		tag := name + "-" + kubeVirtName
		if p.arch == release.Multi {
			tag += "-" + arch.Suffix()
		}
		w.tags, w.reasons = []string{tag}, []plan.Reason{{Release: name, Name: strings.TrimPrefix(tag, name+"-")}}
		if err := set.addReference(disks[arch], w); err != nil {
			return nil, fmt.Errorf("release %s: boot image for %s: %w", name, arch, err)
		}
	}
	if !found {
		notes = append(notes, fmt.Sprintf("release %s has no KubeVirt boot image for the mirrored architectures; kubeVirtContainer has no effect", name))
	}
	return notes, nil
}

// kubeVirtName is the name of the component that contains the disk image.
const kubeVirtName = "kube-virt-container"

// addGraphRequest requests the image of graph data.
func (r platformReleases) addGraphRequest(set *requestSet) {
	if r.graphData == nil {
		return
	}
	set.add(imageRequest{
		source: r.graphData.Base, digest: r.graphData.Digest, kind: plan.GraphImage, repo: r.graphData.Repository, tags: []string{r.graphData.Tag},
		reasons: []plan.Reason{{List: platformList}}, platforms: r.cfg.Platforms, position: r.cfg.Pos,
	})
}

// notesOnBlockedParts returns notes on releases that are mirrored without images that blockedImages matches.
func notesOnBlockedParts(blocked []plan.Blocked) (notes []string) {
	parts := map[string][]string{}
	for _, b := range blocked {
		for _, reason := range b.Reasons {
			if reason.Release != "" {
				parts[reason.Release] = append(parts[reason.Release], reason.Name)
			}
		}
	}
	for name, all := range parts {
		slices.Sort(all)
		notes = append(notes, fmt.Sprintf("release %s is mirrored without images that blockedImages matches: %s; clusters that need them cannot be installed with it or updated to it",
			name, shortList(all)))
	}
	return notes
}
