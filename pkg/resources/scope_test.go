package resources

import (
	"fmt"
	"math/rand/v2"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// ref parses a reference. "#x" at its end is replaced with the digest of "x".
func ref(t testing.TB, s string) reference.Reference {
	t.Helper()
	name, seed, byDigest := strings.Cut(s, "#")
	r, err := reference.Parse(name)
	fail.On(t, err)
	if byDigest {
		r.Digest = digest.FromString(seed)
	}
	return r
}

// img returns an image of kind operator from "source -> mirror".
func img(t testing.TB, s string) Image {
	t.Helper()
	source, mirror, _ := strings.Cut(s, " -> ")
	mirror, kind, ok := strings.Cut(mirror, " ")
	if !ok {
		kind = "operator"
	}
	return Image{Source: ref(t, source), Mirror: ref(t, mirror), Kind: kind}
}

// rules returns the entries of the mirror sets: "idms-operator source -> mirrors".
func rules(t *testing.T, files []File) []string {
	t.Helper()
	var list []string
	for _, f := range files {
		set, _, isSet := strings.Cut(f.Name, "-0.yaml")
		if !isSet {
			continue
		}
		var source string
		for line := range strings.SplitSeq(string(f.Text), "\n") {
			if s, ok := strings.CutPrefix(line, "  - source: "); ok {
				source = s
				list = append(list, set+" "+source+" ->")
			}
			if m, ok := strings.CutPrefix(line, "    - "); ok {
				list[len(list)-1] += " " + m
			}
		}
	}
	return list
}

func TestScopes(t *testing.T) {
	for _, tc := range []struct {
		name   string
		policy string
		images []string
		want   []string
		lost   []string
	}{
		{
			name: "namespaces, one for many repositories",
			images: []string{"quay.io/org/a#1 -> R:5000/p/org/a#1", "quay.io/org/b#2 -> R:5000/p/org/b#2",
				"quay.io/org/deep/c#3 -> R:5000/p/org/deep/c#3", "registry.example:8443/x/y:v1 -> R:5000/p/x/y:v1"},
			want: []string{"idms-operator quay.io/org -> R:5000/p/org", "idms-operator quay.io/org/deep -> R:5000/p/org/deep",
				"itms-operator registry.example:8443/x -> R:5000/p/x"},
		},
		{
			name:   "tag and digest is a pull by digest",
			images: []string{"quay.io/org/a:v1#1 -> R/org/a:v1#1", "quay.io/org/a:v1#1 -> R/org/a:v1#1"},
			want:   []string{"idms-operator quay.io/org -> R/org"},
		},
		{
			name:   "no tag means latest",
			images: []string{"quay.io/org/a -> R/org/a:latest"},
			want:   []string{"itms-operator quay.io/org -> R/org"},
		},
		{
			name:   "Docker's names are written out",
			images: []string{"centos:7 -> R/library/centos:7"},
			want:   []string{"itms-operator docker.io/library -> R/library"},
		},
		{
			name:   "a single component never captures the host",
			images: []string{"registry.k8s.io/pause:3.9 -> R/pause:3.9"},
			want:   []string{"itms-operator registry.k8s.io/pause -> R/pause"},
		},
		{
			name:   "hosts with equal paths",
			images: []string{"quay.io/a/b#1 -> R/a/b#1", "ghcr.io/a/b#2 -> R/a/b#2"},
			want:   []string{"idms-operator ghcr.io/a -> R/a", "idms-operator quay.io/a -> R/a"},
		},
		{
			name:   "one repository of a namespace has another mirror",
			images: []string{"quay.io/org/a#1 -> R/org/a#1", "quay.io/org/b#2 -> R/org/b#2", "quay.io/org/c#3 -> R/mine/renamed#3 generic"},
			want:   []string{"idms-generic quay.io/org/c -> R/mine/renamed", "idms-operator quay.io/org -> R/org"},
		},
		{
			name:   "one repository of a namespace under another prefix: most of them decide",
			images: []string{"quay.io/org/a#1 -> R/org/a#1", "quay.io/org/b#2 -> R/org/b#2", "quay.io/org/c#3 -> R/z/org/c#3", "quay.io/org/d#4 -> R/q/org/d#4"},
			want:   []string{"idms-operator quay.io/org -> R/org", "idms-operator quay.io/org/c -> R/z/org/c", "idms-operator quay.io/org/d -> R/q/org/d"},
		},
		{
			name:   "max-nested-paths",
			images: []string{"quay.io/a/b/c/d#1 -> R/a/b-c-d#1", "quay.io/a/b/c/e#2 -> R/a/b-c-e#2", "quay.io/a/b#3 -> R/a/b#3"},
			want:   []string{"idms-operator quay.io/a -> R/a", "idms-operator quay.io/a/b/c/d -> R/a/b-c-d", "idms-operator quay.io/a/b/c/e -> R/a/b-c-e"},
		},
		{
			name:   "a suffix that is no component is no namespace",
			images: []string{"quay.io/org/a#1 -> R/xorg/a#1"},
			want:   []string{"idms-operator quay.io/org/a -> R/xorg/a"},
		},
		{
			// The entry of the tag pull is longer, so pulls by digest use it too.
			name:   "tags have another mirror than digests",
			images: []string{"quay.io/org/a#1 -> R/org/a#1", "quay.io/org/b#2 -> R/org/b#2", "quay.io/org/a:v1 -> R/mine/a:v1 generic"},
			want:   []string{"idms-operator quay.io/org -> R/org", "idms-operator quay.io/org/a -> R/org/a", "itms-generic quay.io/org/a -> R/mine/a"},
		},
		{
			name:   "by tag and by digest, two kinds",
			images: []string{"quay.io/org/a#1 -> R/org/a#1", "quay.io/org/a:v1 -> R/org/a:v1 generic", "quay.io/org/b#1 -> R/org/b#1 generic"},
			want:   []string{"idms-generic quay.io/org -> R/org", "idms-operator quay.io/org -> R/org", "itms-generic quay.io/org -> R/org"},
		},
		{
			name:   "a repository that is a namespace too",
			images: []string{"ghcr.io/org/app#1 -> R/org/app#1", "ghcr.io/org/app/sub#2 -> R/org/app/sub#2", "ghcr.io/org/app/sub:v2 -> R/org/app/sub:v2"},
			want: []string{"idms-operator ghcr.io/org -> R/org", "idms-operator ghcr.io/org/app/sub -> R/org/app/sub",
				"itms-operator ghcr.io/org/app/sub -> R/org/app/sub"},
		},
		{
			name:   "a repository that is also a namespace, with another mirror",
			images: []string{"ghcr.io/org/app#1 -> R/mine/app#1", "ghcr.io/org/app/sub#2 -> R/org/app/sub#2"},
			want:   []string{"idms-operator ghcr.io/org/app -> R/mine/app", "idms-operator ghcr.io/org/app/sub -> R/org/app/sub"},
		},
		{
			name:   "two places",
			images: []string{"quay.io/org/a#1 -> R/org/a#1", "quay.io/org/a#1 -> R/mine/a#1 generic"},
			want:   []string{"idms-generic quay.io/org/a -> R/mine/a R/org/a", "idms-operator quay.io/org/a -> R/mine/a R/org/a"},
		},
		{
			name:   "what is the mirror already needs no entry",
			images: []string{"R/org/a#1 -> R/org/a#1", "R/org/a:v1 -> R/org/a:v1"},
		},
		{
			name: "what stays in the mirror is not captured", policy: "NeverContactSource",
			images: []string{"R/org/a#1 -> R/org/a#1", "R/org/b#2 -> R/p/org/b#2", "R/org/deep/c#3 -> R/org/deep/c#3"},
			want:   []string{"idms-operator R/org/b -> R/p/org/b"},
		},
		{
			name: "a place in the mirror is not blocked", policy: "NeverContactSource",
			images: []string{"R/org/a#1 -> R/org/mirror/org/a#1", "R/org/b#2 -> R/org/mirror/org/b#2"},
			want:   []string{"idms-operator R/org/a -> R/org/mirror/org/a", "idms-operator R/org/b -> R/org/mirror/org/b"},
		},
		{
			name: "a place below its own source is blocked", policy: "NeverContactSource",
			images: []string{"R/org/a#1 -> R/org/a/copy#1"},
			want:   []string{"idms-operator R/org/a -> R/org/a/copy"},
			lost:   []string{"R/org/a@" + digest.FromString("1").String()},
		},
		{
			name:   "another tag in the mirror",
			images: []string{"quay.io/org/a:v1 -> R/org/a:v2", "quay.io/org/b:v1 -> R/org/b:v1"},
			want:   []string{"itms-operator quay.io/org -> R/org"},
			lost:   []string{"quay.io/org/a:v1"},
		},
		{
			name:   "another tag in the mirror, but a copy with the same",
			images: []string{"quay.io/org/a:v1 -> R/org/a:v2", "quay.io/org/a:v1 -> R/org/a:v1"},
			want:   []string{"itms-operator quay.io/org -> R/org"},
		},
		{
			name:   "by tag, but without a tag in the mirror",
			images: []string{"quay.io/org/a:v1 -> R/org/a#1"},
			lost:   []string{"quay.io/org/a:v1"},
		},
		{
			name:   "another digest in the mirror",
			images: []string{"quay.io/org/a#1 -> R/org/a#2"},
			lost:   []string{"quay.io/org/a@" + digest.FromString("1").String()},
		},
		{
			name: "a tag that is another image in a place asked first",
			images: []string{"quay.io/a/b:v1 -> R/a/b:v1", "quay.io/a/b:v2 -> R/x/b:v2", "ghcr.io/a/b:v2 -> R/a/b:v2",
				"quay.io/a/c:v1 -> R/a/c:v1"},
			want: []string{"itms-operator ghcr.io/a -> R/a", "itms-operator quay.io/a -> R/a", "itms-operator quay.io/a/b -> R/a/b R/x/b"},
			lost: []string{"quay.io/a/b:v2"},
		},
		{
			name:   "hosts that no CRD accepts",
			images: []string{"[::1]:5000/a/b#1 -> R/a/b#1", "quay.io/a/c#2 -> [::1]:5000/a/c#2"},
			lost:   []string{"[::1]:5000/a/b@" + digest.FromString("1").String(), "quay.io/a/c@" + digest.FromString("2").String()},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			images := elements.Map(tc.images, func(s string) Image { return img(t, strings.ReplaceAll(s, "R", "mirror.local")) })
			for i := range tc.want {
				tc.want[i] = strings.ReplaceAll(tc.want[i], "R", "mirror.local")
			}
			for i := range tc.lost {
				tc.lost[i] = strings.ReplaceAll(tc.lost[i], "R", "mirror.local")
			}
			files, notes, err := Build(images, nil, Options{MirrorSourcePolicy: tc.policy})
			fail.On(t, err)
			fail.Diff(t, tc.want, rules(t, files))
			lost := checkPulls(t, images, files, notes)
			if diff := cmp.Diff(tc.lost, lost); diff != "" {
				t.Errorf("pulls that end nowhere (-want +got):\n%s\nnotes: %q", diff, notes)
			}
		})
	}
}

