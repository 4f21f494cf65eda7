package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// textWidth is the maximum width of wrapped messages, in columns without the indent.
const textWidth = 100

// writePlatform writes the releases of a plan, the updates between them, and what may prevent these
// updates.
func writePlatform(b *strings.Builder, p *plan.Plan, width int) {
	writeReleases(b, p, width)
	writeTools(b, p)
	writeUpdates(b, p)
	writeRisks(b, p)
	writeAcks(b, p)
	if g := p.GraphData; g != nil {
		fmt.Fprintf(b, "Graph data for an update service\n  %s (%s)\n  becomes %s:%s (built on %s, %s)\n\n",
			g.Source, Short(g.SHA256), g.Repository, g.Tag, strings.Join(append([]string{g.Base}, g.MoreBases...), " and "), Short(g.Digest))
	}
}

// releaseOf returns the release that a reason belongs to, for sizes.
func releaseOf(_ *plan.Image, b plan.Reason) string { return b.Release }

func writeReleases(b *strings.Builder, p *plan.Plan, width int) {
	if len(p.Releases) == 0 {
		return
	}
	b.WriteString("Platform releases\n")
	sizes := p.PartSizes(releaseOf)
	var rows []string
	unverified := 0
	for _, r := range p.Releases {
		signed, s := "yes", sizes[r.Name()]
		if r.Unverified {
			signed = NotVerified
			unverified++
		}
		rows = append(rows, fmt.Sprintf("  %s\t%s\t%s", r.Name(), releaseReasons(r), signed)+textIf(sizes != nil, "\t%d\t%s", s.Images, progress.Bytes(s.Bytes)))
	}
	head := "  RELEASE\tTAKEN FOR\tSIGNED" + textIf(sizes != nil, "\tIMAGES\tSIZE")
	b.WriteString(tabulate(width, head, rows[:min(len(rows), maxListed)], "TAKEN FOR", "IMAGES"))
	writeMore(b, len(rows))
	if unverified > 0 {
		fmt.Fprintf(b, "  %s: the signature of %s was not checked (--ignore-release-signature), and clusters may refuse %s.\n",
			NotVerified, Number(unverified, "release", "releases"), plural(unverified, "it", "them"))
	}
	b.WriteByte('\n')
}

// writeTools writes the tools of each release, with their platforms.
func writeTools(b *strings.Builder, p *plan.Plan) {
	var lines strings.Builder
	for _, r := range p.Releases {
		var tools grouped[string, string]
		for _, t := range r.Tools {
			tools.add(t.Name, t.Platform)
		}
		if len(r.Tools) > 0 {
			writeWrapped(&lines, "  ", r.Name()+": "+strings.Join(elements.Map(tools.keys, func(name string) string {
				return fmt.Sprintf("%s (%s)", OneLine(name), OneLine(strings.Join(tools.of[name], ", ")))
			}), ", "))
		}
	}
	writeIf(b, lines.Len() > 0, "Tools in the images of releases\n%s\n", lines.String())
}

// releaseReasons returns why a release was selected: "fast-4.20: head, path; stable-4.20: range".
func releaseReasons(r plan.Release) string {
	var texts []string
	for i, why := range r.Reasons {
		switch {
		case i > 0 && why.Channel == r.Reasons[i-1].Channel:
			texts[len(texts)-1] += ", " + why.Reason
		case why.Channel == "" && i == 0:
			texts = append(texts, why.Reason)
		default:
			texts = append(texts, why.Channel+": "+why.Reason)
		}
	}
	return strings.Join(texts, "; ")
}

// writeUpdates writes the updates of a plan.
func writeUpdates(b *strings.Builder, p *plan.Plan) {
	if len(p.Updates) == 0 {
		return
	}
	b.WriteString("Updates\n")
	for _, u := range p.Updates {
		product := textIf(u.Product != release.OCP, " of %s", strings.ToUpper(string(u.Product)))
		what := cmp.Or(textIf(len(u.Hops) > 0, "%s", Number(len(u.Hops), "update", "updates")), "nothing to do")
		fmt.Fprintf(b, "  %s to %s for %s, in channel %s%s: %s\n", u.From, u.To, u.Arch, u.Channel, product, what)
		for _, h := range u.Hops {
			writeHop(b, h)
		}
	}
	b.WriteByte('\n')
}

