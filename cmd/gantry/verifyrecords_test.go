package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/mirror/verify"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/state/setrecord"
	"github.com/gantry-mirror/gantry/plan"
)

// A layerStore keeps the layers of records in memory.
type layerStore map[digest.Digest][]byte

func (s layerStore) Write(_ context.Context, mediaType string, write func(io.Writer) error) (ocispec.Descriptor, error) {
	var b bytes.Buffer
	err := write(&b)
	d := digest.FromBytes(b.Bytes())
	s[d] = b.Bytes()
	return ocispec.Descriptor{MediaType: mediaType, Digest: d, Size: int64(b.Len())}, err
}

func (s layerStore) Blob(_ context.Context, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(s[desc.Digest][offset:])), nil
}

// record writes the record of a plan to the mirror.
func (w *fixture) record(prefix, name string, p *plan.Plan) {
	w.t.Helper()
	client := mustClient(w.t)
	at := mirror.RegistryPath{Host: w.mirror.Host, Prefix: prefix}
	names, err := at.Repositories(p)
	if err != nil {
		w.t.Fatal(err)
	}
	record := mirror.NewRecord(p, names, &mirror.Report{}, nil)
	revision := setrecord.Revision{Name: name, LastRun: time.Date(2026, 11, 23, 2, 0, 0, 0, time.UTC), From: setrecord.FromPlan}
	if _, err := setrecord.Write(w.t.Context(), mirror.NewImageSets(client, at), layerStore{}, revision, nil, &record, p.Write); err != nil {
		w.t.Fatal(err)
	}
}

func TestVerifyRecords(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	w.refuse(exitUsage, []string{"it has no record of an image set", "set one of --config"}, "verify", w.docker("/none"))
	lock := w.path("plan.json")
	w.must("plan", "-c", w.path("imageset.yaml"), "-o", lock)
	w.must("mirror", "--plan", lock, w.docker("/ocp"))
	p := w.planIn(lock)
	one, err := registrytest.Image("one")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.source.Client().Push(t.Context(), "team/one", "v1", one); err != nil {
		t.Fatal(err)
	}
	other := w.path("other.json")
	w.must("plan", "-c", w.config("other.yaml", "  additionalImages:\n  - name: "+w.source.Host+"/team/one:v1\n"), "-o", other)
	w.record("ocp", "night", p)
	w.record("ocp", "day", w.planIn(other))

	verified := func(code int, args ...string) *verify.VerifiedRegistry {
		t.Helper()
		o := w.gantry(append([]string{"verify", w.docker("/ocp"), "-o", "json"}, args...)...)
		var result verify.VerifiedRegistry
		if err := json.Unmarshal([]byte(o.stdout), &result); err != nil || o.code != code {
			t.Fatalf("%d, %v\n%s%s", o.code, err, o.stdout, o.stderr)
		}
		return &result
	}
	if r := verified(exitOK, "--name", "night"); len(r.ImageSets) != 1 || r.ImageSets[0].Images != len(p.Images) {
		t.Errorf("%+v", r.ImageSets)
	}
	r := verified(exitMismatch)
	if len(r.Missing) != 1 || !strings.HasSuffix(r.Missing[0].Source, "team/one:v1") || r.Images < len(p.Images)+1 {
		t.Errorf("%+v", r)
	}
	day := slices.IndexFunc(r.ImageSets, func(s verify.VerifiedImageSet) bool { return s.Name == "day" })
	if day < 0 || r.ImageSets[day].Missing != 1 || len(r.ImageSets) < 2 {
		t.Errorf("%+v", r.ImageSets)
	}
	w.must("mirror", "--plan", other, w.docker("/ocp"))
	if o := w.must("verify", "--deep", w.docker("/ocp")); !strings.Contains(o.stdout, "Image set day, revision 1 of 2026-11-23 02:00 UTC: 1 image.\n") {
		t.Errorf("%s", o.stdout)
	}
	w.refuse(exitUsage, []string{"has no record of the image set x"}, "verify", "--name", "x", w.docker("/ocp"))

	// A record that the mirror lost in part proves nothing.
	_, record, err := mustClient(t).Manifest(t.Context(), mirror.RegistryPath{Host: w.mirror.Host, Prefix: "ocp"}.OwnRepository(setrecord.Repository).WithTag(setrecord.Tag("day")))
	if err != nil {
		t.Fatal(err)
	}
	var manifest ocispec.Manifest
	if err := json.Unmarshal(record, &manifest); err != nil {
		t.Fatal(err)
	}
	for _, layer := range manifest.Layers {
		w.del("ocp/gantry-" + setrecord.Repository + "/blobs/" + layer.Digest.String())
	}
	w.refuse(exitMismatch, []string{"image set", "day", "write its record again"}, "verify", w.docker("/ocp"))
}

