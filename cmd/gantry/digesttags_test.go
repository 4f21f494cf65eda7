package main

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// attach attaches an artifact to an image of the mirror as clients do by the OCI specification ("Pushing
// Manifests with Subject") at a registry without the referrers API.
func (w *signedSource) attach(repository string, subject ocispec.Descriptor, text string) digest.Digest {
	w.t.Helper()
	ctx, at := w.t.Context(), w.mirror.Client()
	desc, err := at.PushReferrer(ctx, repository, registrytest.Referrer{Subject: subject, ArtifactType: "application/spdx+json", Text: text})
	if err != nil {
		w.t.Fatal(err)
	}
	list := ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex}
	if raw, ok := w.manifest(repository, plan.ReferrersTag(subject.Digest)); ok {
		if digest.FromBytes(raw) == subject.Digest {
			w.t.Fatalf("attaching to %s@%s: the manifest at the tag for its referrers is the image", repository, subject.Digest)
		}
		if err := json.Unmarshal(raw, &list); err != nil || list.MediaType != ocispec.MediaTypeImageIndex {
			w.t.Fatalf("attaching to %s@%s: the manifest is not an OCI index: %v", repository, subject.Digest, err)
		}
	}
	if err := at.PushReferrersTag(ctx, repository, subject.Digest, append(list.Manifests, desc)...); err != nil {
		w.t.Fatal(err)
	}
	return desc.Digest
}

// manifest returns a manifest of the mirror, if it exists.
func (w *signedSource) manifest(repository, name string) (raw []byte, ok bool) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, w.mirror.URL()+"/v2/"+repository+"/manifests/"+name, http.NoBody)
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Accept", strings.Join([]string{ocispec.MediaTypeImageIndex, ocispec.MediaTypeImageManifest, string(types.DockerManifestList), string(types.DockerManifestSchema2)}, ", "))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	if raw, err = io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusNotFound {
		w.t.Fatalf("%s:%s: %s, %v", repository, name, resp.Status, err)
	}
	return raw, resp.StatusCode == http.StatusOK
}

// wantTags checks that an image has a tag of its own, and that its list of referrers has exactly these.
func (w *signedSource) wantTags(repository string, referrers ...digest.Digest) {
	w.t.Helper()
	if raw, ok := w.manifest(repository, plan.DigestTag(w.root.Digest)); !ok || digest.FromBytes(raw) != w.root.Digest {
		w.t.Errorf("%s:%s does not name the image", repository, plan.DigestTag(w.root.Digest))
	}
	w.wantList(repository, referrers...)
}

func (w *signedSource) wantList(repository string, referrers ...digest.Digest) {
	w.t.Helper()
	var list ocispec.Index
	raw, ok := w.manifest(repository, plan.ReferrersTag(w.root.Digest))
	if ok {
		if err := json.Unmarshal(raw, &list); err != nil {
			w.t.Fatal(err)
		}
	}
	var got []digest.Digest
	for _, d := range list.Manifests {
		got = append(got, d.Digest)
		if _, ok := w.manifest(repository, d.Digest.String()); !ok {
			w.t.Errorf("%s lists %s, which is gone", repository, d.Digest)
		}
	}
	slices.Sort(got)
	slices.Sort(referrers)
	if !slices.Equal(got, referrers) {
		w.t.Errorf("%s lists the referrers %v, want %v", repository, got, referrers)
	}
}