func writeHop(b *strings.Builder, h plan.Hop) {
	fmt.Fprintf(b, "    %s -> %s%s\n", h.From, h.To, textIf(h.NextMinor(), "  to the next minor version"))
	for _, r := range h.Risks {
		concerned := cmp.Or(textIf(r.Always(), "every cluster"), "clusters that match a query")
		fmt.Fprintf(b, "      risk %s: %s%s\n", OneLine(r.Name), concerned, textIf(r.Accepted, "; accepted"))
	}
	for _, ack := range h.Acks {
		fmt.Fprintf(b, "      to acknowledge: %s\n", OneLine(ack.Name))
	}
	for _, o := range h.Blockers {
		fmt.Fprintf(b, "      blocked by operator %s of catalog %s: no selected bundle supports OpenShift newer than %s (%s)\n", o.Package, o.Catalog, o.Max, o.Bundle)
	}
}

// fromHops returns what the updates of a plan have at their hops, each once: many hops have the same.
func fromHops[T any](p *plan.Plan, of func(plan.Hop) []T, same func(a, b T) bool) (all []T) {
	for _, u := range p.Updates {
		for _, x := range slices.Concat(elements.Map(u.Hops, of)...) {
			if !slices.ContainsFunc(all, func(other T) bool { return same(x, other) }) {
				all = append(all, x)
			}
		}
	}
	return all
}

// writeRisks writes the risks of a plan's updates.
func writeRisks(b *strings.Builder, p *plan.Plan) {
	risks := fromHops(p, func(h plan.Hop) []plan.Risk { return h.Risks }, func(r, o plan.Risk) bool {
		return o.Name == r.Name && o.Message == r.Message && o.URL == r.URL && slices.Equal(o.Rules, r.Rules)
	})
	writeIf(b, len(risks) > 0, "Risks of these updates\n")
	for _, r := range risks {
		writeRisk(b, r)
	}
	writeIf(b, len(risks) > 0, "\n")
}

func writeRisk(b *strings.Builder, r plan.Risk) {
	fmt.Fprintf(b, "  %s\n", OneLine(r.Name))
	writeWrapped(b, "    ", r.Message)
	writeIf(b, r.URL != "", "    %s\n", OneLine(r.URL))
	for _, rule := range r.Rules {
		if rule.PromQL == "" {
			fmt.Fprintf(b, "    rule: %s, for every cluster\n", rule.Type)
			continue
		}
		fmt.Fprintf(b, "    rule: %s, for clusters where this is 1\n", rule.Type)
		for line := range strings.Lines(strings.TrimSpace(rule.PromQL)) {
			fmt.Fprintf(b, "      %s\n", strings.TrimRight(line, " \t\r\n"))
		}
	}
}

func writeAcks(b *strings.Builder, p *plan.Plan) {
	acks := fromHops(p, func(h plan.Hop) []plan.Ack { return h.Acks }, func(a, o plan.Ack) bool { return a == o })
	writeIf(b, len(acks) > 0, "To acknowledge before the update, in ConfigMap openshift-config/admin-acks\n")
	for _, ack := range acks {
		fmt.Fprintf(b, "  %s\n", OneLine(ack.Name))
		writeWrapped(b, "    ", ack.Message)
	}
	writeIf(b, len(acks) > 0, "\n")
}

// writeWrapped writes a text in lines of at most textWidth columns. Longer words are not split.
func writeWrapped(b *strings.Builder, indent, text string) {
	at := 0
	for word := range strings.FieldsSeq(text) {
		switch n := len([]rune(word)); {
		case at == 0:
			b.WriteString(indent + word)
			at = n
		case at+1+n > textWidth:
			b.WriteString("\n" + indent + word)
			at = n
		default:
			b.WriteString(" " + word)
			at += 1 + n
		}
	}
	if at > 0 {
		b.WriteByte('\n')
	}
}
