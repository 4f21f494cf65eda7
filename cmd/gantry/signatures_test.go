package main

import (
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// signedSource has an image for several platforms with everything that can belong to an image.
type signedSource struct {
	*fixture
	client *registrytest.Client
	root   ocispec.Descriptor
	child  digest.Digest // of the first platform
	// attached are the manifests that belong to the image: by tag, or by digest.
	attached map[string]digest.Digest
	lists    map[digest.Digest][]ocispec.Descriptor // of referrers, by subject
	isc      string
}

const signedRepository = "vendor/app"

// newSignedSource starts two registries, the source with a signed image. Neither has the referrers API
// if o is for a real one.
func newSignedSource(t *testing.T, source, mirror *registrytest.Server) *signedSource {
	t.Helper()
	notAgain(t)
	w := &signedSource{fixture: &fixture{t: t, dir: registrytest.TempDir(t), source: source, mirror: mirror}, client: source.Client(), attached: map[string]digest.Digest{}, lists: map[digest.Digest][]ocispec.Descriptor{}}
	w.surroundings(w.write("registries.conf", ""), "")
	index, err := registrytest.Index("signed")
	fail.On(t, err)
	if w.root, err = registrytest.Descriptor(index); err != nil {
		t.Fatal(err)
	}
	if _, err := w.client.Push(t.Context(), signedRepository, "v1", index); err != nil {
		t.Fatal(err)
	}
	list, err := index.IndexManifest()
	fail.On(t, err)
	w.child = digest.Digest(list.Manifests[0].Digest.String())
	w.isc = w.config("imageset.yaml", "  additionalImages:\n  - name: "+source.Host+"/"+signedRepository+":v1\n")
	return w
}

// sign adds an image of cosign.
func (w *signedSource) sign(subject digest.Digest, ending, text string) {
	w.t.Helper()
	d, err := w.client.PushSignature(w.t.Context(), signedRepository, subject, ending, text)
	fail.On(w.t, err)
	w.attached["sha256-"+subject.Encoded()+ending] = d
}

// refer adds a referrer, and lists it under a tag if the source has no API for that.
func (w *signedSource) refer(subject ocispec.Descriptor, tag bool, text string) ocispec.Descriptor {
	w.t.Helper()
	desc, err := w.client.PushReferrer(w.t.Context(), signedRepository, registrytest.Referrer{
		Subject: subject, ArtifactType: "application/vnd.dev.sigstore.bundle.v0.3+json", Text: text, Annotations: map[string]string{"text": text},
	})
	w.lists[subject.Digest] = append(w.lists[subject.Digest], desc)
	if err == nil && tag {
		err = w.client.PushReferrersTag(w.t.Context(), signedRepository, subject.Digest, w.lists[subject.Digest]...)
	}
	fail.On(w.t, err)
	w.attached[desc.Digest.String()] = desc.Digest
	return desc
}

// signEverything adds signatures of all kinds.
func (w *signedSource) signEverything(tag bool) {
	w.sign(w.root.Digest, ".sig", "root")
	w.sign(w.child, ".sig", "child")
	w.sign(w.root.Digest, ".att", "root")
	w.sign(w.root.Digest, ".sbom", "root")
	w.sign(w.attached["sha256-"+w.root.Digest.Encoded()+".sbom"], ".sig", "of the SBOM")
	bundle := w.refer(w.root, tag, "a bundle")
	w.refer(ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: w.child, Size: 1}, tag, "a bundle of the child")
	w.refer(bundle, tag, "a bundle of the bundle")
}

// check pulls everything from the mirror and compares digests.
func (w *signedSource) check(repository string) {
	w.t.Helper()
	at := w.mirror.Client()
	for name, want := range w.attached {
		got, err := at.Pull(w.t.Context(), repository, name)
		if err != nil || got.Digest != want {
			w.t.Errorf("%s is %s, want %s: %v", name, got.Digest, want, err)
		}
	}
	if got, err := at.Pull(w.t.Context(), repository, "v1"); err != nil || got.Digest != w.root.Digest {
		w.t.Errorf("v1 is %s: %v", got.Digest, err)
	}
}

