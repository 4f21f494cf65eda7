package install

import (
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	"go.yaml.in/yaml/v3"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/resources"
)

var update = flag.Bool("update", false, "write testdata/golden anew")

const testCA = "-----BEGIN CERTIFICATE-----\nbm90IGEgcmVhbCBvbmU=\n-----END CERTIFICATE-----\n"

func release(version, arch string) Release {
	image := reference.Reference{Host: "mirror.local:5000", Path: "ocp/openshift/release-images", Tag: version + "-" + arch}
	return Release{Version: version, Arch: arch, Image: image.WithDigest(digest.FromString(version + arch))}
}

func example(policy string) Input {
	return Input{
		Host: "mirror.local:5000",
		Mirrors: []resources.SourceMirrors{
			{Source: "quay.io/openshift-release-dev/ocp-release", ByDigest: []string{"mirror.local:5000/ocp/openshift/release-images"}, Policy: policy, Kinds: []string{"release"}},
			{Source: "quay.io/openshift-release-dev/ocp-v4.0-art-dev", ByDigest: []string{"mirror.local:5000/ocp/openshift/release"}, Policy: policy, Kinds: []string{"release"}},
			{Source: "registry.redhat.io/ubi9", ByDigest: []string{"mirror.local:5000/ocp/ubi9"}, ByTag: []string{"mirror.local:5000/ocp/ubi9"}, Policy: policy, Kinds: []string{"operator"}},
			{Source: "registry.redhat.io/tags", ByTag: []string{"mirror.local:5000/ocp/tags"}, Policy: policy, Kinds: []string{"generic"}},
		},
		Releases: []Release{release("4.19.7", "x86_64"), release("4.20.1", "x86_64"), release("4.20.1", "multi"), release("4.20.0-rc.1", "aarch64")},
	}
}

// golden are the inputs of testdata/golden. Each file there names in its first lines where its fields are
// documented; policy.json, which has no comments, is described in containers-policy.json(5):
// https://github.com/containers/image/blob/main/docs/containers-policy.json.5.md
var golden = map[string]func() Input{
	"plain": func() Input { return example("") },
	"policy": func() Input {
		in := example("NeverContactSource")
		in.CA = []byte(testCA)
		in.Releases = append(in.Releases, release("4.20.0", "x86_64"))
		iso := func(version, arch string) LiveISO {
			return LiveISO{arch, "rhcos-" + version + "-live-iso." + arch + ".iso", version}
		}
		in.Releases[2].LiveISOs = []LiveISO{iso("9.6.20250826-1", "x86_64"), iso("9.6.20250826-1", "aarch64")} // 4.20.1-multi
		in.Releases[4].LiveISOs = []LiveISO{iso("9.6.20250101-0", "x86_64")}                                   // older
		return in
	},
	"no releases": func() Input {
		in := example("")
		in.Releases = nil
		return in
	},
}

func build(t *testing.T, in Input) (map[string]string, []string) {
	t.Helper()
	files, notes, err := Build(in)
	fail.On(t, err)
	texts := map[string]string{}
	for _, f := range files {
		if texts[f.Name] != "" || len(f.Text) == 0 {
			t.Errorf("%s is written twice, or is empty", f.Name)
		}
		texts[f.Name] = string(f.Text)
	}
	if !slices.IsSortedFunc(files, func(a, b resources.File) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the files are not sorted")
	}
	return texts, notes
}

func TestGolden(t *testing.T) {
	for name, in := range golden {
		t.Run(name, func(t *testing.T) {
			got, notes := build(t, in())
			if len(notes) > 0 {
				t.Errorf("notes %q", notes)
			}
			for name, text := range got {
				commented := strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".conf")
				if head, _, _ := strings.Cut(text, "\n\n"); commented && !strings.Contains(head, "https://") {
					t.Errorf("%s does not name the source of its fields", name)
				}
			}
			dir := filepath.Join("testdata", "golden", strings.ReplaceAll(name, " ", "-"))
			if *update {
				fail.On(t, os.RemoveAll(dir))
				for name, text := range got {
					file := filepath.Join(dir, name)
					fail.On(t, os.MkdirAll(filepath.Dir(file), 0o755))
					fail.On(t, os.WriteFile(file, []byte(text), 0o644))
				}
			}
			want := map[string]string{}
			err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				text, err := os.ReadFile(filepath.Join(dir, name))
				want[name] = string(text)
				return err
			})
			fail.On(t, err)
			fail.Diff(t, want, got)
		})
	}
}

