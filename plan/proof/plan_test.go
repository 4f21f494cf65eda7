package proof

import (
	"errors"
	"slices"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/signature/gpg"
)

const (
	first, middle, last = "4.18.1-x86_64", "4.19.2-x86_64", "4.20.2-x86_64"
	notThere            = ": it is missing" // of mirror.Verify
)

// testPlans compares mirrors that each lack one thing with a plan.
func testPlans(t *testing.T, all *site) {
	digestOf := func(name string) digest.Digest { return all.fixture.Payload(name).Digest }
	strange := func(name string) []byte { return all.strange(t, digestOf(name)) }
	// Either key may have signed what is mirrored, as with --release-key.
	either, err := gpg.ParseKeyring("either.asc", slices.Concat(all.fixture.Keys.OpenPGP, all.stranger.OpenPGP))
	fail.On(t, err)
	byEither := func(s *site) {
		s.options.Keyrings = func(release.Product) ([]gpg.Keyring, error) { return []gpg.Keyring{either}, nil }
	}
	signed := func(name string, bodies ...[]byte) func(*site, *Plan) {
		return func(s *site, p *Plan) {
			byEither(s)
			s.configMaps[digestOf(name)] = configMap(t, digestOf(name), bodies...)
			for i := range p.Releases {
				if r := &p.Releases[i]; r.Digest == digestOf(name) {
					r.Signatures = nil
					for _, body := range bodies {
						r.Signatures = append(r.Signatures, plan.Signature{Digest: r.Digest, Body: body})
					}
				}
			}
		}
	}
	lack := func(l MissingImage) func(*site, *Plan) {
		return func(_ *site, p *Plan) { p.Missing = []MissingImage{l} }
	}
	const yes1, no1, yes2, no2 = "4.18.1 4.19.2 yes", "4.18.1 4.19.2 no", "4.19.2 4.20.2 yes", "4.19.2 4.20.2 no"
	const unsignedNote = "the workspace work has no cluster resources for this mirror: the ConfigMaps of signatures were not checked"
	notAccepted := "a cluster that runs 4.19.2 will not accept the signatures of 4.20.2: the image " + digestOf(last).String() + " is not trusted"
	for _, test := range []struct {
		name                  string
		change                func(*site, *Plan)
		hops, problems, notes []string
	}{
		{"nothing", nil, []string{yes1, yes2}, nil, nil},
		{
			"a component", lack(MissingImage{Problem: "it is missing", At: "m/release@sha256:0", Parts: []Part{{Release: middle, Component: "cli"}}}),
			[]string{no1, no2}, []string{middle + ": component cli" + notThere}, nil,
		},
		{
			"a component of two releases", lack(MissingImage{Problem: "it is missing", Parts: []Part{{Release: first, Component: "cli"}, {Release: first, Component: "cli-too"}, {Release: last, Component: "cli"}}}),
			[]string{no1, no2}, []string{first + ": component cli" + notThere, first + ": component cli-too" + notThere, last + ": component cli" + notThere}, nil,
		},
		{
			"signatures of a component", lack(MissingImage{Problem: "it is missing", Parts: []Part{{Release: last, Component: "cli", Signatures: true}}}),
			[]string{yes1, no2}, []string{last + ": signatures of component cli" + notThere}, nil,
		},
		{
			"signatures of a release", lack(MissingImage{Problem: "it is missing", Parts: []Part{{Release: first, Signatures: true}}}),
			[]string{no1, yes2}, []string{first + ": signatures of release image" + notThere}, nil,
		},
		{
			"a disk", lack(MissingImage{Problem: "the plan has it as missing", AtSource: true, Parts: []Part{{Release: first, Component: "kube-virt-container", Disk: true}}}),
			[]string{no1, yes2}, []string{first + ": disk image kube-virt-container: the plan has it as missing"}, nil,
		},
		{
			"a tag", func(s *site, _ *Plan) { s.gone[s.options.Releases+":"+middle] = true },
			[]string{no1, no2}, []string{"the mirror has no tag " + middle, "the mirror has no tag " + middle}, nil,
		},
		{
			"graph data", func(s *site, _ *Plan) { s.data = nil },
			[]string{yes1, yes2}, []string{"the graph data image is missing"}, nil,
		},
		{
			"the content of the graph data image", func(s *site, _ *Plan) { s.data, s.hollow = nil, digest.FromString("graph data") },
			[]string{yes1, yes2}, []string{"reading graph data from image " + all.options.GraphData + "@" + digest.FromString("graph data").String()}, nil,
		},
		{
			"graph data that was not planned", func(s *site, p *Plan) { s.data, p.GraphData = nil, false },
			[]string{yes1, yes2}, nil, []string{"the mirror has no graph data (" + all.options.GraphData + ":latest)"},
		},
		{
			"graph data, with a risk that was planned", func(s *site, p *Plan) {
				s.data, p.GraphData, p.Updates[0].Hops[0].Risks = nil, false, []string{"PausedPools"}
			},
			[]string{yes1 + " PausedPools", yes2}, nil, []string{"the mirror has no graph data"},
		},
		{
			"an update", func(_ *site, p *Plan) { p.Updates[0].Hops = []Hop{{From: "4.18.1", To: "4.20.2"}} },
			[]string{"4.18.1 4.20.2 no"}, []string{"neither release declares an update from 4.18.1 to 4.20.2"}, nil,
		},
		{
			"a ConfigMap", func(s *site, _ *Plan) { delete(s.configMaps, digestOf(middle)) },
			[]string{no1, no2}, []string{middle + ": the ConfigMap with the signatures of " + digestOf(middle).String() + " is missing"}, nil,
		},
		{
			"the content of a ConfigMap", func(s *site, _ *Plan) { s.configMaps[digestOf(last)] = []byte("{}") },
			[]string{yes1, no2}, []string{last + ": reading the signatures of " + digestOf(last).String() + ": it is not a ConfigMap in namespace"}, nil,
		},
		{
			"a ConfigMap of its image", func(s *site, _ *Plan) { s.configMaps[digestOf(last)] = s.configMaps[digestOf(first)] },
			[]string{yes1, no2}, []string{last + ": reading the signatures of " + digestOf(last).String() + ": the ConfigMap is for another image"}, nil,
		},
		{
			"a signature of the image", func(s *site, _ *Plan) {
				s.configMaps[digestOf(last)] = configMap(t, digestOf(last), s.fixture.Signature(digestOf(first)))
			},
			[]string{yes1, no2}, []string{last + ": the image " + digestOf(last).String() + " is not trusted: no signature satisfies the keyring own.asc"}, nil,
		},
		{
			"a signature by a key of the configuration", func(s *site, _ *Plan) { s.configMaps[digestOf(last)] = configMap(t, digestOf(last), strange(last)) },
			[]string{yes1, no2}, []string{last + ": the image " + digestOf(last).String() + " is not trusted: no signature satisfies the keyring own.asc"}, nil,
		},
		{"a signature by a key of clusters", signed(last, strange(last)), []string{yes1, no2}, []string{notAccepted}, nil},
		{"a signature by one of two keys", signed(last, strange(last), all.fixture.Signature(digestOf(last))), []string{yes1, yes2}, nil, nil},
		{"a signature that no cluster verifies", signed(first, strange(first)), []string{yes1, yes2}, nil, nil},
		{"the workspace", func(s *site, _ *Plan) { s.configMaps = nil }, []string{yes1, yes2}, nil, []string{unsignedNote}},
		{
			"the workspace, and a signature by a key of clusters", func(s *site, p *Plan) {
				signed(last, strange(last))(s, p)
				s.configMaps = nil
			},
			[]string{yes1, no2}, []string{notAccepted}, []string{unsignedNote},
		},
		{
			"all signatures", func(s *site, p *Plan) {
				s.configMaps = map[digest.Digest][]byte{}
				for i := range p.Releases {
					p.Releases[i].Signatures, p.Releases[i].Unverified = nil, true
				}
			},
			[]string{no1, no2},
			[]string{
				"a cluster that runs 4.18.1 will not accept 4.19.2, which was mirrored without signatures",
				"a cluster that runs 4.19.2 will not accept 4.20.2, which was mirrored without signatures",
			},
			[]string{"release " + first + " was planned without its signature", "release " + middle + " was planned", "release " + last + " was planned"},
		},
		{
			"signatures that are checked", func(s *site, p *Plan) {
				s.options.IgnoreReleaseSignature = true
				signed(last, strange(last))(s, p)
			},
			[]string{yes1, yes2}, nil, []string{signaturesNotChecked},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := all.changed(nil)
			p := s.plan("fast-4.20", release.DefaultArch, "4.18.1", "4.19.2", "4.20.2")
			if test.change != nil {
				test.change(s, &p)
			}
			c := s.check(t)
			fail.On(t, c.Plan(t.Context(), p))
			compare(t, c.Report(), test.hops, test.problems, test.notes)
		})
	}
}

