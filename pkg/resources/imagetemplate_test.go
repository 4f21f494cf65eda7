package resources

import (
	"errors"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

func TestResolveImageTemplate(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		template, version, want string // want is a reference, or "error: " and a part of the error
	}{
		{"quay.io/org/index:v{kube_major_version}.{kube_minor_version}", "1.33", "quay.io/org/index:v1.33"},
		{"quay.io/org/index:v{kube_major_version}.{kube_minor_version}", "1.33.4", "quay.io/org/index:v1.33"},
		{"quay.io/org/index:v{kube_major_version}.{kube_minor_version}.{kube_patch_version}", "1.33.4", "quay.io/org/index:v1.33.4"},
		{"quay.io/org/index:v1.{kube_patch_version}", "1.33", "error: patch version of Kubernetes is unknown"},
		{"quay.io/org/v1-{kube_minor_version}/index", "1.33", "quay.io/org/v1-33/index:latest"},
		{"quay.io/org/index:v{kube_version}", "1.33", "error: the variables are {kube_major_version}"},
		{"quay.io/org/Index:v{kube_minor_version}", "1.33", "error: "},
		{"quay.io/org/index@sha256:" + strings.Repeat("0", 64), "1.33", "error: has a digest"},
	} {
		ref, err := ImageTemplate(tc.template).Resolve(tc.version)
		want, fails := strings.CutPrefix(tc.want, "error: ")
		if fails != (err != nil) || fails && !strings.Contains(err.Error(), want) || !fails && ref.String() != want {
			t.Errorf("%s for %s: got %s, %v, want %s", tc.template, tc.version, ref, err, tc.want)
		}
		if strings.HasPrefix(want, "patch") != errors.Is(err, ErrNoPatch) {
			t.Errorf("%s: got %v", tc.template, err)
		}
	}
}

// TestImageTemplateInMirror checks what the annotation becomes, given the catalogs of the mirror.
func TestImageTemplateInMirror(t *testing.T) {
	t.Parallel()
	const tags = "quay.io/org/index:v{kube_major_version}.{kube_minor_version}"
	for _, tc := range []struct {
		name, template string
		catalogs       string // "SOURCE=MIRROR ..."
		want           string
	}{
		{"the tag varies", tags, "quay.io/org/index:v1.32=m.example.com/ocp/org/index:v1.32 quay.io/org/index:v1.33=m.example.com/ocp/org/index:v1.33",
			"m.example.com/ocp/org/index:v{kube_major_version}.{kube_minor_version} v1.32 v1.33"},
		{"another repository in the mirror", tags, "quay.io/org/index:v1.33=m.example.com:5000/a:v1.33", "m.example.com:5000/a:v{kube_major_version}.{kube_minor_version} v1.33"},
		{"another tag in the mirror", tags, "quay.io/org/index:v1.33=m.example.com/a:latest", ""},
		{"other catalogs", tags, "quay.io/org/index:v1.x=m.example.com/a:v1.x quay.io/org/index2:v1.33=m.example.com/b:v1.33 oci://x=m.example.com/c:latest", ""},
		{"two repositories", tags, "quay.io/org/index:v1.32=m.example.com/a:v1.32 quay.io/org/index:v1.33=m.example.com/b:v1.33", "error: in several repositories of the mirror"},
		{"the path varies", "quay.io/org/v1-{kube_minor_version}/index", "quay.io/org/v1-33/index:latest=m.example.com/ocp/org/v1-33/index:latest",
			"m.example.com/ocp/org/v1-{kube_minor_version}/index:latest latest"},
		{"the path varies and is joined", "quay.io/org/v1-{kube_minor_version}/index:a", "quay.io/org/v1-33/index:a=m.example.com/ocp/org-v1-33-index:a", "error: does not end alike"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var all []Catalog
			for pair := range strings.FieldsSeq(tc.catalogs) {
				source, mirror, _ := strings.Cut(pair, "=")
				ref, err := reference.Parse(mirror)
				fail.On(t, err)
				all = append(all, Catalog{Source: source, Mirror: ref})
			}
			got, names, err := ImageTemplate(tc.template).inMirror(all)
			text := strings.TrimSpace(string(got) + " " + strings.Join(names, " "))
			want, fails := strings.CutPrefix(tc.want, "error: ")
			if fails != (err != nil) || fails && !strings.Contains(err.Error(), want) || !fails && text != want {
				t.Errorf("got %q, %v, want %q", text, err, tc.want)
			}
		})
	}
}
