package view

import (
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/plan/explain"
)

// Explanation returns why something is in a plan as text.
func Explanation(e *explain.Result) string {
	var b strings.Builder
	for _, x := range e.Bundles {
		fmt.Fprintf(&b, "%s of package %s, catalog %s\n", x.Name, x.Package, x.Catalog)
		if f := x.Features; f != nil {
			fmt.Fprintf(&b, "  declares %s\n", Features(f.Supported, f.Unsupported))
		} else if x.FeaturesUnknown {
			b.WriteString("  its features are unknown: the catalog is not in the cache; gantry plan explain -c FILE reads it\n")
		}
		writeKeptFor(&b, "  ", x)
	}
	for _, x := range e.Releases {
		fmt.Fprintf(&b, "release %s\n", x.Name)
		writeIf(&b, x.Erratum != "", "  erratum %s\n", OneLine(x.Erratum))
		writeTakenFor(&b, "  ", x)
	}
	writeExplainedCharts(&b, e.Charts)
	for _, x := range e.Images {
		writeExplainedImage(&b, x)
	}
	for _, a := range e.AskedFor {
		without := "nothing would go, since other lines need all of it"
		if a.Without.Images > 0 {
			without = fmt.Sprintf("%s and %s would go", Number(a.Without.Images, "image", "images"), progress.Bytes(a.Without.Bytes))
		}
		fmt.Fprintf(&b, "asked for by %s:%d; without that line, %s\n", OneLine(a.File), a.Line, without)
	}
	return b.String()
}

// writeExplainedImage writes what becomes of an image.
func writeExplainedImage(b *strings.Builder, x plan.ExplainedImage) {
	fmt.Fprintf(b, "%s\n", x.Source)
	writeIf(b, x.File != "", "  file %s\n", x.File)
	switch {
	case x.Missing != "":
		fmt.Fprintf(b, "  missing at the source: %s\n", x.Missing)
	case x.Blocked != "":
		fmt.Fprintf(b, "  blocked by %q\n", x.Blocked)
	default:
		fmt.Fprintf(b, "  becomes %s%s, %s\n", x.Repository, tagged(x.Tags, x.Digest), progress.Bytes(x.Size))
	}
	if x.Format != "" {
		fmt.Fprintf(b, "  converted to the media types of %s from %s, as %s\n", FormatName(x.Format), x.RewrittenFrom, x.Digest)
		writeIf(b, x.NamedBy != "", "  clusters do not find it, because they request the digest of the original (named by %s)\n", x.NamedBy)
	} else if x.RewrittenFrom != "" {
		fmt.Fprintf(b, "  smaller index of %s, as %s\n", x.RewrittenFrom, x.Digest)
	}
	writeIf(b, x.NotRewritten != "", "  keeps its digest and all its platforms: %s\n", x.NotRewritten)
	writeIf(b, x.Subject != "", "  belongs to %s\n", joined(" of ", string(x.Subject), x.Of))
	writeIf(b, x.ArtifactType != "", "  has the type %s\n", joined(", with ", x.ArtifactType, x.PredicateType))
	for _, s := range x.Signers {
		fmt.Fprintf(b, "  signed by %s (%s)\n", s.Name, s.Type)
	}
	writeIf(b, x.Signatures > 0, "  carries %s\n", Number(x.Signatures, "OpenPGP signature", "OpenPGP signatures"))
	if x.Subject == "" { // otherwise, it is not listed itself
		writeAll(b, "  in the configuration's %s\n", x.Lists)
	}
	writeAll(b, "    selected by the rule for tags: %s\n", x.Rules)
	for _, bundle := range x.Bundles {
		as := textIf(len(bundle.ImageNames) > 0, " as %s", strings.Join(bundle.ImageNames, ", "))
		fmt.Fprintf(b, "  named by %s%s (package %s, catalog %s)\n", bundle.Name, as, bundle.Package, bundle.Catalog)
		writeKeptFor(b, "    ", bundle)
	}
	for _, r := range x.Releases {
		as := textIf(len(r.ComponentNames) > 0, " as %s", strings.Join(r.ComponentNames, ", "))
		fmt.Fprintf(b, "  named by release %s%s\n", r.Name, as)
		writeTakenFor(b, "    ", r)
	}
	for _, c := range x.Charts {
		if c.Owners == nil {
			fmt.Fprintf(b, "  chart %s\n", c.Chart)
			continue
		}
		fmt.Fprintf(b, "  named by chart %s in %s\n", c.Chart, strings.Join(c.Owners, ", "))
	}
}

func writeKeptFor(b *strings.Builder, indent string, x plan.ExplainedBundle) {
	for _, kept := range x.Channels {
		why := kept.Reason
		why += textIf(kept.For != "" && kept.For != x.Name, ", for %s", kept.For)
		fmt.Fprintf(b, "%schannel %s: %s\n", indent, kept.Channel, why)
	}
}

// writeTakenFor writes why a release is in the plan.
func writeTakenFor(b *strings.Builder, indent string, x plan.ExplainedRelease) {
	for _, why := range x.Reasons {
		if why.Channel == "" {
			fmt.Fprintf(b, "%snamed by the configuration\n", indent)
			continue
		}
		fmt.Fprintf(b, "%schannel %s: %s\n", indent, why.Channel, why.Reason)
	}
	for _, u := range x.Updates {
		fmt.Fprintf(b, "%son the update path from %s to %s in channel %s\n", indent, u.From, u.To, u.Channel)
	}
}
