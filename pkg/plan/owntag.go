package plan

import "github.com/opencontainers/go-digest"

// OwnTag returns a tag that names one manifest alone, and is deleted with it: "gantry-sha256-<hex>". If it is requested, each manifest gets
// it to which the plan gives no tag made of its digest.
func OwnTag(d digest.Digest) string { return "gantry-" + DigestTag(d) }