// TestScopesRandom mirrors random images to destinations with a prefix, flattened paths or target
// repositories, and pulls each of them.
func TestScopesRandom(t *testing.T) {
	hosts := []string{"quay.io", "ghcr.io", "reg.example:5000", "mirror.local:5000"}
	words := []string{"a", "b", "org"}
	lost := 0
	for seed := range uint64(600) {
		rng := rand.New(rand.NewPCG(seed, 1))
		pick := func(list []string) string { return list[rng.IntN(len(list))] }
		anyPath := func() string {
			p := pick(words)
			for range rng.IntN(4) {
				p = path.Join(p, pick(words))
			}
			return p
		}
		mirror := path.Join("mirror.local:5000", []string{"", "p", "org"}[rng.IntN(3)])
		onlyDigests := rng.IntN(2) == 0
		policy := []string{"", "AllowContactingSource", "NeverContactSource"}[rng.IntN(3)]
		taken := map[string]string{}
		var images []Image
		for i := range 1 + rng.IntN(12) {
			source := reference.Reference{Host: pick(hosts), Path: anyPath()}
			target := source.Path
			switch rng.IntN(6) {
			case 0: // targetRepo
				target = anyPath()
			case 1: // --max-nested-paths 2
				if first, rest, ok := strings.Cut(target, "/"); ok {
					target = first + "/" + strings.ReplaceAll(rest, "/", "-")
				}
			}
			in := ref(t, mirror+"/"+target)
			if source.Host == "mirror.local:5000" && rng.IntN(2) == 0 {
				in = source
			}
			if onlyDigests || rng.IntN(2) == 0 {
				source.Digest = digest.FromString(fmt.Sprint(i))
				in.Digest = source.Digest
				in.Tag = "sha256-" + source.Digest.Encoded()
			} else {
				source.Tag = fmt.Sprintf("v%d", rng.IntN(2))
				in.Tag = source.Tag
				// A plan refuses two sources with the same destination.
				if other := taken[in.String()]; other != "" && other != source.Name() {
					continue
				}
				taken[in.String()] = source.Name()
			}
			images = append(images, Image{Source: source, Mirror: in, Kind: []string{"operator", "generic"}[rng.IntN(2)]})
		}
		files, notes, err := Build(images, nil, Options{MirrorSourcePolicy: policy})
		fail.On(t, err)
		gone := checkPulls(t, images, files, notes)
		lost += len(gone)
		if onlyDigests && policy != neverContactSource && len(gone) > 0 {
			t.Errorf("pulls by digest end nowhere: %q", gone)
		}
		if t.Failed() {
			t.Fatalf("seed %d, policy %q: %v", seed, policy, images)
		}
	}
	t.Logf("%d pulls ended nowhere and were noted", lost)
}
