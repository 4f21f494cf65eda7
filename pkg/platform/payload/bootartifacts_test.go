package payload

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// hexOf is a sha256 as streams have it.
func hexOf(text string) string { return digest.FromString(text).Encoded() }

// artifact is one file of a stream.
func artifact(name string) string {
	return fmt.Sprintf(`{"location":"https://rhcos.example.com/art/%s","signature":"https://rhcos.example.com/art/%s.sig","sha256":"%s","uncompressed-sha256":"x"}`, name, name, hexOf(name))
}

// aStream has the shape of a real one.
func aStream() string {
	return `{"stream":"rhcos-4.20","metadata":{"last-modified":"2025-01-01T00:00:00Z"},"architectures":{
"x86_64":{"artifacts":{
  "metal":{"release":"9.6.1","formats":{
    "iso":{"disk":` + artifact("live.x86_64.iso") + `},
    "pxe":{"kernel":` + artifact("kernel.x86_64") + `,"rootfs":` + artifact("rootfs.x86_64.img") + `,"initramfs":` + artifact("initramfs.x86_64.img") + `}}},
  "vmware":{"release":"9.6.1","formats":{"ova":{"disk":` + artifact("vmware.x86_64.ova") + `}}}},
 "images":{"aws":{"regions":{}}}},
"aarch64":{"artifacts":{"metal":{"release":"9.6.1","formats":{"iso":{"disk":` + artifact("live.aarch64.iso") + `}}}}},
"riscv64":{"artifacts":{"metal":{"formats":{"iso":{"disk":{}}}}}}}}`
}

func TestBootArtifacts(t *testing.T) {
	p := &Payload{Release: Release{Version: "4.20.5", Arch: "amd64"}, BootImages: bootConfigMap(t, aStream())}
	all, err := p.BootArtifacts()
	fail.On(t, err)
	var got []string
	for _, a := range all {
		got = append(got, fmt.Sprintf("%s %s %s %s", a.Arch, a.Kind(), a.Part, a.File))
		if a.Location != "https://rhcos.example.com/art/"+a.File || a.Digest != digest.FromString(a.File) {
			t.Errorf("%s is %s with %s", a.File, a.Location, a.Digest)
		}
	}
	if diff := cmp.Diff([]string{
		"amd64 metal/iso disk live.x86_64.iso", "amd64 metal/pxe initramfs initramfs.x86_64.img", "amd64 metal/pxe kernel kernel.x86_64",
		"amd64 metal/pxe rootfs rootfs.x86_64.img", "amd64 vmware/ova disk vmware.x86_64.ova", "arm64 metal/iso disk live.aarch64.iso",
	}, got); diff != "" {
		t.Error(diff)
	}
	selected, err := p.SelectArtifacts([]string{"metal/iso"}, []release.Arch{"amd64", "arm64"})
	if err != nil || len(selected) != 2 || selected[0].File != "live.x86_64.iso" || selected[1].File != "live.aarch64.iso" {
		t.Errorf("%v, %v", selected, err)
	}
	for _, tc := range []struct {
		kind       string
		arch       release.Arch
		want, hint string
	}{
		{"metal/isos", "amd64", `release 4.20.5-x86_64 has no boot image "metal/isos" for amd64`, `did you mean "metal/iso"`},
		{"metal/pxe", "arm64", `has no boot image "metal/pxe" for arm64`, ""},
		{"aws", "amd64", `has no boot image "aws"`, "it has metal/iso, metal/pxe, vmware/ova"},
		{"metal/iso", "s390x", "for s390x", "this release lists none for s390x"},
	} {
		_, err := p.SelectArtifacts([]string{tc.kind}, []release.Arch{tc.arch})
		if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(advice.Hint(err), tc.hint) {
			t.Errorf("%s: %v (%s)", tc.kind, err, advice.Hint(err))
		}
	}
	if all, err := (&Payload{}).BootArtifacts(); all != nil || err != nil {
		t.Errorf("without boot images: %v, %v", all, err)
	}
}

func TestBootArtifactsRefuses(t *testing.T) {
	file := func(location, sha256 string) string {
		return fmt.Sprintf(`{"architectures":{"x86_64":{"artifacts":{"metal":{"formats":{"iso":{"disk":{"location":%q,"sha256":%q}}}}}}}}`, location, sha256)
	}
	for stream, want := range map[string]string{
		"{": "data.stream: ",
		file("https://a.example.com/x.iso", hexOf("a")[1:]):                `architecture "x86_64": "metal": format "iso": "disk": the sha256 is not 64 hexadecimal digits`,
		file("https://a.example.com/x.iso", strings.ToUpper(hexOf("abc"))): "the sha256 is not",
		file("https://a.example.com/x.iso", ""):                            "the sha256 is not",
		file("ftp://a.example.com/x.iso", hexOf("a")):                      "is not an http or https address",
		file("/etc/passwd", hexOf("a")):                                    "is not an http or https address",
		file("https://u:secret@a.example.com/x.iso", hexOf("a")):           `the location "https://u:xxxxx@a.example.com/x.iso" is not`,
		file("https://a.example.com/x.iso?token=1", hexOf("a")):            "has a user or a query",
		file("https://a.example.com/", hexOf("a")):                         "has no file name",
		file("https://a.example.com/a/..", hexOf("a")):                     "has no file name",
		file("https://a.example.com/a%20b", hexOf("a")):                    "has no file name",
		`{"architectures":{"x86_64":{},"amd64":{}}}`:                       `architecture amd64 occurs twice, as "amd64" and "x86_64"`,
		strings.Replace(aStream(), `"vmware"`, `"vm ware"`, 1):             `"vm ware" is not a name`,
		strings.Replace(aStream(), `"ova"`, `"../ova"`, 1):                 `"../ova" is not a name`,
	} {
		p := &Payload{Release: Release{Version: "4.20.5"}, BootImages: bootConfigMap(t, stream)}
		if all, err := p.BootArtifacts(); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v, %v, want %s", stream, all, err, want)
		}
	}
}

func FuzzBootArtifacts(f *testing.F) {
	f.Add([]byte(aStream()))
	f.Add([]byte(`{"architectures":{"s390x":{"artifacts":{"a":{"formats":{"b":{"c":{}}}}}}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := parseArtifacts(text)
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, a := range all {
			key := string(a.Arch) + "/" + a.Kind() + "/" + a.Part
			if seen[key] || strings.Count(key, "/") != 3 {
				t.Errorf("%s occurs twice, or is ambiguous", key)
			}
			seen[key] = true
			if a.Digest.Validate() != nil || strings.ContainsAny(a.File, `/\:`) || strings.Contains(a.Location, "@") && strings.Contains(strings.SplitN(a.Location, "/", 4)[2], "@") {
				t.Errorf("%+v is accepted", a)
			}
		}
	})
}
