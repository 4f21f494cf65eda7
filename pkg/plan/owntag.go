package plan

import "github.com/opencontainers/go-digest"

// OwnTag returns the tag that a manifest gets to which a plan gives none made of its digest, if that is requested: "gantry-sha256-<hex>". It names
// that manifest alone, and is deleted with it.
func OwnTag(d digest.Digest) string { return "gantry-" + DigestTag(d) }
