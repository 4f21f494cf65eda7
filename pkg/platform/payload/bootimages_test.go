package payload

import (
	"encoding/json"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// bootConfigMap returns the ConfigMap with the given stream.
func bootConfigMap(t testing.TB, stream string) []byte {
	t.Helper()
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]string{"name": bootName, "namespace": bootNamespace},
		"data":     map[string]string{streamKey: stream},
	})
	fail.On(t, err)
	return text
}

func disk(ref string) string {
	return `{"images":{"aws":{},"kubevirt":{"image":"quay.io/x/y:v1","digest-ref":"` + ref + `"}}}`
}

func TestKubeVirt(t *testing.T) {
	a, b := "quay.io/x/y@"+sha("a").String(), "quay.io/x/y@"+sha("b").String()
	for stream, want := range map[string]map[release.Arch]string{
		`{}`: {},
		`{"architectures":{"x86_64":{"images":{}},"ppc64le":{"rhel-coreos-extensions":{}}}}`: {},
		`{"architectures":{"x86_64":` + disk("") + `}}`:                                      {},
		`{"architectures":{"x86_64":` + disk(a) + `,"aarch64":{},"s390x":` + disk(b) + `}}`:  {"amd64": a, "s390x": b},
		`{"architectures":{"aarch64":` + disk(a) + `,"riscv64":` + disk(b) + `}}`:            {"arm64": a, "riscv64": b},
	} {
		p := &Payload{BootImages: bootConfigMap(t, stream)}
		got, err := p.KubeVirt()
		fail.On(t, err)
		fail.Diff(t, want, got)
	}
	if got, err := (&Payload{}).KubeVirt(); got != nil || err != nil {
		t.Errorf("without boot images: %v, %v", got, err)
	}
	if got, err := (&Payload{BootImages: []byte("apiVersion: v1\nkind: Secret\n")}).KubeVirt(); len(got) != 0 || err != nil {
		t.Errorf("without the ConfigMap: %v, %v", got, err)
	}
	for stream, want := range map[string]string{
		"":                     "has no data.stream",
		"{":                    "data.stream: ",
		`{"architectures":[]}`: "data.stream: ",
		`{"architectures":{"x86_64":` + disk("quay.io/x/y:v1") + `}}`:          `architecture "x86_64": image reference "quay.io/x/y:v1" has a tag`,
		`{"architectures":{"x86_64":` + disk("quay.io/x/y") + `}}`:             "has no digest",
		`{"architectures":{"x86/64":` + disk(a) + `}}`:                         `unknown architecture "x86/64"`,
		`{"architectures":{"x86_64":` + disk(a) + `,"amd64":` + disk(b) + `}}`: "architecture amd64 occurs twice",
	} {
		p := &Payload{Release: Release{Version: "4.20.5"}, BootImages: bootConfigMap(t, stream)}
		if _, err := p.KubeVirt(); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "4.20.5") {
			t.Errorf("%s: error %v, want %q", stream, err, want)
		}
	}
}

// FuzzBootImages checks that accepted images can be written and read again.
func FuzzBootImages(f *testing.F) {
	f.Add(bootConfigMap(f, `{"architectures":{"x86_64":`+disk("quay.io/x/y@"+sha("a").String())+`,"riscv64":`+disk("a@"+sha("b").String())+`}}`))
	f.Add([]byte("---\n" + string(bootConfigMap(f, "{}")) + "---\nkind: Secret\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		images, err := parseBootImages(data)
		if err != nil {
			return
		}
		s := stream{Architectures: map[string]streamArch{}}
		for arch, ref := range images {
			var a streamArch
			a.Images.KubeVirt = &containerImage{DigestRef: ref}
			s.Architectures[arch.Suffix()] = a
		}
		text, err := json.Marshal(s)
		fail.On(t, err)
		again, err := parseBootImages(bootConfigMap(t, string(text)))
		fail.On(t, err)
		fail.Diff(t, images, again)
	})
}
