package resources

import (
	"path"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestICSP(t *testing.T) {
	images, catalogs := example(t)
	files, notes, err := Build(images, catalogs, Options{ICSP: true, Suffix: "site", MaxBytes: 400})
	fail.On(t, err)
	want, _ := Mirrors(images, Options{})
	sources := map[string]bool{}
	for _, f := range files {
		if strings.HasPrefix(f.Name, "idms-") || strings.HasPrefix(f.Name, "itms-") {
			t.Errorf("%s is written beside policies", f.Name)
		}
		if strings.HasPrefix(f.Name, "icsp-") {
			found, _ := nodeConfig([]File{f})
			for source := range found {
				sources[source] = true
			}
		}
	}
	for _, m := range want {
		if sources[m.Source] != (len(m.ByDigest) > 0) {
			t.Errorf("%s is a source of a policy: %v", m.Source, sources[m.Source])
		}
	}
	if suffix, known := SuffixOf(ObjectNames(files)); suffix != "site" || !known {
		t.Errorf("the suffix is %q, %v", suffix, known)
	}
	if !strings.Contains(strings.Join(notes, "\n"), "an ImageContentSourcePolicy redirects no tags") {
		t.Errorf("no note about tags: %q", notes)
	}
	if _, _, err := Build(images, catalogs, Options{ICSP: true, MirrorSourcePolicy: neverContactSource}); err == nil {
		t.Error("a policy gets a mirrorSourcePolicy")
	}
}

func TestSkeletonsAreSafe(t *testing.T) {
	for host, n := range map[string]int{"mirror.local:5000": 3, "mirror.local": 3, "[::1]:5000": 2} {
		files, err := Skeletons(host)
		if err != nil || len(files) != n {
			t.Fatalf("%s: %d files, %v", host, len(files), err)
		}
		for _, f := range files {
			if path.Dir(f.Name) != skeletonDir || !strings.Contains(string(f.Text), "BASE64-OF-USER:PASSWORD") && !strings.Contains(string(f.Text), "CERTIFICATE OF THE CA") {
				t.Errorf("%s: %s", f.Name, f.Text)
			}
		}
	}
	files, err := Skeletons("mirror.local:5000")
	if err != nil || !strings.Contains(string(files[2].Text), "mirror.local..5000:") {
		t.Errorf("the key of the CA: %v\n%s", err, files[2].Text)
	}
}

func TestSettingsAreValid(t *testing.T) {
	var good []File
	for _, opts := range []struct {
		target string
		Options
	}{{"openshift-4.20", Options{}}, {"openshift-4.12", Options{ICSP: true}}} {
		_, support, _ := everything(t, opts.target, opts.Options)
		for _, f := range support {
			// The CRDs do not have images.config.openshift.io and core objects.
			switch base := path.Base(f.Name); {
			case base == KustomizationFile, base == componentFile, base == "image-config.yaml", strings.HasPrefix(base, "signature-"):
			case strings.HasPrefix(base, "image-policy"):
			default:
				good = append(good, f)
			}
		}
	}
	broken := []File{
		{"a", []byte("apiVersion: config.openshift.io/v1\nkind: OperatorHub\nmetadata: {name: cluster}\nspec: {disableAllDefaultSources: \"yes\"}\n")},
		{"b", []byte("apiVersion: operator.openshift.io/v1alpha1\nkind: ImageContentSourcePolicy\nmetadata: {name: a}\nspec: {repositoryDigestMirrors: [{mirrors: [m]}]}\n")},
		{"c", []byte("apiVersion: olm.operatorframework.io/v1\nkind: ClusterCatalog\nmetadata: {name: a}\nspec: {availabilityMode: Off, source: {type: Image, image: {ref: q.io/a:v1}}}\n")},
	}
	kinds := map[string]bool{}
	checkCRDs(t, good, broken, []string{"disableAllDefaultSources", "source", "availabilityMode"})
	for _, f := range good {
		for _, n := range ObjectNames([]File{f}) {
			kinds[n.Kind] = true
		}
	}
	for _, kind := range []string{"OperatorHub", "ClusterCatalog", "ImageContentSourcePolicy", "CatalogSource", "UpdateService", "ImageDigestMirrorSet"} {
		if !kinds[kind] {
			t.Errorf("no %s was checked", kind)
		}
	}
}
