package proof

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/platform/graphdata"
	"github.com/gantry-mirror/gantry/pkg/platform/releasetest"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/pkg/signature/gpg"
)

// A site is a mirror with the ConfigMaps that were written for it. It is a Registry.
type site struct {
	fixture    *releasetest.Platform
	stranger   *releasetest.Keys // keys that no cluster has
	client     *remote.Client
	options    Options
	data       *graphdata.Data
	configMaps map[digest.Digest][]byte // nil: no workspace
	gone       map[string]bool          // references
	hollow     digest.Digest            // digest of a graph data image without content
}

// TestCheck runs all checks against one registry.
func TestCheck(t *testing.T) {
	t.Parallel()
	s := newSite(t, definition())
	for name, test := range map[string]func(*testing.T, *site){
		"plans": testPlans, "plans of lists": testLists, "plans without keys": testKeyless, "versions": testVersions, "architectures": testArches, "failing": testFailing,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, s)
		})
	}
}

// keyless is a release without keys.
const keyless = "4.18.2"

// definition returns releasetest.Small with a release without keys and two whose images clusters pull
// only if they are signed.
func definition() releasetest.Definition {
	u := releasetest.Small()
	for _, arch := range []release.Arch{release.DefaultArch, release.Multi} {
		u.Releases = append(u.Releases, releasetest.Release{Version: "4.21.1", Arch: arch, Previous: []string{"4.20.2"}, Sigstore: true})
	}
	for i := range u.Releases {
		u.Releases[i].Flaws.NoKeys = u.Releases[i].Version == keyless
		u.Releases[i].Components, u.Releases[i].BootImages = []string{"cli", "cluster-version-operator", "rhel-coreos"}, nil
	}
	u.Channels["candidate-4.21"] = []string{"4.20.2", "4.21.1"}
	u.Channels["stable-4.21"] = []string{"4.20.2"}
	return u
}

// newSite returns a registry with the complete releases of a definition.
func newSite(t *testing.T, u releasetest.Definition) *site {
	t.Helper()
	server := registrytest.New(t, registrytest.Options{})
	u.Registry = server.Host
	w, err := releasetest.New(u)
	if err == nil {
		err = w.Push(t.Context(), server.Client(), server.Host)
	}
	fail.On(t, err)
	s := &site{fixture: w, configMaps: map[digest.Digest][]byte{}}
	if s.stranger, err = releasetest.NewKeys(); err != nil {
		t.Fatal(err)
	}
	if s.data, err = graphdata.Read(bytes.NewReader(w.GraphData())); err != nil {
		t.Fatal(err)
	}
	s.client, err = remote.New(remote.Options{CertDirs: []string{}, Proxy: http.ProxyURL(nil), PlainHTTP: true})
	fail.On(t, err)
	t.Cleanup(s.client.Close)
	own, err := gpg.ParseKeyring("own.asc", w.Keys.OpenPGP)
	fail.On(t, err)
	s.options = Options{
		Mirror: "docker://mirror.example.com", Releases: w.Payloads[0].Repository, Components: w.Payloads[0].Content, GraphData: server.Host + "/graph-image",
		Jobs: 4, Now: time.Now(), Workspace: "work",
		Keyrings: func(release.Product) ([]gpg.Keyring, error) { return []gpg.Keyring{own}, nil },
	}
	for _, p := range w.Payloads {
		s.configMaps[p.Digest] = configMap(t, p.Digest, w.Signature(p.Digest))
	}
	return s
}

// strange returns a signature by keys that no cluster has.
func (s *site) strange(t *testing.T, d digest.Digest) []byte {
	t.Helper()
	body, err := s.stranger.Sign("example.com/r:4.20.2", d)
	fail.On(t, err)
	return body
}

// changed returns a copy of s with a change.
func (s *site) changed(change func(*site)) *site {
	c := *s
	c.configMaps, c.gone = maps.Clone(s.configMaps), map[string]bool{}
	if change != nil {
		change(&c)
	}
	return &c
}

// check opens the site with its graph data, which is in no image here.
func (s *site) check(t *testing.T) *Check {
	t.Helper()
	s.options.ConfigMap = s.configMap
	c, err := Open(t.Context(), s, s.options)
	fail.On(t, err)
	c.mirror.Data = s.data
	return c
}

