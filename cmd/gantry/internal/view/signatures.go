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
	if v.Refused > 0 {
		fmt.Fprintf(&b, ", %d refused", v.Refused)
	}
	if v.Built > 0 {
		fmt.Fprintf(&b, "; %s made by Gantry, so that only the signature of an archive covers %s", Number(v.Built, "image was", "images were"), plural(v.Built, "it", "them"))
	}
	b.WriteString(".\n")
	for _, s := range v.Signed {
		fmt.Fprintf(&b, "  %s by %s (%s)\n", Number(s.Images, "image", "images"), s.Name, s.Type)
	}
	return b.String()
}
