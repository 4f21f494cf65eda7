package view

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/image/manifest"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// FormatName returns a format as texts call it.
func FormatName(f manifest.Format) string {
	if f == manifest.Docker {
		return "Docker"
	}
	return "OCI"
}

// writeConverted writes which images were converted, and which of them clusters do not find.
func writeConverted(b *strings.Builder, p *plan.Plan) {
	var converted []string
	lost := map[string][]string{}
	for _, img := range p.Images {
		line := fmt.Sprintf("%s  becomes %s", img.Source, Short(img.Digest))
		switch {
		case img.RewrittenFrom == "":
		case img.NamedBy == "":
			converted = append(converted, line)
		default:
			lost[img.NamedBy] = append(lost[img.NamedBy], joined("\n      required by ", line, requiredBy(img.Reasons)))
		}
	}
	paragraph(b, "Converted to the media types of "+FormatName(p.Format), converted)
	for _, by := range slices.Sorted(maps.Keys(lost)) {
		paragraph(b, "Converted to the media types of "+FormatName(p.Format)+", but clusters do not find them, because they request the digests of the originals (named by "+by+")", lost[by])
	}
}

// writeRewritten writes which images get smaller indexes, and which keep their digests, by the reason. With
// a format, it writes which were converted.
func writeRewritten(b *strings.Builder, p *plan.Plan) {
	if p.Format != "" {
		writeConverted(b, p)
	}
	var rewritten []string
	kept := map[string][]string{}
	for _, img := range p.Images {
		switch {
		case img.RewrittenFrom != "" && p.Format == "":
			rewritten = append(rewritten, fmt.Sprintf("%s  becomes %s", img.Source, Short(img.Digest)))
		case img.NotRewritten != "":
			kept[img.NotRewritten] = append(kept[img.NotRewritten], joined("\n      required by ", img.Source, requiredBy(img.Reasons)))
		}
	}
	paragraph(b, "Smaller indexes, with the selected platforms", rewritten)
	for _, why := range slices.Sorted(maps.Keys(kept)) {
		paragraph(b, "Not rewritten, so mirrored with all platforms: "+why, kept[why])
	}
}