func TestSignaturesOfRealRegistries(t *testing.T) {
	t.Parallel()
	w := newSignedSource(t, registrytest.Start(t, registrytest.Options{}), registrytest.Start(t, registrytest.Options{}))
	w.signEverything(true)
	w.must("mirror", "-c", w.isc, w.docker("/direct"))
	w.check("direct/" + signedRepository)
	w.must("verify", "-c", w.isc, w.docker("/direct"))

	// A run with nothing new requests one signature of an image again, and --check-blobs all of them.
	w.source.ResetLog()
	w.mirror.ResetLog()
	w.says(w.must("mirror", "-c", w.isc, w.docker("/direct")).stdout, "Nothing to copy")
	if all := w.requestedTags(); len(all) != 1 || !strings.HasSuffix(all[0], "sha256-"+w.root.Digest.Encoded()+".sig") {
		t.Errorf("a second run requests %v", all)
	}
	w.sign(w.child, ".sig", "child, again")
	w.source.ResetLog()
	w.must("mirror", "-c", w.isc, "--check-blobs", w.docker("/direct"))
	if all := w.requestedTags(); len(all) != 5 {
		t.Errorf("a run with --check-blobs requests %v", all)
	}
	w.check("direct/" + signedRepository)

	w.must("mirror", "-c", w.isc, "file://"+w.path("disk"))
	w.must("mirror", "--from", "file://"+w.path("disk"), w.docker("/disk"), "--workspace", w.path("site"))
	w.check("disk/" + signedRepository)

	// A new signature of an old image is found, and so is one more referrer. What the mirror has stays:
	// another program may have added it.
	own, err := w.mirror.Client().PushReferrer(t.Context(), "direct/"+signedRepository, registrytest.Referrer{Subject: w.root, ArtifactType: "application/own", Text: "own"})
	fail.On(t, err)
	have := w.listed("direct/"+signedRepository, w.root.Digest)
	fail.On(t, w.mirror.Client().PushReferrersTag(t.Context(), "direct/"+signedRepository, w.root.Digest, append(have, own)...))
	w.sign(w.root.Digest, ".sig", "again")
	w.refer(w.root, true, "another bundle")
	w.says(w.must("mirror", "-c", w.isc, w.docker("/direct")).stdout, "2 images copied")
	w.check("direct/" + signedRepository)
	if got := w.listed("direct/"+signedRepository, w.root.Digest); len(got) != 3 || got[2].ArtifactType != "application/vnd.dev.sigstore.bundle.v0.3+json" || got[2].Annotations["text"] != "another bundle" {
		t.Errorf("the mirror lists %+v", got)
	}

	// A list that lost an entry is found and repaired.
	fail.On(t, w.mirror.Client().PushReferrersTag(t.Context(), "direct/"+signedRepository, w.root.Digest, own))
	if o := w.gantry("verify", "-c", w.isc, w.docker("/direct")); o.code != exitMismatch || !strings.Contains(o.stdout, "the registry does not list it as a referrer of "+w.root.Digest.String()) {
		t.Errorf("verify ended with %d and prints\n%s", o.code, o.stdout)
	}
	w.must("mirror", "-c", w.isc, w.docker("/direct"))
	w.must("verify", "-c", w.isc, w.docker("/direct"))
	if got := w.listed("direct/"+signedRepository, w.root.Digest); len(got) != 3 {
		t.Errorf("the mirror lists %+v", got)
	}
}

// requestedTags returns the paths of the tags of cosign that were requested from the source.
func (w *signedSource) requestedTags() (all []string) {
	for _, r := range w.source.Log() {
		if strings.Contains(r.Path, "/manifests/sha256-") && slices.Contains([]string{".sig", ".att", ".sbom"}, path.Ext(r.Path)) {
			all = append(all, r.Path)
		}
	}
	return all
}

// listed returns the list of referrers under a tag of the mirror.
func (w *signedSource) listed(repository string, subject digest.Digest) []ocispec.Descriptor {
	w.t.Helper()
	list, err := w.mirror.Client().ReferrersTag(w.t.Context(), repository, subject)
	fail.On(w.t, err)
	return list
}

