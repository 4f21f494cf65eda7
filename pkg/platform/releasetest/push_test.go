package releasetest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/remote/registries"
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

// TestPush checks that a registry, in memory or real, returns all content byte for byte.
func TestPush(t *testing.T) {
	t.Parallel()
	w := small(t)
	for name, start := range map[string]func(testing.TB, registrytest.Options) *registrytest.Server{"memory": registrytest.New, "real": registrytest.Start} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, registrytest.Options{})
			c := s.Client()
			if err := w.Push(t.Context(), c, s.Host); err != nil {
				t.Fatal(err)
			}
			for _, p := range w.stored {
				got, err := c.Pull(t.Context(), "quay.io/"+p.repository, p.digest.String())
				if err != nil || got.Digest != p.digest {
					t.Errorf("pulled %s: %v", got.Digest, err)
				}
			}
			for _, p := range w.Payloads {
				got, err := c.Pull(t.Context(), "quay.io/openshift-release-dev/ocp-release", p.Name)
				if err != nil || got.Digest != p.Digest {
					t.Errorf("pulled %s as %s: %v", p.Name, got.Digest, err)
				}
				for component, d := range p.Images {
					if _, err := c.Pull(t.Context(), "quay.io/openshift-release-dev/ocp-v4.0-art-dev", d.String()); err != nil {
						t.Errorf("%s of %s: %v", component, p.Name, err)
					}
				}
			}
		})
	}
}

// TestPushToRegistryOfReferences checks that references to the registry itself need no
// configuration.
func TestPushToRegistryOfReferences(t *testing.T) {
	t.Parallel()
	s := registrytest.New(t, registrytest.Options{})
	w := newFixture(t, Definition{Registry: s.Host, Releases: []Release{{Version: "4.18.1"}}})
	if err := w.Push(t.Context(), s.Client(), s.Host); err != nil {
		t.Fatal(err)
	}
	p := w.Payloads[0]
	for _, repository := range []string{p.Repository, p.Content} {
		if !strings.HasPrefix(repository, s.Host+"/openshift-release-dev/ocp-") {
			t.Errorf("repository %s is not of %s", repository, s.Host)
		}
	}
	if _, err := s.Client().Pull(t.Context(), strings.TrimPrefix(p.Repository, s.Host+"/"), p.Name); err != nil {
		t.Error(err)
	}
	if conf := w.RegistriesConf(s.Host, s.Host); strings.Contains(conf, "prefix") {
		t.Errorf("registries.conf has a redirect:\n%s", conf)
	}
}

// TestRegistriesConf checks that registries.conf redirects clients from quay.io to the registry.
func TestRegistriesConf(t *testing.T) {
	t.Parallel()
	const host = "127.0.0.1:5000"
	w := newFixture(t, Definition{Releases: []Release{{Version: "4.18.1"}}})
	for _, plain := range []bool{true, false} {
		var plainHTTP []string
		if plain {
			plainHTTP = []string{host, "127.0.0.1:5001"}
		}
		file := filepath.Join(t.TempDir(), "registries.conf")
		if err := os.WriteFile(file, []byte(w.RegistriesConf(host, plainHTTP...)), 0o600); err != nil {
			t.Fatal(err)
		}
		config, err := registries.Load(registries.Options{Home: t.TempDir(), SystemDir: t.TempDir(), Getenv: func(name string) string {
			return map[string]string{"CONTAINERS_REGISTRIES_CONF": file}[name]
		}})
		if err != nil {
			t.Fatal(err)
		}
		ref, err := reference.Parse(w.Payloads[0].Reference())
		if err != nil {
			t.Fatal(err)
		}
		got, err := config.Sources(ref)
		want := host + "/" + w.Payloads[0].Reference()
		if err != nil || len(got) != 1 || got[0].Reference.String() != want || got[0].Insecure != plain {
			t.Errorf("%s is at %+v, %v, want %s", ref, got, err, want)
		}
	}
}

// TestSigstoreSignatures checks that images have sigstore signatures and manifest lists have none.
// A release image has two, with its names by digest and by tag.
func TestSigstoreSignatures(t *testing.T) {
	t.Parallel()
	w := small(t)
	signed := map[string]v1.Image{}
	for _, p := range w.stored {
		if strings.HasSuffix(p.tag, ".sig") {
			signed[p.repository+":"+p.tag] = p.content.(v1.Image)
		}
	}
	if _, ok := signed["openshift-release-dev/ocp-release:"+SignatureTag(w.Payload("4.19.2-x86_64").Digest)]; ok {
		t.Error("a release without a policy has signatures")
	}
	var want []string
	for _, name := range []string{"4.20.1-x86_64", "4.20.2-x86_64", "4.20.1-multi", "4.20.2-multi"} {
		p := w.Payload(name)
		for content, made := range p.made {
			digests, err := imagesOf(made)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range digests {
				repository, names := p.content, []string{p.Content + "@" + d.String()}
				if content == "" {
					repository, names = p.releases, []string{p.Repository + "@" + d.String(), p.Repository + ":" + name}
				}
				want = append(want, repository+":"+SignatureTag(d))
				sig := signed[repository+":"+SignatureTag(d)]
				if sig == nil {
					t.Errorf("%q of %s has no signature", content, name)
					continue
				}
				checkCosign(t, w.Keys.Policy, sig, d, names)
			}
		}
	}
	slices.Sort(want)
	if n := len(slices.Compact(want)); n != len(signed) {
		t.Errorf("%d signature images, want %d", len(signed), n)
	}
}

// TestFlaws checks that clients see the flaws of a release.
func TestFlaws(t *testing.T) {
	t.Parallel()
	u := Small()
	u.Releases[4].Flaws = Flaws{Missing: []string{"rhel-coreos"}, NoSigstore: []string{"", "cli"}}
	w := newFixture(t, u)
	s := registrytest.New(t, registrytest.Options{})
	c := s.Client()
	if err := w.Push(t.Context(), c, s.Host); err != nil {
		t.Fatal(err)
	}
	const content = "quay.io/openshift-release-dev/ocp-v4.0-art-dev"
	p := w.Payload("4.20.1-x86_64")
	if _, err := c.Pull(t.Context(), content, p.Images["rhel-coreos"].String()); err == nil {
		t.Error("a missing component can be pulled")
	}
	if _, err := c.Pull(t.Context(), content, p.Images["cli"].String()); err != nil {
		t.Errorf("an existing component: %v", err)
	}
	clean := small(t)
	missing := func(repository string) []string {
		return slices.DeleteFunc(clean.tags(repository), func(tag string) bool { return slices.Contains(w.tags(repository), tag) })
	}
	if diff := cmp.Diff([]string{SignatureTag(p.Digest)}, missing(p.releases)); diff != "" {
		t.Errorf("tags of releases that are missing (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{SignatureTag(p.Images["cli"])}, missing(p.content)); diff != "" {
		t.Errorf("tags of components that are missing (-want +got):\n%s", diff)
	}

	rule, err := p.WrongBytes("machine-config-operator")
	if err != nil {
		t.Fatal(err)
	}
	s.Script(rule)
	if _, err := c.Pull(t.Context(), content, p.Images["machine-config-operator"].String()); err == nil || !strings.Contains(err.Error(), "digest") {
		t.Errorf("pulling damaged content: %v", err)
	}
	if _, err := p.WrongBytes("etcd"); err == nil {
		t.Error("WrongBytes accepts an unknown component")
	}
}
