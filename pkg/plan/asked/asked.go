package asked

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/gantry-mirror/gantry/pkg/plan"
)

// Of returns the lines that asked for an image with a source for a reason, in the order of the plan.
func (l *Lines) Of(p *plan.Plan, source string, r plan.Reason) []int {
	switch {
	case r.Release != "":
		for i := range p.Releases {
			if p.Releases[i].Name() == r.Release {
				return l.Release(&p.Releases[i])
			}
		}
	case r.Chart != "":
		for i := range p.Charts {
			if p.Charts[i].String() == r.Chart {
				return Append(nil, l.Chart(&p.Charts[i]))
			}
		}
	case r.Catalog != "":
		return l.Package(p, r.Catalog, r.Package)
	}
	return Append(nil, l.Image(source))
}

// Package returns the lines that asked for a package of a catalog, which is named as in the plan.
func (l *Lines) Package(p *plan.Plan, catalog, name string) []int {
	return l.needed(p, catalog, name, map[[2]string]bool{})
}

func (l *Lines) needed(p *plan.Plan, catalog, name string, seen map[[2]string]bool) (lines []int) {
	at := slices.IndexFunc(p.Catalogs, func(c plan.Catalog) bool { return c.Name() == catalog })
	if at < 0 || seen[[2]string{catalog, name}] {
		return nil
	}
	seen[[2]string{catalog, name}] = true
	c := &p.Catalogs[at]
	if line := l.InCatalog(c, name); line > 0 {
		return []int{line}
	}
	for _, r := range c.Required {
		needing := neededFor().FindStringSubmatch(r.For)
		if r.Package != name || needing == nil {
			continue
		}
		for _, line := range l.needed(p, needing[2], packageOf(p, needing[2], needing[1]), seen) {
			lines = Append(lines, line)
		}
	}
	return lines
}

// neededFor matches the text of plan.Required.For.
var neededFor = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^bundle "([^"]+)" of (.+)$`) })

// packageOf returns the package of a bundle, or "".
func packageOf(p *plan.Plan, catalog, bundle string) string {
	for i := range p.Catalogs {
		if p.Catalogs[i].Name() != catalog {
			continue
		}
		for _, pkg := range p.Catalogs[i].Packages {
			for _, ch := range pkg.Channels {
				if slices.ContainsFunc(ch.Bundles, func(b plan.Bundle) bool { return b.Name == bundle }) {
					return pkg.Name
				}
			}
		}
	}
	return ""
}

// Saved is what would no longer be mirrored.
type Saved struct {
	Images int   `json:"images"`
	Bytes  int64 `json:"bytes"` // content that nothing else needs
}

// Without returns what would no longer be mirrored without a line, for each line that asked for an image.
func (l *Lines) Without(p *plan.Plan) map[int]Saved {
	saved := map[int]Saved{}
	for key, size := range p.PartSizes(func(img *plan.Image, r plan.Reason) string {
		return fmt.Sprint(l.Of(p, img.Source, r)) // "[7]", "[7 12]" or "[]"
	}) {
		if line, err := strconv.Atoi(strings.Trim(key, "[]")); err == nil {
			saved[line] = Saved{size.OwnImages, size.Own}
		}
	}
	return saved
}