// TestSignaturesWithTheReferrersAPI copies between registries that list referrers themselves.
func TestSignaturesWithTheReferrersAPI(t *testing.T) {
	t.Parallel()
	w := newSignedSource(t, registrytest.New(t, registrytest.Options{}), registrytest.New(t, registrytest.Options{}))
	w.signEverything(false)
	w.must("mirror", "-c", w.isc, w.docker(""))
	w.check(signedRepository)
	for _, r := range w.mirror.Log() {
		if r.Method == http.MethodPut && strings.HasSuffix(r.Path, "/manifests/sha256-"+w.root.Digest.Encoded()) {
			t.Errorf("the list of referrers was pushed under a tag, although the mirror has the API")
		}
	}
	w.must("verify", "-c", w.isc, w.docker(""))
	// An image that is known by its digest alone keeps the tag for the list of referrers free.
	pinned := w.config("pinned.yaml", "  additionalImages:\n  - name: "+w.source.Host+"/"+signedRepository+"@"+w.root.Digest.String()+"\n")
	to := &signedSource{fixture: &fixture{t: t, mirror: registrytest.Start(t, registrytest.Options{})}}
	w.must("mirror", "-c", pinned, to.docker(""))
	for tag, want := range map[string]int{"sha256-" + w.root.Digest.Encoded() + ".image": 3, "sha256-" + w.root.Digest.Encoded(): 2} {
		if got, err := to.mirror.Client().Pull(t.Context(), signedRepository, tag); err != nil || got.Manifests < want {
			t.Errorf("%s: %+v, %v", tag, got, err)
		}
	}
	w.must("verify", "-c", pinned, to.docker(""))
}

// TestRemoveSignatures mirrors without signatures, by a flag, by the configuration and from an archive.
func TestRemoveSignatures(t *testing.T) {
	t.Parallel()
	w := newSignedSource(t, registrytest.New(t, registrytest.Options{}), registrytest.Start(t, registrytest.Options{}))
	w.signEverything(false)
	without := w.write("without.yaml", strings.Replace(readText(t, w.isc), "mirror:\n", "mirror:\n  signatures: remove\n", 1))
	w.must("mirror", "-c", w.isc, "file://"+w.path("disk"), "--workspace", w.path("third"))
	for prefix, args := range map[string][]string{
		"flag":  {"-c", w.isc, "--remove-signatures"},
		"field": {"-c", without, "--workspace", w.path("other")},
		"disk":  {"--from", "file://" + w.path("disk"), "--remove-signatures", "--workspace", w.path("site")},
	} {
		w.must(append([]string{"mirror", w.docker("/" + prefix)}, args...)...)
		if all := contentBelow(t, w.mirror, prefix); len(all) != 1 || len(all[0].Tags) != 1 || all[0].Tags["v1"] != w.root.Digest || len(all[0].Manifests) != 3 {
			t.Errorf("%s has %+v", prefix, all)
		}
	}
}

func readText(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	fail.On(t, err)
	return string(text)
}

// TestSignaturesOfLayoutsAndServedArchives copies signatures out of a layout, and lists them where an
// archive is served.
func TestSignaturesOfLayoutsAndServedArchives(t *testing.T) {
	t.Parallel()
	w := newSignedSource(t, registrytest.New(t, registrytest.Options{}), registrytest.Start(t, registrytest.Options{}))
	w.signEverything(false)
	layout := "oci://" + w.path("layout")
	w.must("mirror", "-c", w.isc, layout)
	w.must("verify", layout)
	fromLayout := w.config("layout.yaml", "  additionalImages:\n  - name: "+layout+":"+signedRepository+":v1\n    targetRepo: from/layout\n    targetTag: v1\n")
	w.must("mirror", "-c", fromLayout, w.docker(""))
	w.check("from/layout")

	w.must("mirror", "-c", w.isc, "file://"+w.path("disk"))
	served := serveDisk(w.fixture, "file://"+w.path("disk"))
	direct := registrytest.NewClient(served.Address)
	for name, want := range w.attached {
		if got, err := direct.Pull(t.Context(), signedRepository, name); err != nil || got.Digest != want {
			t.Errorf("%s is %s: %v", name, got.Digest, err)
		}
	}
	for subject, want := range w.lists {
		list, err := direct.Referrers(t.Context(), signedRepository, subject)
		if err != nil || len(list) != len(want) || list[0].Digest != want[0].Digest || list[0].ArtifactType != want[0].ArtifactType {
			t.Errorf("%s has %+v: %v", subject, list, err)
		}
	}
}
