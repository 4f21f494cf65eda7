package diff

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// edgesShown is the number of edges that are listed for each channel and change.
const edgesShown = 3

// messageShown and lineShown are the maximum lengths of a message and of a line, in characters.
const (
	messageShown = 100
	lineShown    = 400
)

// WriteText writes one line per difference, grouped by package: "+" for additions, "-" for
// removals, "~" for changes. The contents of packages that were added or removed are only counted.
// If there are more than the given number of lines, a last line gives the number of omitted lines;
// 0 means no limit. Without differences it writes nothing.
func (d *Diff) WriteText(w io.Writer, lines int) error {
	out := bufio.NewWriter(w)
	n := 0
	for line := range d.lines() {
		if n++; lines == 0 || n <= lines {
			// Flush returns the error.
			_, _ = out.WriteString(printable(line) + "\n")
		}
	}
	if lines > 0 && n > lines {
		_, _ = fmt.Fprintf(out, "and %d more lines\n", n-lines)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing the differences: %w", err)
	}
	return nil
}

// lines yields the lines of the text.
func (d *Diff) lines() func(yield func(string) bool) {
	return func(yield func(string) bool) {
		rest := *d
		for {
			pkg, more := rest.next()
			if !more {
				break
			}
			for _, line := range rest.take(pkg).text(pkg) {
				if !yield(line) {
					return
				}
			}
		}
		if d.EdgesOmitted > 0 {
			yield("and " + count(d.EdgesOmitted, "more edge"))
		}
	}
}

// next returns the first package for which something remains. Objects of the whole catalog come
// first, under the name "".
func (d *Diff) next() (string, bool) {
	var names []string
	for _, list := range [][]string{
		first(d.Packages, Package.pkg), first(d.Channels, Channel.pkg), first(d.Bundles, Bundle.pkg), first(d.Edges, Edge.pkg),
		first(d.Deprecations, Deprecation.pkg), first(d.Others, Other.pkg),
	} {
		names = append(names, list...)
	}
	if len(names) == 0 {
		return "", false
	}
	return slices.Min(names), true
}

func (p Package) pkg() string     { return p.Name }
func (c Channel) pkg() string     { return c.Package }
func (b Bundle) pkg() string      { return b.Package }
func (e Edge) pkg() string        { return e.Package }
func (e Deprecation) pkg() string { return e.Package }
func (o Other) pkg() string       { return o.Package }

// first returns the package of the first element, if any.
func first[T any](list []T, pkg func(T) string) []string {
	if len(list) == 0 {
		return nil
	}
	return []string{pkg(list[0])}
}

// take removes everything of a package from the front of the lists, and returns it.
func (d *Diff) take(pkg string) *Diff {
	return &Diff{
		Packages: cut(&d.Packages, pkg, Package.pkg), Channels: cut(&d.Channels, pkg, Channel.pkg),
		Bundles: cut(&d.Bundles, pkg, Bundle.pkg), Edges: cut(&d.Edges, pkg, Edge.pkg),
		Deprecations: cut(&d.Deprecations, pkg, Deprecation.pkg), Others: cut(&d.Others, pkg, Other.pkg),
	}
}

// cut removes the elements of a package from the front of a list, and returns them.
func cut[T any](list *[]T, name string, pkg func(T) string) []T {
	n := 0
	for n < len(*list) && pkg((*list)[n]) == name {
		n++
	}
	front := (*list)[:n]
	*list = (*list)[n:]
	return front
}

// text returns the lines of one package.
func (d *Diff) text(name string) []string {
	if len(d.Packages) > 0 && d.Packages[0].Change != Changed {
		counts := []string{count(len(d.Channels), "channel"), count(len(d.Bundles), "bundle")}
		if n := len(d.Deprecations); n > 0 {
			counts = append(counts, count(n, "deprecation"))
		}
		return []string{line(d.Packages[0].Change, "package", name, strings.Join(counts, ", "))}
	}
	var lines []string
	indent := ""
	if name != "" {
		var parts []string
		if len(d.Packages) > 0 {
			parts = append(was("default channel", d.Packages[0].DefaultChannel), d.Packages[0].Members...)
		}
		lines, indent = append(lines, line(Changed, "package", name, parts...)), "  "
	}
	for _, c := range d.Channels {
		lines = append(lines, indent+c.text())
	}
	for _, b := range d.Bundles {
		lines = append(lines, indent+b.text())
	}
	for _, text := range edgeTexts(d.Edges) {
		lines = append(lines, indent+text)
	}
	for _, e := range d.Deprecations {
		lines = append(lines, indent+e.text())
	}
	for _, o := range d.Others {
		lines = append(lines, indent+line(o.Change, o.Schema, o.Name, o.Members...))
	}
	return lines
}

