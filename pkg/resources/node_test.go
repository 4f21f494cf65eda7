package resources

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// A node models how a node of a cluster pulls images: the manifests are merged into one table, as
// the machine config operator does, and pulls are resolved with it by the rules of
// containers-registries.conf(5). It is written from those rules and shares no code with the
// package.
type node map[string]*registry

type registry struct {
	tag, digest []string
	blocked     bool
}

// newNode reads the mirror sets from files.
func newNode(t *testing.T, files []File) node {
	t.Helper()
	type rule struct {
		Source             string
		Mirrors            []string
		MirrorSourcePolicy string
	}
	n := node{}
	policies := map[string]string{}
	for _, f := range files {
		var object struct {
			Kind string
			Spec struct{ ImageDigestMirrors, ImageTagMirrors []rule }
		}
		if err := yaml.Unmarshal(f.Text, &object); err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		add := func(r rule, pick func(*registry) *[]string) {
			if p, ok := policies[r.Source]; ok && p != r.MirrorSourcePolicy {
				t.Errorf("%s: policies of source %s conflict, the machine config operator refuses that", f.Name, r.Source)
			}
			policies[r.Source] = r.MirrorSourcePolicy
			if n[r.Source] == nil {
				n[r.Source] = &registry{}
			}
			n[r.Source].blocked = r.MirrorSourcePolicy == "NeverContactSource"
			have := pick(n[r.Source])
			if *have != nil && !slices.Equal(*have, r.Mirrors) {
				t.Errorf("%s: source %s has mirrors %q here and %q elsewhere; their order after merging is undefined", f.Name, r.Source, r.Mirrors, *have)
			}
			if len(r.Mirrors) == 0 || slices.Contains(r.Mirrors, r.Source) || len(r.Mirrors) != len(slices.Compact(slices.Sorted(slices.Values(r.Mirrors)))) {
				t.Errorf("%s: source %s has mirrors %q", f.Name, r.Source, r.Mirrors)
			}
			*have = r.Mirrors
		}
		switch object.Kind {
		case "ImageDigestMirrorSet":
			for _, r := range object.Spec.ImageDigestMirrors {
				add(r, func(reg *registry) *[]string { return &reg.digest })
			}
		case "ImageTagMirrorSet":
			for _, r := range object.Spec.ImageTagMirrors {
				add(r, func(reg *registry) *[]string { return &reg.tag })
			}
		}
	}
	return n
}

// find returns the entry with the longest prefix of name.
func (n node) find(name string) (prefix string, r *registry) {
	for p, candidate := range n {
		if (name == p || strings.HasPrefix(name, p+"/")) && len(p) > len(prefix) {
			prefix, r = p, candidate
		}
	}
	return prefix, r
}

// pull returns what the node gets for a name and a tag or digest. stock maps "name:tag" and
// "name@digest" to the content of the mirror. No other registry is available.
func (n node) pull(name, id string, stock map[string]string) (string, bool) {
	byDigest := strings.Contains(id, ":")
	locations := []string{name}
	if prefix, r := n.find(name); r != nil {
		mirrors := r.tag
		if byDigest {
			mirrors = r.digest
		}
		locations = nil
		locations = append(locations, elements.Map(mirrors, func(m string) string { return m + name[len(prefix):] })...)
		locations = append(locations, name)
	}
	for _, l := range locations {
		if _, r := n.find(l); r != nil && r.blocked {
			continue
		}
		separator := ":"
		if byDigest {
			separator = "@"
		}
		if got, ok := stock[l+separator+id]; ok {
			return got, true
		}
	}
	return "", false
}

// stockOf returns the content of the mirror. The content of an image pulled by digest is the
// digest; of an image pulled by tag, it is "source of …", different for each source.
func stockOf(images []Image) map[string]string {
	stock := map[string]string{}
	for _, img := range images {
		if d := cmp.Or(img.Mirror.Digest, img.Source.Digest); d != "" {
			stock[img.Mirror.Name()+"@"+d.String()] = d.String()
		}
		if img.Mirror.Tag != "" {
			stock[img.Mirror.Name()+":"+img.Mirror.Tag] = wanted(img)
		}
	}
	return stock
}

// wanted returns the expected content for a pull of img.Source.
func wanted(img Image) string {
	if img.Source.Digest != "" {
		return img.Source.Digest.String()
	}
	return "source of " + img.Source.Name() + ":" + cmp.Or(img.Source.Tag, "latest")
}

// checkPulls checks that for every image, either the node finds it or a note names it, but not
// both. It returns the pulls that fail.
func checkPulls(t *testing.T, images []Image, files []File, notes []string) (lost []string) {
	t.Helper()
	n, stock := newNode(t, files), stockOf(images)
	for _, img := range images {
		id := cmp.Or(img.Source.Identifier(), "latest")
		separator := ":"
		if img.Source.Digest != "" {
			separator = "@"
		}
		title := img.Source.Name() + separator + id
		got, ok := n.pull(img.Source.Name(), id, stock)
		found := ok && got == wanted(img)
		noted := slices.ContainsFunc(notes, func(note string) bool {
			return strings.HasPrefix(note, fmt.Sprintf("the cluster will not find %s in the mirror:", title))
		})
		if found == noted {
			t.Errorf("pull of %s: found %v (got %q, want %q from %s), noted %v", title, found, got, wanted(img), img.Mirror, noted)
		}
		if !found && !slices.Contains(lost, title) {
			lost = append(lost, title)
		}
	}
	return lost
}
