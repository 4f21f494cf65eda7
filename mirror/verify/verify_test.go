package verify_test

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/mirror/verify"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// byPlan verifies with a plan file.
func byPlan(file string) func(*verify.Options) {
	return func(o *verify.Options) { o.Plan = file }
}

// runs verifies a location.
func runs(s *mirrortest.Site, where string, change ...func(*verify.Options)) (*verify.Result, error) {
	o := s.VerifyOptions("", where)
	for _, c := range change {
		c(&o)
	}
	return verify.Run(s.T.Context(), o)
}

// mismatched verifies a mirror, which must be different from what is planned or recorded.
func mismatched(s *mirrortest.Site, where string, change ...func(*verify.Options)) *verify.VerifiedRegistry {
	s.T.Helper()
	r, err := runs(s, where, change...)
	mirrortest.Refused(s.T, err, advice.Mismatch)
	if r == nil || r.Registry == nil {
		s.T.Fatalf("no result: %v", err)
	}
	return r.Registry
}

// TestOptions checks which options contradict each other, and which files have to exist.
func TestOptions(t *testing.T) {
	t.Parallel()
	const mirror = "docker://localhost:1"
	dir := t.TempDir()
	at := func(locations ...string) verify.Options { return verify.Options{Locations: locations} }
	with := func(o verify.Options, change func(*verify.Options)) verify.Options {
		change(&o)
		return o
	}
	for _, tc := range []struct {
		want string
		o    verify.Options
	}{
		{"nothing to verify", at()},
		{"only an archive can have several locations", at("file://a", mirror)},
		{"Options.Blobs is for docker://", with(at("oci://x"), func(o *verify.Options) { o.Blobs = true })},
		{"Options.ReadBlobs is for docker://", with(at("file://x"), func(o *verify.Options) { o.ReadBlobs = true })},
		{"Options.Resources is for docker://", with(at("file://x"), func(o *verify.Options) { o.Resources = "y" })},
		{"cannot be verified", at("oci://")},
		{"cannot be verified", at("file://")},
		{"cannot be verified", at("https://mirror.example.com")},
		{"no such file", at("oci://" + dir + "/absent")},
		{"that the disk is mounted", at("file://" + dir + "/absent")},
		{"set manifest", at("file://" + dir)},
		{"set none of Options.Config", with(at("file://"+dir), func(o *verify.Options) { o.Config = "x" })},
		{"the plan has a name", with(at(mirror), func(o *verify.Options) { o.Plan, o.Name = "x", "y" })},
		{"set one of Options.Config", with(at(mirror), func(o *verify.Options) { o.Config, o.Plan = "x", "y" })},
		{"absent.json", with(at(mirror), func(o *verify.Options) { o.Plan = dir + "/absent.json" })},
		{"absent.yaml", with(at(mirror), func(o *verify.Options) { o.Config = dir + "/absent.yaml" })},
		{"write file:///", with(at(mirror), func(o *verify.Options) { o.From = []string{dir} })},
		{"docker://", with(at("docker://"), func(o *verify.Options) { o.Plan = "x" })},
	} {
		tc.o.Workspace = dir + "/workspace"
		_, err := verify.Run(t.Context(), tc.o)
		mirrortest.Refused(t, err, advice.Input, tc.want)
	}
}

// TestMirror verifies a mirror with a configuration, a plan and an archive, and finds what it does not have.
func TestMirror(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	isc, where := s.Path("imageset.yaml"), s.Docker("")
	lock, p := s.PlanFile(isc, "plan.json")
	_, err := runs(s, where, byPlan(lock))
	mirrortest.Refused(t, err, advice.Mismatch, "are not in the mirror")
	s.Mirrored(isc, where)
	disk := s.Exported(isc, "disk")
	for name, change := range map[string]func(*verify.Options){
		"a configuration": func(o *verify.Options) { o.Config = isc },
		"a plan":          byPlan(lock),
		"an archive":      func(o *verify.Options) { o.From = []string{disk} },
	} {
		if r := s.Verified("", where, change).Registry; r.Images != len(p.Images) || len(r.Missing) > 0 || r.Destination != where {
			t.Errorf("with %s: %+v", name, r)
		}
	}
	// Under another prefix, the mirror has none of the images.
	if r := mismatched(s, s.Docker("other"), byPlan(lock)); len(r.Missing) != len(p.Images) || r.Missing[0].Problem != "it is missing" {
		t.Errorf("%+v", r)
	}
	// The mirror reports a tag as missing, and then one platform of an index.
	moved := slices.IndexFunc(p.Images, func(img plan.Image) bool { return img.Kind == plan.RelatedImage })
	img := &p.Images[moved]
	s.Mirror.Script(registrytest.Rule{Path: "/v2/" + img.Repository + "/manifests/" + img.Tags[0], Action: registrytest.Status(http.StatusNotFound)})
	if r := mismatched(s, where, byPlan(lock)); len(r.Missing) != 1 || r.Missing[0].Source != img.Source || !strings.Contains(r.Missing[0].Problem, "the tag "+img.Tags[0]) {
		t.Errorf("%+v, want %s", r.Missing, img.Source)
	}
	index := slices.IndexFunc(p.Manifests, func(m plan.Manifest) bool { return len(m.Manifests) > 1 })
	child := p.Manifests[index].Manifests[0]
	s.Mirror.Script(registrytest.Rule{Path: "/manifests/" + child.String(), Action: registrytest.Status(http.StatusNotFound)})
	if r := mismatched(s, where, byPlan(lock)); !slices.ContainsFunc(r.Missing, func(m mirror.MissingImage) bool {
		return slices.Contains(m.Manifests, child) && strings.Contains(m.Problem, "parts (platforms and what belongs to them) are missing")
	}) {
		t.Errorf("%+v", r.Missing)
	}
	s.Mirror.Script(registrytest.Rule{Path: "/manifests/", Action: registrytest.Status(http.StatusForbidden)})
	_, err = runs(s, where, byPlan(lock))
	mirrortest.Refused(t, err, advice.Unauthorized)
}

