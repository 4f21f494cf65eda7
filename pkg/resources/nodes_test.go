package resources

import (
	"fmt"
	"strings"
	"testing"
)

// TestNodes has the cases that the machine-config operator distinguishes.
func TestNodes(t *testing.T) {
	set := func(kind, field, rules string) File {
		return File{"x.yaml", fmt.Appendf(nil, "kind: %s\nmetadata: {name: a}\nspec:\n  %s:\n%s", kind, field, rules)}
	}
	digests := func(rules string) File { return set("ImageDigestMirrorSet", "imageDigestMirrors", rules) }
	tags := func(rules string) File { return set("ImageTagMirrorSet", "imageTagMirrors", rules) }
	policy := func(key string) File {
		return File{"p.yaml", []byte("kind: ClusterImagePolicy\nmetadata: {name: a}\nspec: {key: " + key + "}\n")}
	}
	const (
		a       = "  - {source: quay.io/a, mirrors: [m/a]}\n"
		a2      = "  - {source: quay.io/a, mirrors: [m/a, n/a]}\n"
		a2moved = "  - {source: quay.io/a, mirrors: [n/a, m/a]}\n"
		b       = "  - {source: quay.io/b, mirrors: [m/b]}\n"
		never   = "  - {source: quay.io/a, mirrors: [m/a], mirrorSourcePolicy: NeverContactSource}\n"
	)
	for name, tt := range map[string]struct {
		before, after []File
		want, reason  string
	}{
		"nothing":               {nil, nil, NodesUnaffected, ""},
		"the same":              {[]File{digests(a)}, []File{digests(a)}, NodesUnaffected, ""},
		"first digests":         {nil, []File{digests(a)}, NodesReload, ""},
		"first policy":          {nil, []File{digests(never)}, NodesReload, ""},
		"another source":        {[]File{digests(a)}, []File{digests(a + b)}, NodesReload, ""},
		"another mirror":        {[]File{digests(a)}, []File{digests(a2)}, NodesReload, ""},
		"another order":         {[]File{digests(a2)}, []File{digests(a2moved)}, NodesReload, ""},
		"a source is removed":   {[]File{digests(a + b)}, []File{digests(a)}, NodesDrain, "quay.io/b has no mirrors"},
		"a mirror is removed":   {[]File{digests(a2)}, []File{digests(a)}, NodesDrain, "no mirror n/a"},
		"blocked":               {[]File{digests(a)}, []File{digests(never)}, NodesDrain, "policy of quay.io/a"},
		"first tags":            {nil, []File{tags(a)}, NodesDrain, "quay.io/a has mirrors for tags"},
		"tags are added":        {[]File{digests(a)}, []File{digests(a), tags(a)}, NodesDrain, "quay.io/a has mirrors for tags"},
		"tags stay":             {[]File{tags(a)}, []File{tags(a)}, NodesUnaffected, ""},
		"digests beside tags":   {[]File{tags(a)}, []File{digests(b), tags(a)}, NodesReload, ""},
		"digests in tags":       {[]File{tags(a)}, []File{digests(a), tags(a)}, NodesReload, ""},
		"digests change, both":  {[]File{digests(a), tags(a)}, []File{digests(a2), tags(a)}, NodesDrain, "quay.io/a has mirrors for tags"},
		"ICSP becomes IDMS":     {[]File{set("ImageContentSourcePolicy", "repositoryDigestMirrors", a)}, []File{digests(a)}, NodesUnaffected, ""},
		"a policy":              {[]File{digests(a)}, []File{digests(a), policy("x")}, NodesReload, ""},
		"a changed policy":      {[]File{policy("x")}, []File{policy("y")}, NodesReload, ""},
		"other objects":         {nil, []File{{"c.yaml", []byte("kind: CatalogSource\nmetadata: {name: a}\n")}}, NodesUnaffected, ""},
		"what users made of it": {[]File{{"x.yaml", []byte("}")}}, []File{digests(a)}, NodesReload, ""},
		"copies in a component": {[]File{digests(a)}, []File{digests(a), digests(a)}, NodesUnaffected, ""},
	} {
		got := Nodes(tt.before, tt.after)
		if got.Effect != tt.want || !strings.Contains(got.Reason, tt.reason) || (got.Reason != "") != (tt.want == NodesDrain) {
			t.Errorf("%s: %+v, want %s %q", name, got, tt.want, tt.reason)
		}
	}
}
