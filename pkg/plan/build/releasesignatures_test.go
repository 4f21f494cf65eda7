package build

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/platform/releasetest"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// late is a definition with one release of 4.20 and one of 4.21, which share no images.
func late() releasetest.Definition {
	return releasetest.Definition{
		Releases: []releasetest.Release{
			{Version: "4.20.1", Sigstore: true},
			{Version: "4.21.0", Sigstore: true, Previous: []string{"4.20.1"}},
			{Version: "4.21.0", Arch: "multi", Sigstore: true},
		},
		Channels: map[string][]string{"fast-4.21": {"4.20.1", "4.21.0"}},
	}
}

// TestRequiredSignatures checks that a missing sigstore signature makes a release of 4.21 or later
// unpublishable, because its clusters pull only signed images.
func TestRequiredSignatures(t *testing.T) {
	t.Parallel()
	u := late()
	for i := range u.Releases {
		u.Releases[i].Flaws.NoSigstore = []string{"machine-config-operator"}
	}
	w := newReleaseFixture(t, u)
	p := w.platform("    channels: [{name: fast-4.21, minVersion: 4.20.1}]\n")
	made := w.Payload("4.21.0-x86_64")
	d := made.Images["machine-config-operator"]
	if len(p.Missing) != 1 || p.Missing[0].Kind != plan.SignatureImage || p.Missing[0].Source != made.Content+":"+releasetest.SignatureTag(d) {
		t.Fatalf("missing: %+v", p.Missing)
	}
	m := p.Missing[0]
	if whole, _ := m.Reasons[0].Publishable(); whole.Release != made.Name || len(m.Reasons) != 1 || !errors.Is(m.Err(), fs.ErrNotExist) ||
		!strings.HasPrefix(m.Message, "the signatures of "+d.String()+" are missing, and clusters of OpenShift 4.21 and later do not pull without them: ") {
		t.Errorf("missing: %+v", m)
	}
	// In a payload for all architectures, the images need signatures and the indexes do not.
	p = w.platform("    architectures: [multi]\n    channels: [{name: fast-4.21}]\n")
	made = w.Payload("4.21.0-multi")
	fail.Diff(t, 4, len(p.Missing))
	for _, m := range p.Missing {
		if m.Kind != plan.SignatureImage || m.Reasons[0].Name != "machine-config-operator" || strings.Contains(m.Source, made.Images["machine-config-operator"].Encoded()) {
			t.Errorf("missing: %+v", m)
		}
	}
}

// TestRequiredSignaturesNotListed checks that signatures which clusters require are requested by name if the source
// lists no tags at all, as a proxy may do whose upstream cannot be listed.
func TestRequiredSignaturesNotListed(t *testing.T) {
	t.Parallel()
	w := newReleaseFixture(t, late())
	sources := w.sources()
	sources.Attachments = noTags{}
	p, err := Plan(t.Context(), parseConfig(t, "  platform:\n    channels: [{name: fast-4.21, minVersion: 4.20.1}]\n"), "imageset", sources, Options{})
	if err != nil || len(p.Missing) > 0 || len(tagsOf(p, plan.SignatureImage)) == 0 {
		t.Errorf("%v; missing %+v, signatures %v", err, p.Missing, tagsOf(p, plan.SignatureImage))
	}
}

// noTags lists no tags and no referrers.
type noTags struct{ Attachments }

func (noTags) TagPages(_ context.Context, _, _ string, see func([]string) bool) (bool, error) {
	see(nil)
	return true, nil
}

func (noTags) Referrers(context.Context, string, digest.Digest) ([]ocispec.Descriptor, bool, error) {
	return nil, false, nil
}

// TestInvalidSignatures checks that a signature of another image, or by a key that is not in the
// release's policy, counts as missing for every version.
func TestInvalidSignatures(t *testing.T) {
	t.Parallel()
	w := newReleaseFixture(t, late())
	made := w.Payload("4.20.1-x86_64")
	cli, rhcos := releasetest.SignatureTag(made.Images["cli"]), releasetest.SignatureTag(made.Images["rhel-coreos"])
	swapped := readAs(w, func(source string) string { return strings.Replace(source, cli, rhcos, 1) })
	p, err := swapped("  platform:\n    channels: [{name: fast-4.21, maxVersion: 4.20.1}]\n")
	fail.On(t, err)
	if len(p.Missing) != 1 || p.Missing[0].Source != made.Content+":"+cli || !strings.Contains(p.Missing[0].Message, "it signs another image, "+made.Images["rhel-coreos"].String()) {
		t.Errorf("missing: %+v", p.Missing)
	}
}

