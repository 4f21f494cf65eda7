package planpage

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/gantry-mirror/gantry/pkg/page"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/plan/asked"
)

// maxLines is how many lines of the configuration a cell links to.
const maxLines = 4

// askedBy is the cell about who asked for something: lines of the configuration, or else a text.
func askedBy(text string, lines ...int) page.Cell {
	var c page.Cell
	for _, l := range lines {
		c.Lines = asked.Append(c.Lines, l)
	}
	slices.Sort(c.Lines)
	if more := len(c.Lines) - maxLines; more > 0 {
		c.Lines, c.Note = c.Lines[:maxLines], fmt.Sprintf("and %d more", more)
	}
	if len(c.Lines) == 0 {
		c.Text = text
	}
	return c
}

// partLines returns the lines that asked for each part.
func (b *builder) partLines() map[string][]int {
	of := map[string][]int{}
	for i := range b.Plan.Images {
		img := &b.Plan.Images[i]
		for _, r := range img.Reasons {
			p := partOf(r)
			if _, known := of[p.key]; known && (r.Release != "" || r.Chart != "" || r.Package != "") || p.group == ofSignatures {
				continue
			}
			lines := b.find.Of(b.Plan, img.Source, r)
			switch {
			case img.Catalog != "":
				if at := slices.IndexFunc(b.Plan.Catalogs, func(c plan.Catalog) bool { return c.Name() == img.Catalog }); at >= 0 {
					lines = []int{b.find.Catalog(&b.Plan.Catalogs[at])}
				}
			case p.key == "platform":
				lines = []int{b.find.Platform()}
			case r.List == "files":
				if at := slices.IndexFunc(b.Plan.Files, func(f plan.File) bool { return f.Source == img.Source }); at >= 0 {
					lines = []int{b.find.File(b.Plan.Files[at].Name)}
				}
			}
			all := of[p.key]
			for _, l := range lines {
				all = asked.Append(all, l)
			}
			of[p.key] = all
		}
	}
	return of
}

// SignerLines returns the cells about who asked for the images of each signer.
func (o Options) SignerLines() map[plan.Signer]page.Cell {
	find, lines := asked.New(o.Config), map[plan.Signer][]int{}
	for i := range o.Plan.Images {
		img := &o.Plan.Images[i]
		if len(img.Signers) == 0 {
			continue
		}
		for _, r := range img.Reasons {
			for _, l := range find.Of(o.Plan, img.Source, r) {
				for _, x := range img.Signers {
					lines[x] = asked.Append(lines[x], l)
				}
			}
		}
	}
	cells := map[plan.Signer]page.Cell{}
	for x, of := range lines {
		cells[x] = askedBy("", of...)
	}
	return cells
}

// What notes name: a position in the configuration, a package, and a bundle.
var (
	positioned   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\S+):([0-9]+): `) })
	namedPackage = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bpackage "?([\w.-]*\w)`) })
	namedBundle  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bbundles? "?([\w.-]*\w)`) })
)

// noteLine returns the line of the configuration that a note is about, or 0: of the package, catalog, release, chart, image or
// file that it names first.
func (b *builder) noteLine(note string) int {
	if m := positioned().FindStringSubmatch(note); m != nil && b.Source != nil && path.Base(m[1]) == path.Base(b.Source.Name) {
		if n, err := strconv.Atoi(m[2]); err == nil && n <= len(b.Source.Lines) {
			return n
		}
	}
	best, line := len(note), 0
	see := func(name string, lines ...int) {
		if at := strings.Index(note, name); name != "" && at >= 0 && at < best && len(lines) > 0 && lines[0] > 0 {
			best, line = at, lines[0]
		}
	}
	for i := range b.Plan.Catalogs {
		if c := &b.Plan.Catalogs[i]; strings.Contains(note, c.Name()) {
			see(c.Name(), cmp.Or(b.namedIn(c, note), b.find.Catalog(c)))
		}
	}
	for i := range b.Plan.Releases {
		r := &b.Plan.Releases[i]
		see(r.Name(), b.find.Release(r)...)
		see(r.Version, b.find.Release(r)...)
	}
	for i := range b.Plan.Charts {
		see(b.Plan.Charts[i].Name, b.find.Chart(&b.Plan.Charts[i]))
	}
	for i := range b.Plan.Files {
		see(b.Plan.Files[i].Name, b.find.File(b.Plan.Files[i].Name))
	}
	for _, img := range b.additional() {
		if strings.Contains(note, img.Source) {
			see(img.Source, b.find.Image(img.Source))
		}
	}
	for _, r := range b.Plan.TagRules {
		see(r.Repository, b.find.Image(r.Repository))
	}
	return line
}

// namedIn returns the line of the first package or bundle of a catalog that a note names, or 0.
func (b *builder) namedIn(c *plan.Catalog, note string) int {
	for _, m := range namedPackage().FindAllStringSubmatch(note, -1) {
		if lines := b.find.Package(b.Plan, c.Name(), m[1]); len(lines) > 0 {
			return lines[0]
		}
	}
	for _, m := range namedBundle().FindAllStringSubmatch(note, -1) {
		for _, pkg := range c.Packages {
			for _, ch := range pkg.Channels {
				if !slices.ContainsFunc(ch.Bundles, func(x plan.Bundle) bool { return x.Name == m[1] }) {
					continue
				}
				if lines := b.find.Package(b.Plan, c.Name(), pkg.Name); len(lines) > 0 {
					return lines[0]
				}
			}
		}
	}
	return 0
}