// A source is one as every consumer reads it.
type source struct {
	Source             string
	Mirrors            []string
	SourcePolicy       string `yaml:"sourcePolicy"`
	MirrorSourcePolicy string `yaml:"mirrorSourcePolicy"`
}

// TestSources checks that every consumer gets the sources of the mirror sets, and can read its file.
func TestSources(t *testing.T) {
	for _, policy := range []string{"", "NeverContactSource"} {
		in := example(policy)
		texts, _ := build(t, in)
		want := func(installer, object bool) (all []source) {
			for _, m := range in.Mirrors {
				if len(m.ByDigest) == 0 {
					continue
				}
				s := source{Source: m.Source, Mirrors: m.ByDigest}
				if installer {
					s.SourcePolicy = m.Policy
				}
				if object {
					s.MirrorSourcePolicy = m.Policy
				}
				all = append(all, s)
			}
			return all
		}
		for file, tc := range map[string]struct {
			path []string
			want []source
		}{
			"install-config.yaml":                              {[]string{"imageDigestSources"}, want(true, false)},
			"install-config-before-4.14.yaml":                  {[]string{"imageContentSources"}, want(false, false)},
			"hosted-cluster/hosted-cluster-patch.yaml":         {[]string{"spec", "imageContentSources"}, want(false, false)},
			"image-based/image-based-installation-config.yaml": {[]string{"imageDigestSources"}, want(true, false)},
			"image-based/image-cluster-install-patch.yaml":     {[]string{"spec", "imageDigestSources"}, want(false, true)},
		} {
			node := yaml.Node{}
			if err := yaml.Unmarshal([]byte(texts[file]), &node); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			at := node.Content[0]
			for _, key := range tc.path {
				i := slices.IndexFunc(at.Content, func(n *yaml.Node) bool { return n.Value == key })
				if i < 0 {
					t.Fatalf("%s has no %s", file, key)
				}
				at = at.Content[i+1]
			}
			var got []source
			fail.On(t, at.Decode(&got))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", file, diff)
			}
		}
		conf := string(resources.RegistriesConf(in.Mirrors, false))
		var object struct{ Data map[string]string }
		if err := yaml.Unmarshal([]byte(texts["assisted-service/mirror-config.yaml"]), &object); err != nil || object.Data["registries.conf"] != conf {
			t.Errorf("the assisted service reads %q, error %v", object.Data["registries.conf"], err)
		}
		for _, name := range []string{"agent/mirror/registries.conf", "microshift/registries.conf.d/999-microshift-mirror.conf"} {
			if !strings.HasSuffix(texts[name], "\n\n"+conf) {
				t.Errorf("%s is not the registries.conf of the mirror sets:\n%s", name, texts[name])
			}
		}
	}
}