// Clusters of all architectures are offered the index, not its images. The images only need
// ConfigMaps; their keys are not compared with those of the cluster.
func testLists(t *testing.T, all *site) {
	list := all.fixture.Payload("4.20.2-multi")
	shard := list.Shards["s390x"]
	strange := func(d digest.Digest) []byte { return configMap(t, d, all.strange(t, d)) }
	eitherKey := func(release.Product) ([]gpg.Keyring, error) {
		k, err := gpg.ParseKeyring("eitherKey.asc", slices.Concat(all.fixture.Keys.OpenPGP, all.stranger.OpenPGP))
		return []gpg.Keyring{k}, err
	}
	for _, test := range []struct {
		name     string
		change   func(*site)
		hops     string
		problems []string
	}{
		{"nothing", nil, "4.20.1 4.20.2 yes", nil},
		{
			"the ConfigMap of an image", func(s *site) { delete(s.configMaps, shard) },
			"4.20.1 4.20.2 no", []string{"4.20.2-multi: the ConfigMap with the signatures of " + shard.String() + " is missing"},
		},
		{
			"the ConfigMap of the list", func(s *site) { delete(s.configMaps, list.Digest) },
			"4.20.1 4.20.2 no", []string{"4.20.2-multi: the ConfigMap with the signatures of " + list.Digest.String() + " is missing"},
		},
		{
			"a signature of the list by a key of clusters", func(s *site) { s.configMaps[list.Digest], s.options.Keyrings = strange(list.Digest), eitherKey },
			"4.20.1 4.20.2 no", []string{"a cluster that runs 4.20.1 will not accept the signatures of 4.20.2"},
		},
		{
			"a signature of an image by a key of clusters", func(s *site) { s.configMaps[shard], s.options.Keyrings = strange(shard), eitherKey },
			"4.20.1 4.20.2 yes", nil,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := all.changed(nil)
			body := s.fixture.Signature(shard)
			s.configMaps[shard] = configMap(t, shard, body)
			p := s.plan("fast-4.20", release.Multi, "4.20.1", "4.20.2")
			p.Releases[1].Signatures = append(p.Releases[1].Signatures, plan.Signature{Digest: shard, Body: body})
			if test.change != nil {
				test.change(s)
			}
			c := s.check(t)
			fail.On(t, c.Plan(t.Context(), p))
			compare(t, c.Report(), []string{test.hops}, test.problems, nil)
		})
	}
}

