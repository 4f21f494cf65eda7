package releasetest

import (
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// tags returns the tags of a platform in a repository.
func (w *Platform) tags(repository string) []string {
	var all []string
	for _, p := range w.stored {
		if p.repository == repository && p.tag != "" {
			all = append(all, p.tag)
		}
	}
	slices.Sort(all)
	return all
}

// TestFlaws checks that clients see the flaws of a release.
func TestFlaws(t *testing.T) {
	t.Parallel()
	u := Small()
	u.Releases[4].Flaws = Flaws{Missing: []string{"rhel-coreos"}, NoSigstore: []string{"", "cli"}}
	w := newFixture(t, u)
	s := registrytest.New(t, registrytest.Options{})
	c := s.Client()
	fail.On(t, w.Push(t.Context(), c, s.Host))
	const content = "quay.io/openshift-release-dev/ocp-v4.0-art-dev"
	p := w.Payload("4.20.1-x86_64")
	if _, err := c.Pull(t.Context(), content, p.Images["rhel-coreos"].String()); err == nil {
		t.Error("a missing component can be pulled")
	}
	_, err := c.Pull(t.Context(), content, p.Images["cli"].String())
	fail.On(t, err)
	clean := small(t)
	missing := func(repository string) []string {
		return slices.DeleteFunc(clean.tags(repository), func(tag string) bool { return slices.Contains(w.tags(repository), tag) })
	}
	fail.Diff(t, []string{SignatureTag(p.Digest)}, missing(p.releases))
	fail.Diff(t, []string{SignatureTag(p.Images["cli"])}, missing(p.content))

	rule, err := p.WrongBytes("machine-config-operator")
	fail.On(t, err)
	s.Script(rule)
	if _, err := c.Pull(t.Context(), content, p.Images["machine-config-operator"].String()); err == nil || !strings.Contains(err.Error(), "digest") {
		t.Errorf("pulling damaged content: %v", err)
	}
	if _, err := p.WrongBytes("etcd"); err == nil {
		t.Error("WrongBytes accepts an unknown component")
	}
}
