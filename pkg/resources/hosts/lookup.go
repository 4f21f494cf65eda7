package hosts

import (
	"fmt"
	"slices"
	"strings"
)

// A group of runtimes can express the same.
type group struct {
	names  string
	reason string
	// lost are the images that it does not find, with the reason; images are those worth a note.
	lost, images []string
}

// maxNamed is how many images a note names.
const maxNamed = 3

// lookUpAll looks up every pull as the runtimes do that are configured by registry; Talos finds what containerd
// finds, except for tags that it asks more mirrors for. It returns the list of
// what they do not find, nil if there is nothing, and notes about images that such a machine may need:
// the images of platform releases run in no other cluster.
func lookUpAll(pulls []pull, registries []registry, s stock) (list []byte, notes []string, err error) {
	containerd := &group{names: "containerd, kind and Talos", reason: "they can only add a prefix to the names of a registry's repositories"}
	talos := &group{names: "Talos", reason: "it asks every mirror of a registry for tags"}
	k3s := &group{names: "K3s and RKE2", reason: "they rewrite each name of a repository in one way"}
	for _, r := range registries {
		rewrite, err := r.rewrite()
		if err != nil {
			return nil, nil, fmt.Errorf("rewriting the repositories of %s: %w", r.host, err)
		}
		for _, p := range pulls {
			if p.host == r.host {
				if containerd.lookUp(p, r.tried(p), s) {
					talos.lookUp(p, r.all(p), s)
				}
				k3s.lookUp(p, []string{rewrite(p.path)}, s)
			}
		}
	}
	var b strings.Builder
	for _, g := range []*group{containerd, talos, k3s} {
		if len(g.lost) == 0 {
			continue
		}
		fmt.Fprintf(&b, "# Not found in the mirror by %s: %s.\n", g.names, g.reason)
		for _, line := range g.lost {
			b.WriteString(line + "\n")
		}
		if n := len(g.images); n > 0 {
			named, more := slices.Clip(g.images[:min(n, maxNamed)]), ""
			if n > maxNamed {
				more = fmt.Sprintf(" and %d more", n-maxNamed)
			}
			notes = append(notes, fmt.Sprintf("%s will not find %s%s in the mirror: %s; hosts/not-redirected.txt lists all, request them by their names in the mirror", g.names, strings.Join(named, ", "), more, g.reason))
		}
	}
	if b.Len() == 0 {
		return nil, nil, nil
	}
	return []byte(b.String()), notes, nil
}

// lookUp reports whether the runtimes find p, and lists it otherwise.
func (g *group) lookUp(p pull, repositories []string, s stock) bool {
	fault := p.lookUp(repositories, s)
	if fault == "" {
		return true
	}
	g.lost = append(g.lost, fmt.Sprintf("%s is in %s: %s", p, strings.Join(p.mirrors, ", "), fault))
	if !p.platform {
		g.images = append(g.images, p.String())
	}
	return false
}
