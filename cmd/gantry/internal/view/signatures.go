package view

import (
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/plan/trust"
)

// VerifiedSignatures returns what a signature policy found as text, or "" if none was applied.
func VerifiedSignatures(v *trust.VerifiedSignatures) string {
	if v == nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Signatures by %s: %s verified, %d accepted without verification", v.Policy, Number(v.Verified, "image", "images"), v.Unsigned)
	writeIf(&b, v.Refused > 0, ", %d refused", v.Refused)
	writeIf(&b, v.Built > 0, "; %s made by Gantry, so that only the signature of an archive covers %s", Number(v.Built, "image was", "images were"), plural(v.Built, "it", "them"))
	b.WriteString(".\n")
	for _, s := range v.Signed {
		fmt.Fprintf(&b, "  %s by %s (%s)\n", Number(s.Images, "image", "images"), s.Name, s.Type)
	}
	return b.String()
}