// TestVerifyPublishedCatalog checks that verify asks for what the catalog names that is still published because
// the newer one was withheld.
func TestVerifyPublishedCatalog(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	isc := w.operators("lantern")
	w.must("mirror", "-c", isc, w.docker("/site"))
	w.operators("tidewater")
	w.source.Script(registrytest.Rule{Path: "/tidewater/proxy/manifests/", Action: registrytest.Refuse(http.StatusNotFound, "MANIFEST_UNKNOWN")})
	w.refuse(exitPartial, []string{"withheld"}, "mirror", "-c", isc, w.docker("/site"))
	verified := func() *verify.VerifiedRegistry {
		t.Helper()
		o := w.gantry("verify", w.docker("/site"), "-o", "json")
		var result verify.VerifiedRegistry
		if err := json.Unmarshal([]byte(o.stdout), &result); err != nil || o.code != exitMismatch {
			t.Fatalf("%d, %v\n%s%s", o.code, err, o.stdout, o.stderr)
		}
		return &result
	}
	of := func(r *verify.VerifiedRegistry, part string) (all []mirror.MissingImage) {
		for _, m := range r.Missing {
			if strings.Contains(m.Repository, part) {
				all = append(all, m)
			}
		}
		return all
	}
	before := verified()
	index := of(before, "operator-index")
	if len(index) != 1 || !strings.HasPrefix(index[0].Problem, "it is not published; the mirror still publishes sha256:") {
		t.Errorf("%+v", index)
	}
	if missing := of(before, "lantern"); len(missing) > 0 {
		t.Errorf("%+v", missing)
	}
	repositories, err := w.mirror.Repositories("site/lantern/ui")
	if err != nil || len(repositories) == 0 {
		t.Fatal(repositories, err)
	}
	for _, d := range repositories[0].Tags {
		w.del("site/lantern/ui/manifests/" + d.String())
	}
	missing := of(verified(), "lantern/ui")
	if len(missing) == 0 || !strings.Contains(missing[0].Problem, "of revision 1, whose catalog is still published") {
		t.Errorf("%+v", missing)
	}
}

// TestStatusUnreadableRecord checks that status does not wait long for a record that the registry cannot read, lists
// the others, and says what to do.
func TestStatusUnreadableRecord(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	lock := w.path("plan.json")
	w.must("plan", "-c", w.path("imageset.yaml"), "-o", lock)
	w.record("ocp", "day", w.planIn(lock))
	w.record("ocp", "night", w.planIn(lock))
	w.mirror.Script(registrytest.Rule{Path: "/manifests/night", Action: registrytest.Refuse(http.StatusInternalServerError, "UNKNOWN")})
	w.mirror.ResetLog()
	o := w.gantry("status", w.docker("/ocp"))
	if o.code != exitError || !strings.Contains(o.stdout, "day ") || !strings.Contains(o.stderr, "which writes its record again") {
		t.Errorf("%d\n%s%s", o.code, o.stdout, o.stderr)
	}
	asked := 0
	for _, r := range w.mirror.Log() {
		if strings.Contains(r.Path, "/manifests/night") {
			asked++
		}
	}
	if asked != 1+statusRetries {
		t.Errorf("%d requests", asked)
	}
}

func mustClient(t *testing.T) *remote.Client {
	t.Helper()
	client, err := remote.New(remote.Options{Side: remote.Destination})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}
