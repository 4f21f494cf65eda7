package resources

import (
	"fmt"
	"strconv"
	"strings"
)

// RegistriesConf writes mirrors as containers-registries.conf(5), as the machine config operator does
// from mirror sets: a mirror for pulls by digest and one for pulls by tag are two entries. With
// plainHTTP, the mirrors are marked as insecure. Besides podman and CRI-O, the assisted service reads
// this format. It requires a location and mirrors of each table, and takes mirrors without
// pull-from-mirror for mirrors by digest only:
// https://github.com/openshift/assisted-service/blob/master/pkg/mirrorregistries/parser.go
func RegistriesConf(mirrors []SourceMirrors, plainHTTP bool) []byte {
	var b strings.Builder
	for i, m := range mirrors {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "[[registry]]\nprefix = %[1]s\nlocation = %[1]s\n", strconv.Quote(m.Source))
		if m.Policy == neverContactSource {
			b.WriteString("blocked = true\n")
		}
		for _, group := range []struct {
			pull    string
			mirrors []string
		}{{"digest-only", m.ByDigest}, {"tag-only", m.ByTag}} {
			for _, mirror := range group.mirrors {
				fmt.Fprintf(&b, "\n[[registry.mirror]]\nlocation = %s\npull-from-mirror = %s\n", strconv.Quote(mirror), strconv.Quote(group.pull))
				if plainHTTP {
					b.WriteString("insecure = true\n")
				}
			}
		}
	}
	return []byte(b.String())
}

// Blocked reports whether nodes may not pull from the source itself.
func (m SourceMirrors) Blocked() bool { return m.Policy == neverContactSource }

// EncodeYAML writes v as YAML in the order of its fields, as the package writes manifests.
func EncodeYAML(v any) ([]byte, error) { return encode(v) }
