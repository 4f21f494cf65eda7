package main

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/registry/doctor"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// ociTypes begins the media types that OCI defines.
const ociTypes = "application/vnd.oci."

// refuseOCI is the script of a registry that accepts only the media types of Docker.
func refuseOCI() registrytest.Rule {
	return registrytest.Rule{Method: http.MethodPut, Path: "/manifests/", Action: registrytest.RefuseType(ociTypes, http.StatusUnsupportedMediaType, "MANIFEST_INVALID")}
}

// TestDestFormat mirrors images of OCI and of Docker to a registry that refuses the media types of OCI. The
// error without --dest-format names the flag. With it, everything arrives with the types of Docker: directly,
// over a disk and from a plan. Every reference of the filtered catalog is in the mirror, with all that its
// index names, except for what the manifests of a bundle name, which is listed.
func TestDestFormat(t *testing.T) {
	t.Parallel()
	long(t)
	w, operand := rewriteFixture(t)
	w.mirror.Script(refuseOCI())
	cfg := w.config("imageset.yaml", "  operators:\n  - catalog: dir://"+w.path("catalog")+"\n    targetCatalog: op/catalog\n  additionalImages:\n  - name: images.example.net/tools/app:v1\n")

	found := w.doctor(exitError, w.docker("/doctor"))
	if f := found["OCI media types"]; f.State != doctor.Problem || !strings.Contains(f.Remedy, "--dest-format docker") {
		t.Errorf("%+v", f)
	}
	if f := found["deletion"]; f.State != doctor.OK {
		t.Errorf("%+v", f)
	}
	w.refuse(exitPartial, []string{"MANIFEST_INVALID", "mirror with --dest-format docker"}, "mirror", "-c", cfg, w.docker("/refused"), "--workspace", w.path("refused"))
	w.refuse(exitUsage, []string{"--dest-format", "docker, oci, keep"}, "mirror", "-c", cfg, "--dest-format", "v2s2", w.docker("/no"), "--workspace", w.path("refused"))
	w.refuse(exitUsage, []string{"--dest-format docker", "oci:// layout"}, "mirror", "-c", cfg, "--dest-format", "docker", "oci://"+w.path("layout"), "--workspace", w.path("refused"))

	planned := w.must("plan", "-c", cfg, "--dest-format", "docker", "--lock", w.path("plan.json"))
	w.says(planned.stdout, "Converted to the media types of Docker\n", "images.example.net/tools/app:v1  becomes sha256:",
		"but clusters do not find them, because they request the digests of the originals (named by the manifests in the image of a bundle)\n  "+operand+"  becomes sha256:", "required by op.v1.0.0")
	w.says(planned.stderr, "clusters do not find images that were converted")

	w.says(w.must("mirror", "-c", cfg, "--dest-format", "docker", w.docker("/direct")).stdout, "2 images are converted", "--dest-format docker prints them")
	w.must("mirror", "-c", cfg, "--dest-format", "docker", "file://"+w.path("disk"), "--workspace", w.path("export"))
	w.must("mirror", "--from", "file://"+w.path("disk"), w.docker("/carried"), "--workspace", w.path("far"))
	w.must("mirror", "--plan", w.path("plan.json"), w.docker("/again"), "--workspace", w.path("again"))
	for _, args := range [][]string{{"--from", "file://" + w.path("disk")}, {"--plan", w.path("plan.json")}} {
		w.refuse(exitUsage, []string{"--dest-format"}, append([]string{"mirror", "--dest-format", "docker", w.docker("/no")}, args...)...)
	}

	p := readPlanFile(t, w.path("plan.json"))
	to := w.mirror.Client()
	for _, prefix := range []string{"direct", "carried", "again"} {
		for _, img := range p.Images {
			got, err := to.Pull(t.Context(), prefix+"/"+img.Repository, img.Tags[0])
			if err != nil || got.Digest != img.Digest {
				t.Errorf("%s: %s is %s, want %s: %v", prefix, img.Source, got.Digest, img.Digest, err)
			}
		}
	}
	for _, m := range p.Manifests {
		if strings.HasPrefix(m.MediaType, ociTypes) {
			t.Errorf("the plan has a manifest of type %s", m.MediaType)
		}
	}
	w.must("verify", "-c", cfg, "--dest-format", "docker", w.docker("/direct"))
	w.must("verify", "--from", "file://"+w.path("disk"), w.docker("/carried"), "--workspace", w.path("far"))
	if o := w.gantry("diff", "-c", cfg, "--dest-format", "docker", w.docker("/direct")); o.code != exitOK {
		t.Errorf("%d: %s%s", o.code, o.stdout, o.stderr)
	}
	w.refuse(exitUsage, []string{"--dest-format"}, "diff", w.docker("/direct"), "--dest-format", "docker")
	w.says(w.must("explain", "-c", cfg, "--dest-format", "docker", "op/operand").stdout, "converted to the media types of Docker from sha256:")
	w.says(w.must("explain", "--plan", w.path("plan.json"), "op/operand").stdout, "converted to the media types of Docker from sha256:", "clusters do not find it")

	// Records and leases are there, too, in a form that the registry accepts.
	w.says(w.must("status", w.docker("/direct")).stdout, "imageset", "1         1     1 catalog (1 package), 4 images")
	if second := w.must("mirror", "-c", cfg, "--dest-format", "docker", w.docker("/direct"), "--workspace", w.path("other")); strings.Contains(second.stderr, "lease") || strings.Contains(second.stderr, "recorded") {
		t.Error(second.stderr)
	}
	w.must("verify", w.docker("/direct"), "--workspace", w.path("verify"))
	w.says(w.must("prune", w.docker("/direct"), "--workspace", w.path("prune")).stdout, "Nothing to delete")

	w.mirror.ResetLog()
	second := w.must("mirror", "-c", cfg, "--dest-format", "docker", w.docker("/direct"))
	w.says(second.stderr+second.stdout, "Nothing to copy: all 4 images")
	for _, r := range w.mirror.Log() {
		if r.Method == http.MethodPost || r.Method == http.MethodPut && !strings.Contains(r.Path, "gantry") {
			t.Errorf("the second run sent %s %s", r.Method, r.Path)
		}
	}
}

