package resources

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// crdcheck validates manifests with .ci/tools/crdcheck, which uses the same rules as the API
// server. It returns one line for each manifest: "ok Kind/name", or its errors. The CRDs are in a
// folder next to the checkout; without them the test is skipped.
func crdcheck(t *testing.T, files []File) []string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds a program from another module")
	}
	crds, err := filepath.Abs(filepath.Join("..", "..", "..", "shared", "crds"))
	fail.On(t, err)
	if _, err := os.Stat(crds); err != nil {
		t.Skipf("no CRDs to check against: %v", err)
	}
	dir := t.TempDir()
	name := func(i int) string { return filepath.Join(dir, fmt.Sprintf("%d.yaml", i)) }
	args := []string{"run", ".", "-crds", crds} // go caches the program
	for i, f := range files {
		fail.On(t, os.WriteFile(name(i), f.Text, 0o644))
		args = append(args, name(i))
	}
	run := exec.CommandContext(t.Context(), "go", args...)
	run.Dir = filepath.Join("..", "..", ".ci", "tools", "crdcheck")
	run.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOWORK=off")
	out, err := run.CombinedOutput()
	said := make([]string, len(files))
	faults := false
	for line := range strings.Lines(string(out)) {
		for i := range files {
			if rest, ok := strings.CutPrefix(line, "ok "+name(i)); ok {
				said[i] += "ok" + rest
			} else if rest, ok := strings.CutPrefix(line, name(i)+":"); ok {
				said[i] += rest
				faults = true
			}
		}
	}
	if (err != nil) != faults {
		t.Fatalf("crdcheck ended with %v and said:\n%s", err, out)
	}
	return said
}

func TestCRDs(t *testing.T) {
	images, catalogs := example(t)
	catalogs[2].Template = []byte(strings.Replace(fullTemplate, "  futureField: {kept: true, number: 12345678901234567}\n", "", 1))
	// A tag of this length on a host with a port violates the CRD's rule for tags.
	long := Catalog{Source: "quay.io/org/long:v1", Mirror: ref(t, "mirror.local:5000/"+strings.Repeat("path/", 25)+"long:v1#long")}
	// This one is as long as a tag may be, which a template that polls needs.
	polled := Catalog{Source: "quay.io/org/edge:v", Mirror: ref(t, "mirror.local:5000/"+strings.Repeat("a", 120)+":v#edge"),
		ClusterCatalogTemplate: []byte(clusterHead + "spec: {source: {image: {pollIntervalMinutes: 1}}}\n")}
	catalogs = append(catalogs, long, polled)

	var good []File
	byKind := map[string]File{}
	for _, opts := range []Options{{}, {MirrorSourcePolicy: neverContactSource, MaxBytes: 300}, {MirrorSourcePolicy: "AllowContactingSource"}} {
		files, _, err := Build(images, catalogs, opts)
		fail.On(t, err)
		good = append(good, files...)
		for _, f := range files {
			prefix, _, _ := strings.Cut(f.Name, "-")
			byKind[prefix] = f
			for _, name := range []string{"long", "edge", "our"} {
				if strings.HasPrefix(f.Name, "cc-"+name+"-") {
					byKind[name] = f
				}
			}
		}
	}

	// Make sure that the checker can find errors.
	controls := []struct{ kind, old, new, want string }{
		{"idms", "- source: registry.redhat.io/ubi9\n", "- source: registry.redhat.io/ubi9:v1\n", "spec.imageDigestMirrors[1].source"},
		{"idms", "- source: registry.redhat.io/ubi9\n", "- source: registry.redhat.io/UBI9\n", "spec.imageDigestMirrors[1].source"},
		{"idms", "    - mirror.local:5000/ocp/ubi9\n", "    - mirror.local:5000/ocp/ubi9\n    - mirror.local:5000/ocp/ubi9\n", "Duplicate value"},
		{"idms", "    - mirror.local:5000/ocp/ubi9\n", "    - https://mirror.local:5000/ocp/ubi9\n", "mirrors[0]"},
		{"idms", "AllowContactingSource", "Allow", "mirrorSourcePolicy"},
		{"itms", "imageTagMirrors", "imageDigestMirrors", `unknown field "spec.imageDigestMirrors"`},
		{"cs", "  sourceType: grpc\n", "", "spec.sourceType"},
		{"cs", "  sourceType: grpc\n", "  sourceType: grpc\n  priority: high\n", "spec.priority"},
		{"long", "@" + long.Mirror.Digest.String(), ":v1", "the tag must not be more than 127 characters"},
		{"edge", "aaa:v", "aaaa:v", "the tag must not be more than 127 characters"},
		{"our", "  priority: -100\n", "  priority: 2147483648\n", "spec.priority"},
		{"our", "availabilityMode: Unavailable", "availabilityMode: unavailable", "spec.availabilityMode"},
		{"our", "pollIntervalMinutes: 30", "pollIntervalMinutes: 0", "pollIntervalMinutes"},
		{"cc", "@sha256:", "@sha256:xyz", "digest is not valid"},
		{"cc", "    type: Image\n", "    type: image\n", "spec.source.type"},
		{"cc", "      ref: ", "      pollIntervalMinutes: 5\n      ref: ", "cannot specify pollIntervalMinutes while using digest-based image"},
		{"cc", "  name: cc-", "  name: CC_", "metadata.name"},
	}
	var broken []File
	var words []string
	for _, tc := range controls {
		f := byKind[tc.kind]
		text := bytes.Replace(f.Text, []byte(tc.old), []byte(tc.new), 1)
		if bytes.Equal(f.Text, text) {
			t.Errorf("%s does not hold %q:\n%s", f.Name, tc.old, f.Text)
		}
		broken, words = append(broken, File{f.Name, text}), append(words, tc.want)
	}
	checkCRDs(t, good, broken, words)
}

// checkCRDs checks that the API server accepts good manifests and refuses broken ones with these words.
func checkCRDs(t *testing.T, good, broken []File, words []string) {
	t.Helper()
	said := crdcheck(t, slices.Concat(good, broken))
	for i, f := range good {
		if !strings.HasPrefix(said[i], "ok ") {
			t.Errorf("%s is refused: %s\n%s", f.Name, said[i], f.Text)
		}
	}
	for i, f := range broken {
		if said := said[len(good)+i]; strings.HasPrefix(said, "ok ") || !strings.Contains(said, words[i]) {
			t.Errorf("%s is not refused for %q: %s\n%s", f.Name, words[i], said, f.Text)
		}
	}
}
