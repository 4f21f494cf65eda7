package plan

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

	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/releasetest"
)

// late is a universe of one release of 4.21 and one of 4.20, which has images in
// common with nothing.
func late() releasetest.Universe {
	return releasetest.Universe{
		Releases: []releasetest.Release{
			{Version: "4.20.1", Sigstore: true},
			{Version: "4.21.0", Sigstore: true, Previous: []string{"4.20.1"}},
			{Version: "4.21.0", Arch: "multi", Sigstore: true},
		},
		Channels: map[string][]string{"fast-4.21": {"4.20.1", "4.21.0"}},
	}
}

// From 4.21 on, clusters pull nothing without sigstore signatures: an image whose
// signatures are missing holds its release back.
func TestSignaturesThatAreNeeded(t *testing.T) {
	t.Parallel()
	u := late()
	for i := range u.Releases {
		u.Releases[i].Flaws.Unsealed = []string{"machine-config-operator"}
	}
	w := newReleaseWorld(t, u)
	p := w.platform("    channels: [{name: fast-4.21, minVersion: 4.20.1}]\n")
	made := w.Payload("4.21.0-x86_64")
	d := made.Images["machine-config-operator"]
	if len(p.Missing) != 1 || p.Missing[0].Kind != SignatureImage || p.Missing[0].Source != made.Content+":"+releasetest.SignatureTag(d) {
		t.Fatalf("missing: %+v", p.Missing)
	}
	m := p.Missing[0]
	if whole, _ := m.Because[0].Whole(); whole.Release != made.Name || len(m.Because) != 1 || !errors.Is(m.Err(), fs.ErrNotExist) ||
		!strings.HasPrefix(m.Reason, "the signatures of "+d.String()+" are not there, and clusters of OpenShift 4.21 and later do not pull without: ") {
		t.Errorf("missing: %+v", m)
	}
	// Of the lists of all architectures the images have to have signatures, the
	// lists themselves need none.
	p = w.platform("    architectures: [multi]\n    channels: [{name: fast-4.21}]\n")
	made = w.Payload("4.21.0-multi")
	if len(p.Missing) != 4 {
		t.Errorf("missing: %+v", p.Missing)
	}
	for _, m := range p.Missing {
		if m.Kind != SignatureImage || m.Because[0].Name != "machine-config-operator" || strings.Contains(m.Source, made.Images["machine-config-operator"].Encoded()) {
			t.Errorf("missing: %+v", m)
		}
	}
}

// A signature that is not by the key of the release's policy, or not of the image,
// is as bad as none, for whatever version.
func TestSignaturesThatAreWrong(t *testing.T) {
	t.Parallel()
	w := newReleaseWorld(t, late())
	made := w.Payload("4.20.1-x86_64")
	cli, rhcos := releasetest.SignatureTag(made.Images["cli"]), releasetest.SignatureTag(made.Images["rhel-coreos"])
	swapped := readAs(w, func(source string) string { return strings.Replace(source, cli, rhcos, 1) })
	p, err := swapped("  platform:\n    channels: [{name: fast-4.21, maxVersion: 4.20.1}]\n")
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Missing) != 1 || p.Missing[0].Source != made.Content+":"+cli || !strings.Contains(p.Missing[0].Reason, "it is the signature of another image, "+made.Images["rhel-coreos"].String()) {
		t.Errorf("missing: %+v", p.Missing)
	}
}

// readAs is make where images are read under other names.
func readAs(w *releaseWorld, rename func(string) string) func(string) (*Plan, error) {
	return func(text string) (*Plan, error) {
		from := w.from()
		from.Images = renamed{w, rename}
		return Make(w.t.Context(), parseConfig(w.t, text), "imageset", from, Options{})
	}
}

type renamed struct {
	Images
	name func(string) string
}

func (r renamed) Manifest(ctx context.Context, source string, d digest.Digest) (ocispec.Descriptor, []byte, error) {
	return r.Images.Manifest(ctx, r.name(source), d)
}

// A policy that asks for what cannot be verified here is left to clusters.
func TestPoliciesThatCannotBeFollowed(t *testing.T) {
	t.Parallel()
	u := late()
	keys, err := releasetest.FixedKeys()
	if err != nil {
		t.Fatal(err)
	}
	keys.Policy = []byte("no key")
	u.Keys = keys
	w := newReleaseWorld(t, u)
	p := w.platform("    channels: [{name: fast-4.21, minVersion: 4.21.0}]\n")
	if len(p.Missing) > 0 || len(tagsOf(p, SignatureImage)) == 0 {
		t.Errorf("missing %+v, signatures %v", p.Missing, tagsOf(p, SignatureImage))
	}
	want := "release 4.21.0-x86_64: signatures of images are copied, but not verified: reading the policy of signatures openshift: "
	if !slices.ContainsFunc(p.Notes, func(n string) bool { return strings.HasPrefix(n, want) }) {
		t.Errorf("notes: %q", p.Notes)
	}
}

// Nothing of a payload is read before somebody vouches for it.
func TestPayloadsThatNobodySigned(t *testing.T) {
	t.Parallel()
	w := newReleaseWorld(t, late())
	made := w.Payload("4.21.0-multi")
	const stanza = "    architectures: [multi]\n    channels: [{name: fast-4.21}]\n"
	w.signatures = func(d digest.Digest) ([][]byte, error) { return nil, fmt.Errorf("nobody signed %s", d) }
	_, err := w.make("  platform:\n" + stanza)
	if err == nil || !strings.Contains(err.Error(), "release 4.21.0-multi: verifying "+made.Reference()+": nobody signed "+made.Digest.String()) {
		t.Error(err)
	}
	if log := w.registry.Log(); len(log) > 0 {
		t.Errorf("%s %s was asked for", log[0].Method, log[0].Path)
	}
	// Those of shards are taken along where there are any.
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
	want := "release 4.21.0-multi: no signature of its image for linux/arm64 is taken along; clusters ask for that of the list, which is good, but look what is wrong here: " +
		"no signature of " + made.Shards["arm64"].String() + " is good: signature 1: it is cut short"
	if notes := slices.DeleteFunc(slices.Clone(p.Notes), func(n string) bool { return !strings.Contains(n, "taken along") }); !slices.Equal(notes, []string{want}) {
		t.Errorf("it notes %q", notes)
	}
	r := p.Releases[0]
	var got []digest.Digest
	for _, s := range r.Signatures {
		got = append(got, s.Digest)
	}
	if want := []digest.Digest{made.Digest, made.Digest, made.Shards["s390x"], made.Shards["s390x"]}; !slices.Equal(got, want) || r.Unverified {
		t.Errorf("signatures of %v", got)
	}
	// Who says that signatures do not matter is not asked for any.
	w.signatures = func(digest.Digest) ([][]byte, error) { return nil, errors.New("asked") }
	if r := w.platform(stanza, Options{IgnoreReleaseSignatures: true}).Releases[0]; !r.Unverified || len(r.Signatures) > 0 {
		t.Errorf("release: %+v", r)
	}
}
