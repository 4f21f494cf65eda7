package payload

import (
	"errors"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestReadContents checks that all manifests are returned in order, also those with problems that the
// operator accepts, and that the payload is what Read returns.
func TestReadContents(t *testing.T) {
	t.Parallel()
	m := newMemory()
	s := imageOf(t, "4.20.5")
	s.layers[2] = append(s.layers[2], entry{"release-manifests/0000_2.json", `{"kind":"B","apiVersion":"v1","metadata":{"name":"b"}}`},
		entry{"release-manifests/0000_1.yaml", "# a comment\n---\nkind: A\nmetadata:\n  name: a\n  name: again\n---\nkind: C\nmetadata: {name: c, namespace: ns}\n"},
		entry{"release-manifests/README.md", "no manifest"})
	desc := m.image(t, s)
	p, c, err := ReadContents(t.Context(), m, repository, desc.Digest)
	fail.On(t, err)
	fail.Diff(t, payloadOf("4.20.5", desc.Digest), p, exported)
	names := elements.Map(c.Manifests, func(m Manifest) string { return m.File + " " + m.Kind + " " + m.Namespace + "/" + m.Name })
	fail.Diff(t, []string{"0000_1.yaml A /again", "0000_1.yaml C ns/c", "0000_2.json B /b"}, names)
	if !strings.Contains(string(c.References), "ImageStream") || !strings.Contains(string(c.Metadata), metadataKind) {
		t.Errorf("references and metadata are %s, %s", c.References, c.Metadata)
	}
}

// TestContentsRefused reads images that are damaged or not a release.
func TestContentsRefused(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, want string
		spoil      func(*memory, *spec)
		after      func(*memory, digest.Digest)
	}{
		{"no label", "not a release image", func(_ *memory, s *spec) { s.label = "" }, nil},
		{"no references", "not a release image", func(_ *memory, s *spec) { s.layers = s.layers[:2] }, nil},
		{"no YAML", "0000_1.yaml", func(_ *memory, s *spec) {
			s.layers[2] = append(s.layers[2], entry{"release-manifests/0000_1.yaml", "a: [\n"})
		}, nil},
		{"a manifest of 33 MB", "release-manifests/big.yaml", func(_ *memory, s *spec) {
			s.layers[2] = append(s.layers[2], entry{"release-manifests/big.yaml", strings.Repeat("#", maxFile+1)})
		}, nil},
		{"a link", "not a regular file", func(_ *memory, s *spec) {
			s.layers[2] = append(s.layers[2], entry{"release-manifests/l.yaml", "-> /etc/passwd"})
		}, nil},
		{"a truncated layer", "layer sha256:", func(*memory, *spec) {}, func(m *memory, root digest.Digest) {
			for d, data := range m.blobs {
				if d != root && data[0] == 0x1f { // gzip
					m.blobs[d] = data[:len(data)/2]
				}
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m := newMemory()
			s := imageOf(t, "4.20.5")
			tc.spoil(m, &s)
			desc := m.image(t, s)
			if tc.after != nil {
				tc.after(m, desc.Digest)
			}
			_, _, err := ReadContents(t.Context(), m, repository, desc.Digest)
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "reading release image") {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if strings.HasPrefix(tc.want, "not a release") != errors.Is(err, ErrNoRelease) {
				t.Errorf("ErrNoRelease: %v", err)
			}
		})
	}
}

// TestExclude has one manifest for each rule of library-go's Include.
func TestExclude(t *testing.T) {
	t.Parallel()
	const profile = profilePrefix + DefaultProfile
	all := Inclusion{Profile: DefaultProfile, FeatureSet: DefaultFeatureSet, Capabilities: []string{"A", "B"}, gates: []string{"G"}, major: 4}
	for _, tc := range []struct {
		annotations map[string]string
		with        Inclusion
		want        string
	}{
		{nil, Inclusion{}, ""},
		{map[string]string{capabilityKey: "C", featureSetKey: "x", featureGateKey: "y", majorVersionKey: "9"}, Inclusion{}, ""},
		{nil, all, profile + " is not true"},
		{map[string]string{profile: "true"}, all, ""},
		{map[string]string{profile: "yes"}, all, profile + " is not true"},
		{map[string]string{profile: "true", capabilityKey: "A+B"}, all, ""},
		{map[string]string{profile: "true", capabilityKey: "A+C"}, all, capabilityKey + "=A+C"},
		{map[string]string{profile: "true", capabilityKey: "A"}, Inclusion{Capabilities: []string{}}, capabilityKey + "=A"},
		{map[string]string{profile: "true", featureSetKey: "Default,X"}, all, ""},
		{map[string]string{profile: "true", featureSetKey: "X"}, all, featureSetKey + "=X"},
		{map[string]string{profile: "true", featureGateKey: "G,-H"}, all, ""},
		{map[string]string{profile: "true", featureGateKey: "-G"}, all, featureGateKey + "=-G"},
		{map[string]string{profile: "true", featureGateKey: "H"}, all, featureGateKey + "=H"},
		{map[string]string{profile: "true", majorVersionKey: "4"}, all, ""},
		{map[string]string{profile: "true", majorVersionKey: "5"}, all, majorVersionKey + "=5"},
		{map[string]string{profile: "true", majorVersionKey: "-4"}, all, majorVersionKey + "=-4"},
		{map[string]string{profile: "true", majorVersionKey: "-5"}, all, ""},
		{map[string]string{profile: "true", majorVersionKey: "four"}, all, majorVersionKey + "=four"},
	} {
		fail.Diff(t, tc.want, tc.with.Exclude(&Manifest{Annotations: tc.annotations}))
	}
	if got := CapabilitySet("v4.12", nil); len(got) != 8 {
		t.Errorf("v4.12 is %v", got)
	}
	if got := CapabilitySet("v4.18", nil); len(got) != 17 {
		t.Errorf("v4.18 is %v", got)
	}
	if CapabilitySet("v4.9", nil) != nil || CapabilitySet(NoCapabilities, nil) == nil {
		t.Error("an unknown set exists, or None does not")
	}
}
