package plan

import (
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestCheckRewritten checks which plans with smaller indexes are refused.
func TestCheckRewritten(t *testing.T) {
	t.Parallel()
	original, index, child := digest.FromString("original"), digest.FromString("index"), digest.FromString("child")
	made := func() *Plan {
		p := &Plan{
			Kind: Kind, Version: Version, Name: "p",
			Images: []Image{{Source: "quay.io/a/b@" + string(original), Kind: BundleImage, Digest: index, RewrittenFrom: original, Repository: "a/b", Tags: []string{"v1"}, Size: 3}},
			Manifests: []Manifest{
				{Digest: index, MediaType: ocispec.MediaTypeImageIndex, Size: 1, Manifests: []digest.Digest{child}},
				{Digest: child, MediaType: ocispec.MediaTypeImageManifest, Size: 2},
			},
		}
		p.Manifests = inOrder(p.Manifests, compareManifests)
		p.Totals = p.Count()
		return p
	}
	fail.On(t, made().Check())
	if got := made().Rewritten(); len(got) != 1 || got[original] != index {
		t.Errorf("rewritten: %v", got)
	}
	for want, change := range map[string]func(*Plan){
		"has another digest":         func(p *Plan) { p.Images[0].RewrittenFrom = child },
		"is not a digest":            func(p *Plan) { p.Images[0].RewrittenFrom = "sha256:x" },
		"it was rewritten and keeps": func(p *Plan) { p.Images[0].NotRewritten = "reason" },
		"of kind \"component\"":      func(p *Plan) { p.Images[0].Kind = ComponentImage },
		"has a control character":    func(p *Plan) { p.Images[0].RewrittenFrom, p.Images[0].NotRewritten = "", "\x1b" },
		"is not a complete index":    func(p *Plan) { p.Images[0].Digest, p.Images[0].Size = child, 2 },
		string(index) + " is not a complete": func(p *Plan) {
			for i := range p.Manifests {
				p.Manifests[i].Sparse = p.Manifests[i].Digest == index
			}
		},
		"was rewritten in two ways": func(p *Plan) {
			second := p.Images[0]
			second.Source, second.Repository, second.Digest, second.Size = "quay.io/a/c:v1", "a/c", child, 2
			p.Images = append(p.Images, second)
			p.Totals = p.Count()
		},
	} {
		p := made()
		change(p)
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
