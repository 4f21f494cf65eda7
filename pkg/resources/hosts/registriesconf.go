package hosts

import "github.com/gantry-mirror/gantry/pkg/resources"

// dropIn is the name of the file for registries.conf.d. Files there are read in the order of their names, and a
// later file replaces the tables with the same prefix.
const dropIn = "50-mirror.conf"

const registriesConfSource = "https://github.com/containers/image/blob/main/docs/containers-registries.conf.5.md"

func registriesConf(in Input) []byte {
	head := "# Copy to /etc/containers/registries.conf.d/ for podman, Buildah, skopeo and CRI-O. Fields:\n# " + registriesConfSource + "\n\n"
	return append([]byte(head), resources.RegistriesConf(in.Mirrors, in.PlainHTTP)...)
}