// TestDestFormatPrune deletes converted images that are no longer wanted, and earlier records, at a registry that
// refuses the media types of OCI.
func TestDestFormatPrune(t *testing.T) {
	t.Parallel()
	long(t)
	w, _ := rewriteFixture(t)
	w.mirror.Script(refuseOCI())
	stanza := "  operators:\n  - catalog: dir://" + w.path("catalog") + "\n    targetCatalog: op/catalog\n"
	w.must("mirror", "-c", w.config("imageset.yaml", stanza+"  additionalImages:\n  - name: images.example.net/tools/app:v1\n"), "--dest-format", "docker", w.docker("/ocp"))
	before, err := w.mirror.Client().Pull(t.Context(), "ocp/tools/app", "v1")
	if err != nil {
		t.Fatal(err)
	}
	w.must("mirror", "-c", w.config("imageset.yaml", stanza), "--dest-format", "docker", w.docker("/ocp"))
	w.must("prune", w.docker("/ocp"), "--yes")
	if _, err := w.mirror.Client().Pull(t.Context(), "ocp/tools/app", before.Digest.String()); err == nil {
		t.Error("the image was not deleted")
	}
	w.must("verify", w.docker("/ocp"))
	if status := w.must("status", w.docker("/ocp"), "--revisions").stdout; strings.Count(status, "1 catalog") != 1 {
		t.Errorf("an earlier revision is still there: %s", status)
	}
}

// TestDestFormatRefusesArtifacts checks that files and charts, which have no form with Docker's media types, end
// the run before anything is copied.
func TestDestFormatRefusesArtifacts(t *testing.T) {
	t.Parallel()
	w := newEmptyFixture(t, registrytest.Options{})
	if err := os.WriteFile(w.path("notes.txt"), []byte("notes"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := w.config("imageset.yaml", "  files:\n  - path: "+w.path("notes.txt")+"\n")
	w.refuse(exitUsage, []string{"the configuration has files, which are OCI artifacts"}, "mirror", "-c", cfg, "--dest-format", "docker", w.docker("/no"))
}

// TestDestFormatForgotten checks that a run without the format of the run before is refused, on other hosts, too, before
// anything is copied, and that keep changes it. A plan has its format in it: that is a warning.
func TestDestFormatForgotten(t *testing.T) {
	t.Parallel()
	long(t)
	w, _ := rewriteFixture(t)
	cfg := w.config("imageset.yaml", "  operators:\n  - catalog: dir://"+w.path("catalog")+"\n    targetCatalog: op/catalog\n  additionalImages:\n  - name: images.example.net/tools/app:v1\n")
	w.must("mirror", "-c", cfg, "--dest-format", "docker", w.docker("/ocp"))
	w.must("plan", "-c", cfg, "--lock", w.path("plan.json"))
	digestOf := func() string {
		got, err := w.mirror.Client().Pull(t.Context(), "ocp/tools/app", "v1")
		if err != nil {
			t.Fatal(err)
		}
		return got.Digest.String()
	}
	converted := digestOf()
	refused := []string{"mirrored to " + w.docker("/ocp") + " with --dest-format docker", "set --dest-format to docker as before, or to keep"}
	w.refuse(exitUsage, refused, "mirror", "-c", cfg, w.docker("/ocp"))
	w.refuse(exitUsage, refused, "mirror", "-c", cfg, w.docker("/ocp"), "--dry-run")
	w.refuse(exitUsage, refused, "mirror", "-c", cfg, w.docker("/ocp"), "--workspace", w.path("other"))
	if digestOf() != converted {
		t.Error("the image was replaced")
	}
	w.must("mirror", "-c", cfg, w.docker("/elsewhere"), "--workspace", w.path("other"))
	w.must("mirror", "-c", cfg, "--dest-format", "docker", w.docker("/ocp"))
	w.says(w.must("mirror", "--plan", w.path("plan.json"), w.docker("/ocp"), "--dry-run").stderr, "its images are converted no longer")
	w.must("mirror", "-c", cfg, "--dest-format", "keep", w.docker("/ocp"))
	if digestOf() == converted {
		t.Error("the image was not replaced")
	}
	w.must("mirror", "-c", cfg, w.docker("/ocp"))
	w.must("mirror", "-c", cfg, w.docker("/ocp"), "--workspace", w.path("third"))
}