func (s *site) configMap(d digest.Digest) (string, []byte, error) {
	if s.configMaps == nil {
		return "", nil, ErrNoConfigMaps
	}
	file := "work/" + resources.SignatureFile(d)
	text, ok := s.configMaps[d]
	if !ok {
		return file, nil, fmt.Errorf("%s: %w", file, fs.ErrNotExist)
	}
	return file, text, nil
}

// configMap returns the ConfigMap that gantry mirror writes for signatures.
func configMap(t *testing.T, d digest.Digest, signatures ...[]byte) []byte {
	t.Helper()
	files, err := resources.BuildPlatform(resources.Platform{Signatures: []resources.Signed{{Digest: d, Signatures: signatures}}})
	fail.On(t, err)
	return files[0].Text
}

func (s *site) ref(source string) (reference.Reference, error) {
	ref, err := reference.Parse(source)
	if err == nil && s.gone[ref.String()] {
		err = fmt.Errorf("reading %s: %w", ref, fs.ErrNotExist)
	}
	return ref, err
}

func (s *site) Manifest(ctx context.Context, source string, d digest.Digest) (ocispec.Descriptor, []byte, error) {
	if d != "" {
		repository, _, _ := strings.Cut(source, "@")
		source = repository + "@" + d.String()
	}
	ref, err := s.ref(source)
	if err != nil {
		return ocispec.Descriptor{}, nil, err
	}
	return s.client.Manifest(ctx, ref)
}

func (s *site) Blob(ctx context.Context, source string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	ref, err := reference.Parse(source)
	if err != nil {
		return nil, err
	}
	return s.client.Blob(ctx, ref.Repository(), desc, offset)
}

func (s *site) Resolve(ctx context.Context, source string) (ocispec.Descriptor, error) {
	ref, err := s.ref(source)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	if s.hollow != "" && source == s.options.GraphData+":latest" {
		return ocispec.Descriptor{Digest: s.hollow}, nil
	}
	return s.client.Resolve(ctx, ref)
}

func (s *site) Tags(ctx context.Context, repository string) ([]string, error) {
	ref, err := s.ref(repository)
	if err != nil {
		return nil, err
	}
	tags, err := s.client.Tags(ctx, ref, 0)
	kept := tags[:0]
	kept = append(kept, elements.Filter(tags, func(tag string) bool { return !s.gone[repository+":"+tag] })...)
	return kept, err
}

// plan returns a plan of an update through versions in a channel, with the signatures of the fixture.
func (s *site) plan(channel string, arch release.Arch, versions ...string) Plan {
	p := Plan{Name: "imageset", GraphData: true}
	u := Update{Channel: channel, Arch: arch, From: versions[0], To: versions[len(versions)-1]}
	for i, version := range versions {
		payload := s.fixture.Payload(release.Name(version, arch))
		r := plan.Release{Product: release.OCP, Version: version, Arch: arch, Digest: payload.Digest}
		r.Signatures = []plan.Signature{{Digest: payload.Digest, Body: s.fixture.Signature(payload.Digest)}}
		p.Releases = append(p.Releases, r)
		if i > 0 {
			u.Hops = append(u.Hops, Hop{From: versions[i-1], To: version})
		}
	}
	p.Updates = []Update{u}
	return p
}

// compare compares a report: its hops as "4.18.1 4.19.2 yes RISK", the problems of hops, releases
// and the whole, and its notes.
func compare(t *testing.T, r *Report, hops, problems, notes []string) {
	t.Helper()
	var gotHops, gotProblems []string
	add := func(of string, all []Problem) {
		for _, p := range all {
			if p.Hint == "" {
				t.Errorf("%q has no hint", p.Problem)
			}
			gotProblems = append(gotProblems, of+p.Problem)
		}
	}
	for _, u := range r.Updates {
		for _, h := range u.Hops {
			word := " no"
			if h.Possible {
				word = " yes"
			}
			gotHops = append(gotHops, strings.Join(append([]string{h.From + " " + h.To + word}, h.Risks...), " "))
			add("", h.Problems)
		}
	}
	for _, x := range r.Releases {
		add(x.Name+": ", x.Problems)
	}
	add("", r.Problems)
	fail.Diff(t, hops, gotHops)
	beginning := cmp.Comparer(func(a, b string) bool { return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) })
	fail.Diff(t, problems, gotProblems, beginning)
	fail.Diff(t, notes, r.Notes, beginning)
}
