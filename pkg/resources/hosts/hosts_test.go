package hosts

import (
	"cmp"
	"flag"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	"go.yaml.in/yaml/v3"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/resources"
)

var update = flag.Bool("update", false, "write testdata/golden anew")

const testCA = "-----BEGIN CERTIFICATE-----\nbm90IGEgcmVhbCBvbmU=\n-----END CERTIFICATE-----\n"

// image parses "SOURCE -> MIRROR [KIND]". "#x" stands for a digest.
func image(t testing.TB, s string) resources.Image {
	t.Helper()
	parse := func(s string) reference.Reference {
		name, id, byDigest := strings.Cut(s, "#")
		if byDigest {
			name += "@" + digest.FromString(id).String()
		}
		ref, err := reference.Parse(name)
		fail.On(t, err)
		return ref
	}
	f := strings.Fields(s)
	img := resources.Image{Source: parse(f[0]), Mirror: parse(f[2]), Kind: "operator"}
	if len(f) > 3 {
		img.Kind = strings.Trim(f[3], "-")
	}
	return img
}

func input(t testing.TB, host, policy string, images ...string) Input {
	t.Helper()
	in := Input{Host: host}
	in.Images = append(in.Images, elements.Map(images, func(s string) resources.Image { return image(t, s) })...)
	return withMirrors(t, in, policy)
}

func withMirrors(t testing.TB, in Input, policy string) Input {
	t.Helper()
	var err error
	if in.Mirrors, err = resources.Mirrors(in.Images, resources.Options{MirrorSourcePolicy: policy}); err != nil {
		t.Fatal(err)
	}
	return in
}

// check builds the files and pulls every image with every runtime. What a runtime does not find has to be listed,
// and nothing else. It returns the files and notes.
func check(t *testing.T, in Input) (map[string][]byte, []string) {
	t.Helper()
	files, notes, err := Build(in)
	fail.On(t, err)
	texts := readFiles(files)
	_, manifestNotes, err := resources.Build(in.Images, nil, resources.Options{MirrorSourcePolicy: policyOf(in)})
	fail.On(t, err)
	old, documents, _ := newTalos(t, texts)
	fail.Diff(t, "", gocmp.Diff(old, documents))
	listed := map[string]string{}
	for _, section := range strings.Split(string(texts["not-redirected.txt"]), "# Not found in the mirror by ")[1:] {
		names, lines, _ := strings.Cut(section, ": ")
		listed[names] = lines
	}
	byRegistry, byRule := listed["containerd, kind and Talos"], listed["K3s and RKE2"]
	contents := map[string]string{}
	for _, img := range in.Images {
		if img.Mirror.Tag != "" {
			contents[img.Mirror.Name()+":"+img.Mirror.Tag] = wanted(img)
		}
		if d := cmp.Or(img.Mirror.Digest, img.Source.Digest); d != "" {
			contents[img.Mirror.Name()+"@"+d.String()] = d.String()
		}
	}
	for name, r := range map[string]struct {
		runtime
		listed string
	}{
		"podman":     {newPodman(t, texts["containers/registries.conf.d/50-mirror.conf"]), strings.Join(manifestNotes, "\n")},
		"olm":        {newPodman(t, olmConfigOf(t, texts)), strings.Join(manifestNotes, "\n")},
		"containerd": {newContainerd(t, texts), byRegistry},
		"talos":      {old, byRegistry + listed["Talos"]},
		"k3s":        {newK3s(t, texts, "k3s"), byRule},
		"rke2":       {newK3s(t, texts, "rke2"), byRule},
	} {
		if len(in.Mirrors) == 0 && (name == "podman" || name == "olm") {
			continue
		}
		for _, img := range in.Images {
			if img.Kind == "" {
				continue
			}
			id, separator := cmp.Or(img.Source.Identifier(), "latest"), ":"
			if img.Source.Digest != "" {
				separator = "@"
			}
			title := img.Source.Name() + separator + id
			got := ""
			for _, q := range r.requests(img.Source.Host, img.Source.Path, separator == "@") {
				if q.host == in.Host && (q.scheme == "http") != in.PlainHTTP {
					t.Errorf("%s requests %s by %s", name, title, q.scheme)
				}
				if policyOf(in) != "" && q.host == img.Source.Host && q.host != in.Host {
					t.Errorf("%s requests %s from its source", name, title)
				}
				if content, ok := contents[q.host+"/"+q.repository+separator+id]; ok {
					got = content
					break
				}
			}
			found := got == wanted(img)
			noted := strings.Contains(r.listed, title+" ") || strings.Contains(strings.Join(manifestNotes, "\n"), title+" in the mirror: its ")
			if found == noted {
				t.Errorf("%s pulls %s: found %v (%q), listed %v", name, title, found, got, noted)
			}
		}
	}
	return texts, notes
}

