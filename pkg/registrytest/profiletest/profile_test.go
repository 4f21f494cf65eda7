package profiletest

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/fail"
	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestServer checks that a registry without traits follows the specification: what is pushed can be pulled and is listed,
// and what was deleted is gone.
func TestServer(t *testing.T) {
	t.Parallel()
	s := rt.Serve(t, rt.Options{}, New(Profile{}))
	c, ctx := s.Client(), t.Context()
	index, err := rt.AttestedIndex("multi")
	fail.On(t, err)
	d, err := c.Push(ctx, "org/app", "v1", index)
	fail.On(t, err)
	p, err := c.Pull(ctx, "org/app", "v1")
	if err != nil || p.Digest != d || p.Manifests != 4 {
		t.Errorf("pulled %+v, %v", p, err)
	}
	subject, err := rt.Descriptor(index)
	fail.On(t, err)
	referrer, err := c.PushReferrer(ctx, "org/app", rt.Referrer{Subject: subject, ArtifactType: "application/x", Text: "text"})
	fail.On(t, err)
	list, err := c.Referrers(ctx, "org/app", d)
	fail.On(t, err)
	if len(list) != 1 || cmp.Diff(referrer, list[0]) != "" {
		t.Errorf("referrers: %+v", list)
	}
	if _, err := c.PushRaw(ctx, "org/other", "v1", "application/vnd.oci.image.manifest.v1+json", []byte(`{"config":{"digest":"`+d.String()+`"}}`)); err == nil {
		t.Error("a manifest without its blobs was accepted")
	}
}

// TestSources checks that each trait has a source and is described, and that traits change rules.
func TestSources(t *testing.T) {
	t.Parallel()
	for _, p := range Profiles() {
		if len(p.Traits) < 3 {
			t.Errorf("%s has %d traits", p.Name, len(p.Traits))
		}
		for _, trait := range p.Traits {
			u, err := url.Parse(trait.Source)
			if err != nil || u.Scheme != "https" || strings.Count(u.Path, "/") < 2 {
				t.Errorf("%s: %s: the source is %q, %v", p.Name, trait.What, trait.Source, err)
			}
			if trait.What == "" || trait.apply == nil {
				t.Errorf("%s: %+v changes nothing", p.Name, trait)
			}
		}
	}
}