// TestReleases checks which release is the newest, and that each one has its ClusterImageSet.
func TestReleases(t *testing.T) {
	in := example("")
	texts, _ := build(t, in)
	image := "mirror.local:5000/ocp/openshift/release-images@" + digest.FromString("4.20.1multi").String()
	for _, name := range []string{"hosted-cluster/hosted-cluster-patch.yaml", "hosted-cluster/node-pool-patch.yaml"} {
		if !strings.Contains(texts[name], "image: "+image+"\n") {
			t.Errorf("%s is not for release 4.20.1-multi:\n%s", name, texts[name])
		}
	}
	for _, name := range []string{"img4.19.7-x86-64", "img4.20.1-x86-64", "img4.20.1-multi", "img4.20.0-rc.1-aarch64"} {
		var set clusterImageSet
		if err := yaml.Unmarshal([]byte(texts["cluster-image-sets/"+name+".yaml"]), &set); err != nil || set.Metadata.Name != name || !strings.HasPrefix(set.Spec.ReleaseImage, "mirror.local:5000/ocp/openshift/release-images@sha256:") {
			t.Errorf("%s is %+v, error %v", name, set, err)
		}
	}
	okd := release("4.19.0-okd-scos.9+build_1", "x86_64")
	fail.Diff(t, "img4.19.0-okd-scos.9-build-1-x86-64", okd.objectName())
	for name, r := range map[string]Release{
		"has no digest": {Version: "4.20.1", Arch: "x86_64", Image: reference.Reference{Host: "mirror.local", Path: "r", Tag: "t"}},
		"Invalid":       release("4.x.1", "x86_64"),
	} {
		in.Releases = []Release{r}
		if _, _, err := Build(in); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestMirrors checks other mirrors: without TLS, without anything that can be redirected, and with more sources
// than a HostedCluster may have.
func TestMirrors(t *testing.T) {
	in := example("")
	in.PlainHTTP = true
	texts, _ := build(t, in)
	fail.Diff(t, 5, strings.Count(texts["agent/mirror/registries.conf"], "insecure = true"))
	if !strings.Contains(texts["README.md"], "has no TLS") {
		t.Error("README.md says nothing about plain HTTP")
	}

	in.Mirrors = nil
	if files, notes, err := Build(in); err != nil || len(files)+len(notes) > 0 {
		t.Errorf("without mirrors: %d files, notes %q, error %v", len(files), notes, err)
	}

	in = example("")
	for i := range 300 {
		in.Mirrors = append(in.Mirrors, resources.SourceMirrors{Source: fmt.Sprintf("z.io/%d", i), ByDigest: []string{fmt.Sprintf("mirror.local:5000/ocp/%d", i)}, Kinds: []string{"operator"}})
	}
	texts, notes := build(t, in)
	if n := strings.Count(texts["hosted-cluster/hosted-cluster-patch.yaml"], "source:"); n != 2 || len(notes) != 1 || !strings.Contains(notes[0], "has the 2 sources of the releases, since a HostedCluster can have only 255, and the mirror has 303") {
		t.Errorf("a HostedCluster has %d sources, notes %q", n, notes)
	}
	fail.Diff(t, 303, strings.Count(texts["install-config.yaml"], "source:"))
}

// TestCertificates checks that the CA is in every file with a field for it, and a placeholder or a comment
// otherwise.
func TestCertificates(t *testing.T) {
	for _, ca := range []string{"", testCA} {
		in := example("")
		in.CA = []byte(ca)
		texts, _ := build(t, in)
		for name, text := range texts {
			if ca == "" && (strings.Contains(text, "bm90IG") || strings.HasSuffix(name, ".crt")) {
				t.Errorf("%s has a certificate", name)
			}
		}
		for name, hint := range map[string]string{
			"install-config.yaml":                              "# additionalTrustBundle: |",
			"install-config-before-4.14.yaml":                  "# additionalTrustBundle: |",
			"assisted-service/mirror-config.yaml":              "# Replace this line by the certificate",
			"image-based/image-based-installation-config.yaml": "# additionalTrustBundle: |",
			"hosted-cluster/hosted-cluster-patch.yaml":         "# additionalTrustBundle.name",
			"image-based/image-cluster-install-patch.yaml":     "# caBundleRef.name",
		} {
			text := texts[name]
			has := strings.Contains(text, "bm90IG") || strings.Contains(text, "name: mirror-ca\n")
			if has != (ca != "") || strings.Contains(text, hint) != (ca == "") {
				t.Errorf("CA %q: %s is\n%s", ca, name, text)
			}
		}
	}
}

func TestDeterministic(t *testing.T) {
	in := example("NeverContactSource")
	want, _ := build(t, in)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 10 {
		rng.Shuffle(len(in.Releases), func(i, j int) { in.Releases[i], in.Releases[j] = in.Releases[j], in.Releases[i] })
		got, _ := build(t, in)
		fail.Diff(t, want, got)
	}
}