func policyOf(in Input) string {
	if in.blocked() {
		return "NeverContactSource"
	}
	return ""
}

// wanted returns the content that a pull of img.Source should get.
func wanted(img resources.Image) string {
	if img.Source.Digest != "" {
		return img.Source.Digest.String()
	}
	return "source of " + img.Source.Name() + ":" + cmp.Or(img.Source.Tag, "latest")
}

// olmConfigOf returns the registries.conf that OLM's operator-controller reads.
func olmConfigOf(t *testing.T, texts map[string][]byte) []byte {
	t.Helper()
	text, ok := texts["olm-v1/registries-conf.yaml"]
	if !ok {
		return nil
	}
	var object struct{ Data map[string]string }
	fail.On(t, yaml.Unmarshal(text, &object))
	return []byte(object.Data["registries.conf"])
}

const release = "quay.io/openshift-release-dev/ocp-release:4.20.1-x86_64#r -> mirror.local:5000/ocp/openshift/release-images:4.20.1-x86_64#r release"

var examples = map[string]func(t testing.TB) Input{
	"plain": func(t testing.TB) Input {
		return input(t, "mirror.local:5000", "",
			"quay.io/org/tool#1 -> mirror.local:5000/ocp/org/tool#1",
			"quay.io/org/tool:v1 -> mirror.local:5000/ocp/org/tool:v1 generic",
			"registry.k8s.io/pause:3.9 -> mirror.local:5000/ocp/pause:3.9 generic",
			"docker.io/library/nginx:1 -> mirror.local:5000/ocp/library/nginx:1 generic",
			"localhost:5001/dev/app#2 -> mirror.local:5000/ocp/dev/app#2",
			release)
	},
	"blocked": func(t testing.TB) Input {
		in := input(t, "mirror.local:5000", "NeverContactSource",
			"quay.io/org/tool#1 -> mirror.local:5000/ocp/org/tool#1",
			"quay.io/org/moved:v1 -> mirror.local:5000/ocp/elsewhere/moved:v1 generic",
			"registry.k8s.io/pause:3.9 -> mirror.local:5000/ocp/pause:3.9 generic")
		in.CA = []byte(testCA)
		return in
	},
}

func TestGolden(t *testing.T) {
	for name, example := range examples {
		t.Run(name, func(t *testing.T) {
			texts, notes := check(t, example(t))
			texts["NOTES"] = []byte(strings.Join(notes, "\n") + "\n")
			dir := filepath.Join("testdata", "golden", name)
			if *update {
				fail.On(t, os.RemoveAll(dir))
				for name, text := range texts {
					file := filepath.Join(dir, name)
					fail.On(t, os.MkdirAll(filepath.Dir(file), 0o755))
					fail.On(t, os.WriteFile(file, text, 0o644))
				}
			}
			want, got := map[string]string{}, map[string]string{}
			for name, text := range texts {
				got[name] = string(text)
			}
			err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				text, err := os.ReadFile(filepath.Join(dir, name))
				want[name] = string(text)
				return err
			})
			fail.On(t, err)
			fail.Diff(t, "", gocmp.Diff(want, got))
		})
	}
}

