package view

import (
	"fmt"
	"slices"
	"strings"

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
func releaseOf(b plan.Reason) string { return b.Release }

func writeReleases(b *strings.Builder, p *plan.Plan, width int) {
	if len(p.Releases) == 0 {
		return
	}
	b.WriteString("Platform releases\n")
	head, sizes := "RELEASE\tTAKEN FOR\tSIGNED", sizes(p, releaseOf)
	if sizes != nil {
		head += "\tIMAGES\tSIZE"
	}
	var rows []string
	unverified := 0
	for _, r := range p.Releases {
		signed := "yes"
		if r.Unverified {
			signed = NotVerified
			unverified++
		}
		row := fmt.Sprintf("%s\t%s\t%s", r.Name(), releaseReasons(r), signed)
		if s := sizes[r.Name()]; sizes != nil {
			row += fmt.Sprintf("\t%d\t%s", s.images, progress.Bytes(s.bytes))
		}
		rows = append(rows, row)
	}
	lines := strings.Split(strings.TrimSuffix(tabulate(width, head, rows), "\n"), "\n")
	fmt.Fprintf(b, "  %s\n", lines[0])
	List(b, lines[1:])
	if unverified > 0 {
		fmt.Fprintf(b, "  %s: the signature of %s was not checked (--ignore-release-signature), and clusters may refuse %s.\n",
			NotVerified, Number(unverified, "release", "releases"), plural(unverified, "it", "them"))
	}
	b.WriteByte('\n')
}

// writeTools writes the tools of each release, with their platforms.
func writeTools(b *strings.Builder, p *plan.Plan) {
	first := true
	for _, r := range p.Releases {
		var names []string
		platforms := map[string][]string{}
		for _, t := range r.Tools {
			if platforms[t.Name] == nil {
				names = append(names, t.Name)
			}
			platforms[t.Name] = append(platforms[t.Name], t.Platform)
		}
		if len(names) == 0 {
			continue
		}
		if first {
			b.WriteString("Tools in the images of releases\n")
			first = false
		}
		for i, name := range names {
			names[i] = fmt.Sprintf("%s (%s)", OneLine(name), OneLine(strings.Join(platforms[name], ", ")))
		}
		writeWrapped(b, "  ", r.Name()+": "+strings.Join(names, ", "))
	}
	if !first {
		b.WriteByte('\n')
	}
}

// releaseReasons returns why a release was selected: "fast-4.20: head, path; stable-4.20: range".
func releaseReasons(r plan.Release) string {
	var text strings.Builder
	channel := ""
	for i, why := range r.Reasons {
		switch {
		case why.Channel == "" && i == 0:
			text.WriteString(why.Reason)
		case why.Channel == channel && i > 0:
			text.WriteString(", " + why.Reason)
		default:
			writeIf(&text, i > 0, "; ")
			text.WriteString(why.Channel + ": " + why.Reason)
		}
		channel = why.Channel
	}
	return text.String()
}

// writeUpdates writes the updates of a plan.
func writeUpdates(b *strings.Builder, p *plan.Plan) {
	if len(p.Updates) == 0 {
		return
	}
	b.WriteString("Updates\n")
	for _, u := range p.Updates {
		fmt.Fprintf(b, "  %s to %s for %s, in channel %s", u.From, u.To, u.Arch, u.Channel)
		writeIf(b, u.Product != release.OCP, " of %s", strings.ToUpper(string(u.Product)))
		if len(u.Hops) == 0 {
			b.WriteString(": nothing to do\n")
			continue
		}
		fmt.Fprintf(b, ": %s\n", Number(len(u.Hops), "update", "updates"))
		for _, h := range u.Hops {
			writeHop(b, h)
		}
	}
	b.WriteByte('\n')
}

func writeHop(b *strings.Builder, h plan.Hop) {
	fmt.Fprintf(b, "    %s -> %s", h.From, h.To)
	writeIf(b, h.NextMinor(), "  to the next minor version")
	b.WriteByte('\n')
	for _, r := range h.Risks {
		fmt.Fprintf(b, "      risk %s: %s", OneLine(r.Name), concerned(r))
		writeIf(b, r.Accepted, "; accepted")
		b.WriteByte('\n')
	}
	for _, ack := range h.Acks {
		fmt.Fprintf(b, "      to acknowledge: %s\n", OneLine(ack.Name))
	}
	for _, o := range h.Blockers {
		fmt.Fprintf(b, "      blocked by operator %s of catalog %s: no selected bundle supports OpenShift newer than %s (%s)\n", o.Package, o.Catalog, o.Max, o.Bundle)
	}
}

// concerned returns which clusters a risk concerns.
func concerned(r plan.Risk) string {
	if r.Always() {
		return "every cluster"
	}
	return "clusters that match a query"
}

// writeRisks writes the risks of a plan's updates, each once: many hops have the same ones.
func writeRisks(b *strings.Builder, p *plan.Plan) {
	var written []plan.Risk
	for _, u := range p.Updates {
		for _, h := range u.Hops {
			for _, r := range h.Risks {
				if slices.ContainsFunc(written, func(o plan.Risk) bool {
					return o.Name == r.Name && o.Message == r.Message && o.URL == r.URL && slices.Equal(o.Rules, r.Rules)
				}) {
					continue
				}
				writeIf(b, len(written) == 0, "Risks of these updates\n")
				written = append(written, r)
				writeRisk(b, r)
			}
		}
	}
	if len(written) > 0 {
		b.WriteByte('\n')
	}
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
	var written []plan.Ack
	for _, u := range p.Updates {
		for _, h := range u.Hops {
			for _, ack := range h.Acks {
				if slices.Contains(written, ack) {
					continue
				}
				writeIf(b, len(written) == 0, "To acknowledge before the update, in ConfigMap openshift-config/admin-acks\n")
				written = append(written, ack)
				fmt.Fprintf(b, "  %s\n", OneLine(ack.Name))
				writeWrapped(b, "    ", ack.Message)
			}
		}
	}
	if len(written) > 0 {
		b.WriteByte('\n')
	}
}

// writeWrapped writes a text in lines of at most textWidth columns. Longer words are not split.
func writeWrapped(b *strings.Builder, indent, text string) {
	at := 0
	for _, word := range strings.Fields(text) {
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
