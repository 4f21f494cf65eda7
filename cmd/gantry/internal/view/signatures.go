package view

import (
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/plan/trust"
)

// writeVerified writes what a signature policy found, if one was applied.
func writeVerified(b *strings.Builder, v *trust.VerifiedSignatures) {
	if v == nil {
		return
	}
	fmt.Fprintf(b, "Signatures by %s: %s verified, %d accepted without verification", v.Policy, Number(v.Verified, "image", "images"), v.Unsigned)
	if v.Refused > 0 {
		fmt.Fprintf(b, ", %d refused", v.Refused)
	}
	pronoun := "them"
	if v.Built == 1 {
		pronoun = "it"
	}
	if v.Built > 0 {
		fmt.Fprintf(b, "; %s made by Gantry, so that only the signature of an archive covers %s", Number(v.Built, "image was", "images were"), pronoun)
	}
	b.WriteString(".\n")
	for _, s := range v.Signed {
		fmt.Fprintf(b, "  %s by %s (%s)\n", Number(s.Images, "image", "images"), s.Name, s.Type)
	}
}

// VerifiedSignatures returns what a signature policy found as text, or "" if none was applied.
func VerifiedSignatures(v *trust.VerifiedSignatures) string {
	var b strings.Builder
	writeVerified(&b, v)
	return b.String()
}