// readAs returns a function like make that reads images under other names.
func readAs(w *releaseFixture, rename func(string) string) func(string) (*plan.Plan, error) {
	return func(text string) (*plan.Plan, error) {
		sources := w.sources()
		sources.Images = renamed{w, rename}
		return Plan(w.t.Context(), parseConfig(w.t, text), "imageset", sources, Options{})
	}
}

type renamed struct {
	image.Reader
	name func(string) string
}

func (r renamed) Manifest(ctx context.Context, source string, d digest.Digest) (ocispec.Descriptor, []byte, error) {
	return r.Reader.Manifest(ctx, r.name(source), d)
}

// TestUnsupportedPolicies checks that signatures are copied unverified if Gantry cannot apply the
// policy. Clusters verify them.
func TestUnsupportedPolicies(t *testing.T) {
	t.Parallel()
	u := late()
	keys, err := releasetest.FixedKeys()
	fail.On(t, err)
	keys.Policy = []byte("no key")
	u.Keys = keys
	w := newReleaseFixture(t, u)
	p := w.platform("    channels: [{name: fast-4.21, minVersion: 4.21.0}]\n")
	if len(p.Missing) > 0 || len(tagsOf(p, plan.SignatureImage)) == 0 {
		t.Errorf("missing %+v, signatures %v", p.Missing, tagsOf(p, plan.SignatureImage))
	}
	want := "release 4.21.0-x86_64: signatures of images are copied, but not verified: reading the policy of signatures openshift: "
	noted(t, p.Notes, want)
}

// TestUnsignedPayloads checks that nothing of an unsigned payload is read.
func TestUnsignedPayloads(t *testing.T) {
	t.Parallel()
	w := newReleaseFixture(t, late())
	made := w.Payload("4.21.0-multi")
	const stanza = "    architectures: [multi]\n    channels: [{name: fast-4.21}]\n"
	w.signatures = func(d digest.Digest) ([][]byte, error) { return nil, fmt.Errorf("no signature of %s", d) }
	_, err := w.make("  platform:\n" + stanza)
	says(t, err, "release 4.21.0-multi: verifying "+made.Reference()+": no signature of "+made.Digest.String())
	if log := w.registry.Log(); len(log) > 0 {
		t.Errorf("%s %s was requested", log[0].Method, log[0].Path)
	}
	// Signatures of the images for each architecture are included if they exist.
	w.signatures = func(d digest.Digest) ([][]byte, error) {
		if d == made.Digest || d == made.Shards["s390x"] {
			return [][]byte{[]byte("one of " + d), []byte("another of " + d)}, nil
		}
		if d == made.Shards["arm64"] {
			return nil, fmt.Errorf("no signature of %s is good:\nsignature 1: it is cut short", d)
		}
		return nil, release.ErrUnsigned
	}
	p := w.platform(stanza)
	want := "release 4.21.0-multi: the signature of its image for linux/arm64 is not mirrored; clusters require only the signature of the index, which is valid; check the signature store: " +
		"no signature of " + made.Shards["arm64"].String() + " is good: signature 1: it is cut short"
	if notes := slices.DeleteFunc(slices.Clone(p.Notes), func(n string) bool { return !strings.Contains(n, "is not mirrored") }); !slices.Equal(notes, []string{want}) {
		t.Errorf("notes %q", notes)
	}
	r := p.Releases[0]
	got := elements.Map(r.Signatures, func(s plan.Signature) digest.Digest { return s.Digest })
	if want := []digest.Digest{made.Digest, made.Digest, made.Shards["s390x"], made.Shards["s390x"]}; !slices.Equal(got, want) || r.Unverified {
		t.Errorf("signatures of %v", got)
	}
	// With IgnoreReleaseSignature, no signatures are requested.
	w.signatures = func(digest.Digest) ([][]byte, error) { return nil, errors.New("asked") }
	if r := w.platform(stanza, Options{IgnoreReleaseSignature: true}).Releases[0]; !r.Unverified || len(r.Signatures) > 0 {
		t.Errorf("release: %+v", r)
	}
}
