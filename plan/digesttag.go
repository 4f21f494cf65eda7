package plan

import (
	"strings"

	"github.com/opencontainers/go-digest"
)

// freeEnding ends the tag of an image whose referrers may be listed under the tag that is made of its
// digest alone.
const freeEnding = ".image"

// DigestTag returns the tag of an image whose source has only a digest, as oc mirror does:
// "sha256-<hex>". Registries without the referrers API list the referrers of an image under the same
// tag.
func DigestTag(d digest.Digest) string { return strings.Replace(string(d), ":", "-", 1) }

// FreeDigestTag is DigestTag for an image with referrers: "sha256-<hex>.image".
func FreeDigestTag(d digest.Digest) string { return DigestTag(d) + freeEnding }

// IsDigestTag reports whether a tag is made of the digest of its image.
func IsDigestTag(tag string, d digest.Digest) bool {
	return strings.TrimSuffix(tag, freeEnding) == DigestTag(d)
}
