package releasetest

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/release"
)

// BootFile returns the name of a file of BootFiles by its key: "rhcos-4.20.5-metal-iso-disk.x86_64" for
// "amd64/metal/iso/disk".
func BootFile(version, key string) string {
	arch, rest, _ := strings.Cut(key, "/")
	return "rhcos-" + version + "-" + strings.ReplaceAll(rest, "/", "-") + "." + release.Arch(arch).Suffix()
}

// bootFiles returns the artifacts of an architecture, as the metadata of a CoreOS stream lists them.
func (w *Platform) bootFiles(p *Payload, arch release.Arch) object {
	platforms := object{}
	for _, key := range slices.Sorted(maps.Keys(p.BootFiles)) {
		words := strings.Split(key, "/")
		if words[0] != string(arch) {
			continue
		}
		if platforms[words[1]] == nil {
			platforms[words[1]] = object{"release": p.Version, "formats": object{}}
		}
		formats := platforms[words[1]].(object)["formats"].(object)
		if formats[words[2]] == nil {
			formats[words[2]] = object{}
		}
		location := cmp.Or(w.definition.BootServer, "https://rhcos.example.com") + "/" + BootFile(p.Version, key)
		formats[words[2]].(object)[words[3]] = object{
			"location": location, "signature": location + ".sig", "sha256": digest.FromString(p.BootFiles[key]).Encoded(),
		}
	}
	return platforms
}
