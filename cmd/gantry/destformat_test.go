package main

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/registry/doctor"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestDestFormat mirrors images of OCI and of Docker to a registry that refuses the media types of OCI. The
// error without --dest-format names the flag. With it, everything arrives with the types of Docker: directly,
// over a disk and from a plan, with records that prune reads. Package pkg/plan/build tests what is converted.
func TestDestFormat(t *testing.T) {
	t.Parallel()
	long(t)
	const ociTypes = "application/vnd.oci."
	w, operand := rewriteFixture(t)
	w.mirror.Script(registrytest.Rule{Method: http.MethodPut, Path: "/manifests/", Action: refuseType(ociTypes)})
	stanza := "  operators:\n  - catalog: dir://" + w.path("catalog") + "\n    targetCatalog: op/catalog\n"
	cfg := w.config("imageset.yaml", stanza+"  additionalImages:\n  - name: images.example.net/tools/app:v1\n")
	direct := []string{"mirror", "-c", cfg, "--dest-format", "docker", w.docker("/direct")}

	found := w.doctor(exitError, w.docker("/doctor"))
	if f := found["OCI media types"]; f.State != doctor.Problem || !strings.Contains(f.Remedy, "--dest-format docker") || found["deletion"].State != doctor.OK {
		t.Errorf("%+v", found)
	}
	w.refuse(exitPartial, []string{"MANIFEST_INVALID", "mirror with --dest-format docker"}, "mirror", "-c", cfg, w.docker("/refused"), "--workspace", w.path("refused"))
	w.refuse(exitUsage, []string{"--dest-format", "docker, oci, keep"}, "mirror", "-c", cfg, "--dest-format", "v2s2", w.docker("/no"))
	for _, args := range [][]string{{"mirror", "-c", cfg, "oci://" + w.path("layout")}, {"mirror", "--from", "file://" + w.path("disk"), w.docker("/no")}, {"mirror", "--plan", w.path("plan.json"), w.docker("/no")}, {"diff", w.docker("/direct")}} {
		w.refuse(exitUsage, []string{"--dest-format"}, append(args, "--dest-format", "docker")...)
	}
	w.write("notes.txt", "notes")
	w.refuse(exitUsage, []string{"the configuration has files, which are OCI artifacts"}, "plan", "-c", w.config("files.yaml", "  files:\n  - path: "+w.path("notes.txt")+"\n"), "--dest-format", "docker")

	planned := w.must("plan", "-c", cfg, "--dest-format", "docker", "--lock", w.path("plan.json"))
	w.says(planned.stdout, "Converted to the media types of Docker\n", "images.example.net/tools/app:v1  becomes sha256:",
		"but clusters do not find them, because they request the digests of the originals (named by the manifests in the image of a bundle)\n  "+operand+"  becomes sha256:", "required by op.v1.0.0")
	w.says(planned.stderr, "clusters do not find images that were converted")
	w.says(w.must(direct...).stdout, "2 images are converted", "--dest-format docker prints them")
	w.must("mirror", "-c", cfg, "--dest-format", "docker", "file://"+w.path("disk"), "--workspace", w.path("export"))
	w.must("mirror", "--from", "file://"+w.path("disk"), w.docker("/carried"), "--workspace", w.path("far"))
	w.must("mirror", "--plan", w.path("plan.json"), w.docker("/again"), "--workspace", w.path("again"))
	p := readPlanFile(t, w.path("plan.json"))
	for _, prefix := range []string{"direct", "carried", "again"} {
		for _, img := range p.Images {
			got, err := w.mirror.Client().Pull(t.Context(), prefix+"/"+img.Repository, img.Tags[0])
			if err != nil || got.Digest != img.Digest {
				t.Errorf("%s: %s is %s, want %s: %v", prefix, img.Source, got.Digest, img.Digest, err)
			}
		}
	}
	w.must("verify", "-c", cfg, "--dest-format", "docker", w.docker("/direct"))
	w.must("diff", "-c", cfg, "--dest-format", "docker", w.docker("/direct"))
	w.says(w.must("explain", "--plan", w.path("plan.json"), "op/operand").stdout, "converted to the media types of Docker from sha256:", "clusters do not find it")

	// Records and leases are there, too, in a form that the registry accepts.
	w.says(w.must("status", w.docker("/direct")).stdout, "imageset", "1         1     1 catalog (1 package), 4 images")
	second := w.must(direct...)
	w.says(second.stderr+second.stdout, "Nothing to copy: all 4 images")

	// A run without the format is refused, unless keep gives it up.
	refused := []string{"mirrored to " + w.docker("/direct") + " with --dest-format docker", "set --dest-format to docker as before, or to keep"}
	w.refuse(exitUsage, refused, "mirror", "-c", cfg, w.docker("/direct"), "--workspace", w.path("other"))
	w.must("mirror", "-c", w.config("imageset.yaml", stanza), "--dest-format", "docker", w.docker("/direct"))
	w.must("prune", w.docker("/direct"), "--yes")
	if _, err := w.mirror.Client().Pull(t.Context(), "direct/tools/app", "v1"); err == nil {
		t.Error("the image was not deleted")
	}
	w.must("verify", w.docker("/direct"))
	w.mirror.Script()
	w.must("mirror", "-c", cfg, "--dest-format", "keep", w.docker("/direct"))
	w.must("mirror", "-c", cfg, w.docker("/direct"), "--workspace", w.path("third"))
}

// refuseType refuses manifests that have a media type which begins with prefix, or list one.
func refuseType(prefix string) registrytest.Action {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if strings.HasPrefix(r.Header.Get("Content-Type"), prefix) || bytes.Contains(body, []byte(`"`+prefix)) {
			registrytest.Refuse(http.StatusUnsupportedMediaType, "MANIFEST_INVALID")(w, r, next)
			return
		}
		next.ServeHTTP(w, r)
	}
}