// TestPulls checks mirrors of all shapes.
func TestPulls(t *testing.T) {
	for name, tc := range map[string]struct {
		host   string
		http   bool
		images []string
		// noted are parts of the notes, one each; none are expected otherwise.
		noted []string
	}{
		"no prefix":     {host: "mirror.local", images: []string{"quay.io/org/tool#1 -> mirror.local/org/tool#1", "quay.io/name#2 -> mirror.local/name#2"}},
		"deep prefix":   {host: "mirror.local:5000", images: []string{"quay.io/org/tool#1 -> mirror.local:5000/a/b/org/tool#1", "ghcr.io/a/b/c/d:v1 -> mirror.local:5000/a/b/a/b/c/d:v1"}},
		"IPv4":          {host: "10.0.0.1:5000", images: []string{"quay.io/org/tool#1 -> 10.0.0.1:5000/ocp/org/tool#1"}},
		"IPv6":          {host: "[fd00::1]:5000", images: []string{"quay.io/org/tool#1 -> [fd00::1]:5000/ocp/org/tool#1"}},
		"IPv6, no port": {host: "[fd00::1]", images: []string{"quay.io/org/tool#1 -> [fd00::1]/ocp/org/tool#1"}},
		"plain HTTP":    {host: "mirror.local:5000", http: true, images: []string{"quay.io/org/tool:v1 -> mirror.local:5000/ocp/org/tool:v1"}},
		"only tags":     {host: "mirror.local:5000", images: []string{"quay.io/org/a:v1 -> mirror.local:5000/ocp/org/a:v1", "quay.io/org/b -> mirror.local:5000/ocp/org/b:latest"}},
		"only release":  {host: "mirror.local:5000", images: []string{release}},
		"two prefixes": {host: "mirror.local:5000", images: []string{
			"quay.io/org/a#1 -> mirror.local:5000/x/org/a#1", "quay.io/org/b#2 -> mirror.local:5000/y/org/b#2", "quay.io/other/c#3 -> mirror.local:5000/y/other/c#3",
		}},
		"dots in names": {host: "mirror.local:5000", images: []string{
			"quay.io/o.g/a.b#1 -> mirror.local:5000/x/o.g/a.b#1", "quay.io/oxg/a.b#2 -> mirror.local:5000/y/oxg/a.b#2", "quay.io/o.g/axb#3 -> mirror.local:5000/z/axb#3",
		}, noted: []string{"containerd, kind and Talos will not find quay.io/o.g/axb@"}},
		"other tag tried first": {host: "mirror.local:5000", images: []string{
			"quay.io/org/a:v1 -> mirror.local:5000/x/org/a:v1", "quay.io/org/b:v1 -> mirror.local:5000/x/org/b:v1", "quay.io/org/c:v1 -> mirror.local:5000/y/org/c:v1",
			"ghcr.io/org/c:v1 -> mirror.local:5000/x/org/c:v1",
		}, noted: []string{"containerd, kind and Talos will not find quay.io/org/c:v1 in"}},
		"Talos asks for tags": {host: "mirror.local:5000", images: []string{
			"quay.io/org/a#1 -> mirror.local:5000/x/org/a#1", "quay.io/org/c#2 -> mirror.local:5000/x/org/c#2", "quay.io/org/b:v1 -> mirror.local:5000/y/org/b:v1",
			"ghcr.io/org/b:v1 -> mirror.local:5000/x/org/b:v1",
		}, noted: []string{"Talos will not find quay.io/org/b:v1 in the mirror"}},
		"other names": {host: "mirror.local:5000", images: []string{
			"quay.io/org/a#1 -> mirror.local:5000/x/a#1", "quay.io/org/b#2 -> mirror.local:5000/x/b#2", "quay.io/org/c#3 -> mirror.local:5000/x/c#3",
			"quay.io/org/d#4 -> mirror.local:5000/x/d#4", "quay.io/org/e#5 -> mirror.local:5000/x/org/e#5",
		}, noted: []string{"and 1 more in the mirror: they can only add a prefix"}},
		"one repository in two": {host: "mirror.local:5000", images: []string{
			"quay.io/org/a#1 -> mirror.local:5000/x/org/a#1", "quay.io/org/a#2 -> mirror.local:5000/x/org/a#2", "quay.io/org/a#3 -> mirror.local:5000/y/org/a#3",
		}, noted: []string{"K3s and RKE2 will not find quay.io/org/a@"}},
		"same registry":    {host: "quay.io", images: []string{"quay.io/org/a#1 -> quay.io/mirror/org/a#1", "ghcr.io/org/b#2 -> quay.io/mirror/org/b#2"}},
		"image kept":       {host: "quay.io", images: []string{"quay.io/org/a#1 -> quay.io/org/a#1", "ghcr.io/org/b#2 -> quay.io/org/b#2"}},
		"changed tag":      {host: "mirror.local:5000", images: []string{"quay.io/org/a:v1 -> mirror.local:5000/org/a:v2", "quay.io/org/b:v1 -> mirror.local:5000/org/b:v1"}},
		"changed digest":   {host: "mirror.local:5000", images: []string{"quay.io/org/a#1 -> mirror.local:5000/org/a#2", "quay.io/org/b:v1 -> mirror.local:5000/org/b:v1"}},
		"name is a parent": {host: "mirror.local:5000", images: []string{"quay.io/org#1 -> mirror.local:5000/x/org#1", "quay.io/org/a#2 -> mirror.local:5000/x/org/a#2", "quay.io/other#3 -> mirror.local:5000/y/other#3"}},
		"not requested":    {host: "mirror.local:5000", images: []string{"quay.io/org/a#1 -> mirror.local:5000/x/org/a#1", "quay.io/org/b#2 -> mirror.local:5000/y/b#2 -"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, policy := range []string{"", "NeverContactSource"} {
				in := input(t, tc.host, policy, tc.images...)
				in.PlainHTTP = tc.http
				if !in.PlainHTTP {
					in.CA = []byte(testCA)
				}
				if policy != "" && len(in.Mirrors) == 0 {
					continue // nothing says that the source is blocked
				}
				texts, notes := check(t, in)
				if len(notes) != len(tc.noted) {
					t.Fatalf("notes %q, want %q", notes, tc.noted)
				}
				for i, part := range tc.noted {
					if !strings.Contains(notes[i], part) {
						t.Errorf("note %q, want %q", notes[i], part)
					}
				}
				if _, ok := texts["README.md"]; !ok {
					t.Error("there is no README.md")
				}
			}
		})
	}
}

