package plan

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// imageEnding ends the tag of an image whose source has only a digest.
const imageEnding = ".image"

// DigestTag returns the tag in the mirror of an image whose source has only a digest: "sha256-<hex>.image".
// It has at most 64 digits of the digest, as ReferrersTag, since a tag has at most 128 characters.
func DigestTag(d digest.Digest) string { return ReferrersTag(d) + imageEnding }

// ReferrersTag returns "sha256-<hex>": the tag under which registries without the referrers API list the
// referrers of a manifest (OCI distribution specification, "Referrers Tag Schema"). It is never the tag of an
// image. oc mirror and earlier versions of Gantry gave it to the image itself.
func ReferrersTag(d digest.Digest) string {
	algorithm, encoded, _ := strings.Cut(string(d), ":")
	return algorithm + "-" + encoded[:min(len(encoded), 64)]
}

// IsDigestTag reports whether a tag is made of the digest of its image: DigestTag, or what oc mirror and
// earlier versions used.
func IsDigestTag(tag string, d digest.Digest) bool {
	return strings.TrimSuffix(tag, imageEnding) == ReferrersTag(d)
}

var referrersTag = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^sha(256|384|512)-[0-9a-f]{64}$`) })

// IsReferrersTag reports whether a tag is the ReferrersTag of some manifest.
func IsReferrersTag(tag string) bool { return referrersTag().MatchString(tag) }

// WithDigestTags returns the plan with DigestTag in place of each ReferrersTag that earlier versions gave to an
// image. Plans that are executed, and those that a mirror's content is compared with, are read so: what is
// listed under a ReferrersTag is never replaced by an image.
func (p *Plan) WithDigestTags() *Plan {
	q := *p
	q.Images, q.Catalogs = slices.Clone(p.Images), slices.Clone(p.Catalogs)
	changed := false
	for i := range q.Images {
		img := &q.Images[i]
		for at, tag := range img.Tags {
			if IsReferrersTag(tag) {
				img.Tags, changed = slices.Clone(img.Tags), true
				img.Tags[at] = DigestTag(img.Digest)
			}
		}
	}
	if !changed {
		return p
	}
	for i := range q.Catalogs {
		if c := &q.Catalogs[i]; IsReferrersTag(c.Tag) {
			c.Tag = DigestTag(c.Digest)
		}
	}
	elements.Sort(q.Images, CompareImages)
	return &q
}
