package plan

import "github.com/opencontainers/go-digest"

// OwnTag returns the tag that a manifest gets which a plan gives none, if that is requested: "gantry-sha256-<hex>". It names
// that manifest alone, and is deleted with it.
func OwnTag(d digest.Digest) string { return "gantry-" + DigestTag(d) }