// Clusters without keys accept updates only by force. The note is printed once.
func testKeyless(t *testing.T, all *site) {
	s := all.changed(nil)
	c := s.check(t)
	p := s.plan("fast-4.20", release.DefaultArch, keyless, "4.19.2")
	for range 2 { // as the workspace may have two plans
		fail.On(t, c.Plan(t.Context(), p))
	}
	r := c.Report()
	compare(t, r, []string{"4.18.2 4.19.2 yes", "4.18.2 4.19.2 yes"}, nil, []string{"release 4.18.2-x86_64 has no keys to verify updates with"})
	if len(r.Releases) != 2 {
		t.Errorf("there are %d releases: %+v", len(r.Releases), r.Releases)
	}
}

// Failures to read are errors, not results.
func testFailing(t *testing.T, all *site) {
	s := all.changed(nil)
	broken := errors.New("the disk is broken")
	c := s.check(t)
	c.ConfigMap = func(digest.Digest) (string, []byte, error) { return "", nil, broken }
	if err := c.Plan(t.Context(), s.plan("fast-4.20", release.DefaultArch, "4.18.1", "4.19.2")); !errors.Is(err, broken) {
		t.Errorf("a workspace that cannot be read: %v", err)
	}
	c = s.check(t)
	c.Keyrings = func(release.Product) ([]gpg.Keyring, error) { return nil, broken }
	if err := c.Plan(t.Context(), s.plan("fast-4.20", release.DefaultArch, "4.18.1", "4.19.2")); !errors.Is(err, broken) {
		t.Errorf("keys that cannot be read: %v", err)
	}
	o := s.options
	o.Releases = "127.0.0.1:1/" + o.Releases
	if _, err := Open(t.Context(), s, o); err == nil {
		t.Error("a registry that does not answer is no error")
	}
}