func TestNothing(t *testing.T) {
	for name, in := range map[string]Input{
		"no images":        {Host: "mirror.local"},
		"nothing to pull":  {Host: "mirror.local", Images: []resources.Image{{Source: image(t, release).Source, Mirror: image(t, release).Mirror}}},
		"another registry": {Host: "other.local", Images: []resources.Image{image(t, release)}},
	} {
		if files, notes, err := Build(in); err != nil || len(files)+len(notes) > 0 {
			t.Errorf("%s: %d files, notes %q, error %v", name, len(files), notes, err)
		}
	}
}

func TestDeterministic(t *testing.T) {
	in := examples["plain"](t)
	in.Images = append(in.Images, image(t, "quay.io/tie/a#1 -> mirror.local:5000/x/tie/a#1"), image(t, "quay.io/tie/a#1 -> mirror.local:5000/y/tie/a#1"))
	in = withMirrors(t, in, "")
	want, wantNotes, err := Build(in)
	fail.On(t, err)
	if !slices.IsSortedFunc(want, func(a, b resources.File) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the files are not sorted")
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		rng.Shuffle(len(in.Images), func(i, j int) { in.Images[i], in.Images[j] = in.Images[j], in.Images[i] })
		got, notes, err := Build(in)
		fail.On(t, err)
		if diff := gocmp.Diff(want, got); diff != "" || !slices.Equal(notes, wantNotes) {
			t.Fatalf("another order gives other files:\n%s", diff)
		}
	}
}

// TestCertificates checks that every runtime gets the CA, and no file has one without.
func TestCertificates(t *testing.T) {
	in := examples["plain"](t)
	plain, _ := check(t, in)
	for name, text := range plain {
		if strings.Contains(string(text), "CERTIFICATE") || strings.HasSuffix(name, ".crt") {
			t.Errorf("%s has a certificate", name)
		}
	}
	in.CA = []byte(testCA)
	texts, _ := check(t, in)
	for _, name := range []string{"containerd/certs.d/mirror.local_5000_/ca.crt", "k3s/mirror-ca.crt", "rke2/mirror-ca.crt"} {
		fail.Diff(t, testCA, string(texts[name]))
	}
	if _, _, ca := newTalos(t, texts); !slices.Equal(ca, []string{testCA, testCA}) {
		t.Errorf("Talos has %q", ca)
	}
	fail.Diff(t, "/etc/rancher/rke2/mirror-ca.crt", newK3s(t, texts, "rke2").Configs["mirror.local:5000"].TLS.CA)
	// A pull by the mirror's own name needs it, too.
	if q := newContainerd(t, texts).requests("mirror.local:5000", "ocp/org/tool", true); q[0] != (request{"https", "mirror.local:5000", "ocp/org/tool"}) {
		t.Errorf("requests %v", q)
	}
}