// TestPlanWithGaps verifies the mirror of a run whose source had no manifest for an image.
func TestPlanWithGaps(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	s.Source.Script(registrytest.Rule{Path: "/lantern/store/manifests/", Action: registrytest.Status(http.StatusNotFound)})
	isc := s.Path("imageset.yaml")
	_, err := mirroring.Run(t.Context(), s.MirrorOptions(isc, s.Docker("")))
	mirrortest.Refused(t, err, advice.Partial)
	r := mismatched(s, s.Docker(""), func(o *verify.Options) { o.Selection = selection.Selection{Config: isc} })
	has := func(source, problem string) bool {
		return slices.ContainsFunc(r.Missing, func(m mirror.MissingImage) bool {
			return strings.Contains(m.Source, source) && strings.Contains(m.Problem, problem)
		})
	}
	if !has("lantern/store", "missing at the source") || !has(mirrortest.Acme+":v4.20", "it is missing") {
		t.Errorf("%+v", r.Missing)
	}
}

// TestDamagedArchive finds damage of an archive, and the images that it breaks.
func TestDamagedArchive(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	disk := s.Exported(s.Path("imageset.yaml"), "disk")
	if r := s.Verified("", disk).Archive; len(r.Damage) > 0 || len(r.Broken) > 0 || r.Bytes == 0 || r.Images == 0 {
		t.Errorf("%+v", r)
	}
	_, p := s.PlanFile(s.Path("imageset.yaml"), "plan.json")
	img := &p.Images[0]
	volume := s.Path("disk/gantry-000001.0001.tar")
	whole, err := os.ReadFile(volume)
	fail.On(t, err)
	at := strings.Index(string(whole), "blobs/sha256/"+img.Digest.Encoded()+"\x00") // the header of the manifest
	if at < 0 {
		t.Fatalf("no %s in the volume", img.Digest)
	}
	altered := slices.Clone(whole)
	altered[at+512+10] ^= 1
	damaged := func(content []byte, words ...string) *verify.VerifiedArchive {
		t.Helper()
		err := os.Remove(volume)
		if err == nil && content != nil {
			err = os.WriteFile(volume, content, 0o600)
		}
		fail.On(t, err)
		r, err := runs(s, disk)
		mirrortest.Refused(t, err, advice.Mismatch, words...)
		return r.Archive
	}
	r := damaged(altered, "is damaged", "again")
	if len(r.Damage) != 1 || r.Damage[0].File != "gantry-000001.0001.tar" || !strings.Contains(r.Damage[0].Entry, img.Digest.Encoded()) ||
		!slices.Contains(r.Broken, img.Source) || len(r.Broken) >= r.Images || r.PlanLost {
		t.Errorf("an altered manifest of %s: %+v", img.Source, r)
	}
	if r = damaged(whole[:len(whole)/2]); len(r.Damage) != 1 || !strings.Contains(r.Damage[0].Problem, "truncated") || len(r.Broken) == 0 {
		t.Errorf("half a volume: %+v", r)
	}
	if r = damaged(nil); !r.PlanLost || r.Damage[0].Problem != "missing" {
		t.Errorf("no volume: %+v", r)
	}
	s.Write("disk/gantry-000001.json", "{}")
	_, err = runs(s, disk)
	mirrortest.Refused(t, err, advice.Mismatch, "gantry-000001.json")
}