func (c Channel) text() string {
	parts := was("head", c.Head)
	if c.Change != Changed {
		return line(c.Change, "channel", c.Name, append(parts, entries(len(c.EntriesAdded)+len(c.EntriesRemoved), ""))...)
	}
	for _, e := range []struct {
		n    int
		what string
	}{{len(c.EntriesAdded), " added"}, {len(c.EntriesRemoved), " removed"}, {len(c.EntriesChanged), " with other edges"}} {
		if e.n > 0 {
			parts = append(parts, entries(e.n, e.what))
		}
	}
	return line(c.Change, "channel", c.Name, append(parts, c.Members...)...)
}

func (b Bundle) text() string {
	if b.Change != Changed {
		return line(b.Change, "bundle", b.Name)
	}
	parts := append(was("version", b.Version), was("image", b.Image)...)
	added := 0
	for _, i := range b.RelatedImages {
		if i.Change == Added {
			added++
		}
	}
	if n := len(b.RelatedImages); n > 0 {
		parts = append(parts, "related images"+signed(added, n-added))
	}
	for _, p := range b.Properties {
		parts = append(parts, p.Type+signed(len(p.Added), len(p.Removed)))
	}
	return line(b.Change, "bundle", b.Name, append(parts, b.Members...)...)
}

func (e Deprecation) text() string {
	what, name := strings.TrimPrefix(e.Schema, "olm."), e.Name
	if e.Schema == catalog.SchemaPackage {
		name = e.Package
	}
	message := cmp.Or(e.Message.New, e.Message.Old)
	return line(e.Change, "deprecation of "+what, name, strconv.Quote(shorten(message, messageShown)))
}

// edgeTexts lists the first edges of each channel and counts the others.
func edgeTexts(edges []Edge) []string {
	var lines []string
	for len(edges) > 0 {
		channel := edges[0].Channel
		in := cut(&edges, channel, func(e Edge) string { return e.Channel })
		for _, change := range []Change{Added, Removed} {
			n := 0
			for _, e := range in {
				if e.Change != change {
					continue
				}
				if n++; n <= edgesShown {
					lines = append(lines, line(change, "edge", "of channel "+channel, fmt.Sprintf("%s -> %s (%s)", e.From, e.To, e.By)))
				}
			}
			if n > edgesShown {
				lines = append(lines, fmt.Sprintf("%s %s of channel %s", sign(change), count(n-edgesShown, "more edge"), channel))
			}
		}
	}
	return lines
}

// printable makes a line safe for a terminal, since names come from the catalog: one line without
// control characters, of limited length.
func printable(line string) string {
	return shorten(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, line), lineShown)
}

// shorten cuts a text to a number of characters.
func shorten(text string, to int) string {
	if runes := []rune(text); len(runes) > to {
		return string(runes[:to-3]) + "..."
	}
	return text
}

// line formats one line: the sign of the change, its subject, and details.
func line(change Change, what, name string, details ...string) string {
	text := sign(change) + " " + what
	if name != "" {
		text += " " + name
	}
	details = slices.DeleteFunc(details, func(s string) bool { return s == "" })
	if len(details) > 0 {
		text += ": " + strings.Join(details, ", ")
	}
	return text
}

// sign returns the sign of a change.
func sign(change Change) string {
	switch change {
	case Added:
		return "+"
	case Removed:
		return "-"
	default:
		return "~"
	}
}

// was formats the old and the new value of a text.
func was(what string, text *Text) []string {
	switch {
	case text == nil:
		return nil
	case text.Old == "" || text.New == "":
		return []string{what + " " + text.Old + text.New}
	default:
		return []string{what + " " + text.Old + " -> " + text.New}
	}
}

// signed formats the numbers of additions and removals.
func signed(added, removed int) string {
	var text string
	if added > 0 {
		text += fmt.Sprintf(" +%d", added)
	}
	if removed > 0 {
		text += fmt.Sprintf(" -%d", removed)
	}
	return text
}

// count formats a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// entries formats a number of channel entries.
func entries(n int, what string) string {
	if n == 1 {
		return "1 entry" + what
	}
	return fmt.Sprintf("%d entries%s", n, what)
}