// TestReferrersOfPinnedImages mirrors an image by its digest to a registry without the referrers API, where
// other clients attach artifacts to it and the source gains and loses referrers.
func TestReferrersOfPinnedImages(t *testing.T) {
	t.Parallel()
	long(t)
	w := newSignedSource(t, registrytest.Start(t, registrytest.Options{}), registrytest.Start(t, registrytest.Options{}))
	pinned := w.config("pinned.yaml", "  additionalImages:\n  - name: "+w.source.Host+"/"+signedRepository+"@"+w.root.Digest.String()+"\n")
	mirror := func(prefix, isc string, args ...string) outcome {
		t.Helper()
		return w.must(append([]string{"mirror", "-c", isc, w.docker("/" + prefix), "--workspace", w.path("ws-" + prefix)}, args...)...)
	}
	nothing := func(o outcome) {
		t.Helper()
		if !strings.Contains(o.stdout, "Nothing to copy") {
			t.Errorf("it copied something:\n%s", o.stdout)
		}
	}
	prune := func(prefix string) string {
		t.Helper()
		return w.must("prune", "--yes", w.docker("/"+prefix), "--workspace", w.path("ws-"+prefix)).stdout
	}
	at := func(prefix string) string { return prefix + "/" + signedRepository }
	none := []ocispec.Descriptor{}

	// By tag first, then by digest; and by digest alone. Others attach in between.
	mirror("a", w.isc)
	byOthers := w.attach(at("a"), w.root, "SBOM")
	mirror("a", pinned)
	w.wantTags(at("a"), byOthers)
	mirror("b", pinned)
	byOthers = w.attach(at("b"), w.root, "SBOM")
	nothing(mirror("b", pinned))
	second := w.attach(at("b"), w.root, "attestation")
	w.wantTags(at("b"), byOthers, second)

	// A mirror that oc mirror or an earlier version filled: nothing is copied again, and the image gets a tag of
	// its own before its tag becomes a list.
	for _, prefix := range []string{"old", "plan"} {
		if err := w.mirror.Client().Copy(t.Context(), w.source.Client(), signedRepository, "v1", at(prefix), plan.ReferrersTag(w.root.Digest)); err != nil {
			t.Fatal(err)
		}
	}
	w.must("verify", "-c", pinned, w.docker("/old"), "--workspace", w.path("ws-old"))
	w.mirror.ResetLog()
	nothing(mirror("old", pinned))
	for _, r := range w.mirror.Log() {
		if strings.TrimPrefix(r.Repository(), "/") == at("old") && (r.Method == http.MethodPost || r.Method == http.MethodPut && !strings.HasSuffix(r.Path, "/"+plan.DigestTag(w.root.Digest))) {
			t.Errorf("%s %s", r.Method, r.Path)
		}
	}
	if raw, ok := w.manifest(at("old"), plan.ReferrersTag(w.root.Digest)); !ok || digest.FromBytes(raw) != w.root.Digest {
		t.Error("the tag of oc mirror is gone")
	}
	if out := prune("old"); !strings.Contains(out, "Nothing to delete") {
		t.Error(out)
	}

	// The plan of an earlier version neither replaces a list nor takes its tag.
	w.must("plan", "-c", pinned, "--lock", w.path("new.json"), "--workspace", w.path("ws-plan"))
	earlier := w.write("earlier.json", strings.ReplaceAll(w.read("new.json"), plan.DigestTag(w.root.Digest), plan.ReferrersTag(w.root.Digest)))
	for range 2 {
		nothing(w.must("mirror", "--plan", earlier, w.docker("/plan"), "--workspace", w.path("ws-plan")))
		w.must("verify", "--plan", earlier, w.docker("/plan"))
		if err := w.mirror.Client().PushReferrersTag(t.Context(), at("plan"), w.root.Digest, none...); err != nil { // free the tag for others
			t.Fatal(err)
		}
		w.wantTags(at("plan"))
	}

	// The source gains a referrer.
	mirror("d", pinned)
	mirror("c", pinned, "--remove-signatures", "--name", "without")
	bundle := w.refer(w.root, true, "a bundle").Digest
	mirror("d", pinned)
	if out := w.must("prune", w.docker("/d"), "--workspace", w.path("ws-d")).stdout; strings.Contains(out, "sha256-") {
		t.Error(out)
	}
	prune("d")
	w.must("verify", w.docker("/d"))
	w.wantTags(at("d"), bundle)
	mirror("old", pinned)
	w.wantTags(at("old"), bundle)
	mirror("b", pinned)
	w.wantTags(at("b"), bundle, byOthers, second)

	// Two image sets, one of them without signatures.
	mirror("c", pinned, "--name", "with")
	for range 2 {
		nothing(mirror("c", pinned, "--remove-signatures", "--name", "without"))
		nothing(mirror("c", pinned, "--name", "with"))
	}
	prune("c")
	w.wantTags(at("c"), bundle)

	// The source loses it. What others attached stays.
	byOthers = w.attach(at("d"), w.root, "SBOM")
	if err := w.source.Client().PushReferrersTag(t.Context(), signedRepository, w.root.Digest, none...); err != nil {
		t.Fatal(err)
	}
	mirror("d", pinned)
	w.wantTags(at("d"), bundle, byOthers)
	prune("d")
	w.wantTags(at("d"), byOthers)
	w.must("verify", w.docker("/d"))

	// A list of oc mirror, without digests, names the image and not the list of its referrers.
	w.write("list.yaml", "apiVersion: mirror.openshift.io/v2alpha1\nkind: DeleteImageList\nitems:\n- imageName: docker://"+w.source.Host+"/"+signedRepository+"@"+w.root.Digest.String()+
		"\n  imageReference: "+w.docker("/"+at("c")+":"+plan.ReferrersTag(w.root.Digest))+"\n  type: generic\n")
	w.must("delete", "--delete-yaml-file", w.path("list.yaml"), w.docker("/c"), "--workspace", w.path("ws-c"))
	for _, name := range []string{w.root.Digest.String(), bundle.String(), plan.DigestTag(w.root.Digest), plan.ReferrersTag(w.root.Digest)} {
		if _, ok := w.manifest(at("c"), name); ok {
			t.Errorf("%s was not deleted", name)
		}
	}
}
