package view

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/gantry-mirror/gantry/mirror/contents"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/plan/listing"
)

// A listColumn is a column of a list. It is shown if wide is not set or was asked for. Without a text in any row, it is
// left out unless always is set.
type listColumn[R any] struct {
	title        string
	text         func(*R) string
	wide, always bool
	// drop is when a narrow screen loses the column: 1 is first, 0 never.
	drop int
}

// list returns rows as a table.
func list[R any](rows []R, columns []listColumn[R], wide bool, width int) string {
	if len(rows) == 0 {
		return ""
	}
	var titles, drop []string
	lines := make([]string, len(rows))
	byDrop := slices.Clone(columns)
	elements.Sort(byDrop, func(a, b listColumn[R]) int { return cmp.Compare(a.drop, b.drop) })
	for _, c := range byDrop {
		if c.drop > 0 {
			drop = append(drop, c.title)
		}
	}
	for _, c := range columns {
		cells := make([]string, len(rows))
		for i := range rows {
			cells[i] = OneLine(c.text(&rows[i]))
		}
		if c.wide && !wide || !c.always && !slices.ContainsFunc(cells, func(cell string) bool { return cell != "" }) {
			continue
		}
		for i, cell := range cells {
			lines[i] += textIf(len(titles) > 0, "\t") + cell
		}
		titles = append(titles, c.title)
	}
	return tabulate(width, strings.Join(titles, "\t"), lines, drop...)
}

// Contents returns a list as a table for a screen of this width; 0 is no limit.
func Contents(l *contents.List, wide bool, width int) string {
	switch {
	case l.Catalogs != nil:
		return catalogTable(l, wide, width)
	case l.Packages != nil:
		return packageTable(l, wide, width)
	case l.Channels != nil:
		return channelTable(l, wide, width)
	case l.Bundles != nil:
		return bundleTable(l, wide, width)
	case l.Images != nil:
		return imageTable(l, wide, width)
	case l.Files != nil:
		return fileTable(l, wide, width)
	case l.Charts != nil:
		return chartTable(l, wide, width)
	}
	return releaseTable(l, wide, width)
}

// storedColumns are the columns about content.
func storedColumns[R any](of func(*R) *contents.Stored) []listColumn[R] {
	return []listColumn[R]{
		{title: "SIZE", text: func(r *R) string {
			return textIf(of(r).Size > 0, "%s", progress.Bytes(of(r).Size))
		}},
		{title: "AT", text: func(r *R) string { return string(of(r).At) }},
		{title: "HERE", text: func(r *R) string { return string(of(r).Here) }},
		{title: "VOLUMES", drop: 4, text: func(r *R) string {
			return strings.Join(elements.Map(of(r).Volumes, func(v contents.Volume) string { return v.Name }), ", ")
		}},
	}
}

func packageTable(l *contents.List, wide bool, width int) string {
	head := func(of func(*listing.CatalogBundle) string) func(*contents.Package) string {
		return func(p *contents.Package) string {
			if p.Head == nil {
				return ""
			}
			return of(p.Head)
		}
	}
	return list(l.Packages, slices.Concat([]listColumn[contents.Package]{
		{title: "PACKAGE", text: func(p *contents.Package) string { return p.Name + textIf(p.Deprecated != "", " (deprecated)") }},
		{title: "NAME", drop: 1, text: func(p *contents.Package) string { return p.DisplayName }},
		{title: "CHANNEL", always: true, drop: 10, text: func(p *contents.Package) string { return p.DefaultChannel }},
		{title: "VERSION", always: true, text: head(func(b *listing.CatalogBundle) string { return b.Version })},
		{title: "OLM V1", always: true, text: func(p *contents.Package) string { return installs(p.OLMv1.Installable, wide) }},
		{title: "MODES", wide: true, drop: 6, text: head(modes)},
		{title: "APIS", wide: true, drop: 5, text: head(apis)},
		{title: "FEATURES", wide: true, drop: 3, text: head(features)},
		{title: "IMAGES", wide: true, drop: 7, text: func(p *contents.Package) string { return strconv.Itoa(len(p.Images)) }},
	}, storedColumns(func(p *contents.Package) *contents.Stored { return &p.Stored }), placeColumns(l.Packages, func(p *contents.Package) (string, string) { return p.Place, p.Catalog })), wide, width)
}

func channelTable(l *contents.List, wide bool, width int) string {
	head := func(of func(*listing.CatalogBundle) string) func(*contents.Channel) string {
		return func(c *contents.Channel) string {
			if c.HeadBundle == nil {
				return ""
			}
			return of(c.HeadBundle)
		}
	}
	return list(l.Channels, slices.Concat([]listColumn[contents.Channel]{
		{title: "PACKAGE", text: func(c *contents.Channel) string { return c.Package }},
		{title: "CHANNEL", text: func(c *contents.Channel) string {
			return c.Name + textIf(c.Default, " (default)") + textIf(c.Deprecated != "", " (deprecated)")
		}},
		{title: "HEAD", always: true, drop: 2, text: func(c *contents.Channel) string { return c.Head }},
		{title: "BUNDLES", drop: 1, text: func(c *contents.Channel) string { return strconv.Itoa(len(c.Bundles)) }},
		{title: "VERSIONS", drop: 10, text: func(c *contents.Channel) string { return span(c.Versions) }},
		{title: "OLM V1", always: true, text: head(func(b *listing.CatalogBundle) string { return installs(b.OLMv1, wide) })},
		{title: "MODES", wide: true, drop: 6, text: head(modes)},
		{title: "APIS", wide: true, drop: 5, text: head(apis)},
		{title: "FEATURES", wide: true, drop: 3, text: head(features)},
	}, storedColumns(func(c *contents.Channel) *contents.Stored { return &c.Stored }), placeColumns(l.Channels, func(c *contents.Channel) (string, string) { return c.Place, c.Catalog })), wide, width)
}

func bundleTable(l *contents.List, wide bool, width int) string {
	return list(l.Bundles, slices.Concat([]listColumn[contents.Bundle]{
		{title: "PACKAGE", drop: 1, text: func(b *contents.Bundle) string { return b.Package }},
		{title: "BUNDLE", text: func(b *contents.Bundle) string { return b.Name + textIf(b.Deprecated != "", " (deprecated)") }},
		{title: "VERSION", always: true, drop: 10, text: func(b *contents.Bundle) string { return b.Version }},
		{title: "CHANNELS", drop: 2, text: func(b *contents.Bundle) string {
			return strings.Join(elements.Map(b.Channels, func(c string) string { return c + textIf(slices.Contains(b.HeadOf, c), " (head)") }), ", ")
		}},
		{title: "OLM V1", always: true, text: func(b *contents.Bundle) string { return installs(b.OLMv1, wide) }},
		{title: "MODES", wide: true, drop: 6, text: func(b *contents.Bundle) string { return modes(&b.CatalogBundle) }},
		{title: "APIS", wide: true, drop: 5, text: func(b *contents.Bundle) string { return apis(&b.CatalogBundle) }},
		{title: "FEATURES", wide: true, drop: 3, text: func(b *contents.Bundle) string { return features(&b.CatalogBundle) }},
		{title: "IMAGES", wide: true, drop: 7, text: func(b *contents.Bundle) string { return strconv.Itoa(len(b.Images)) }},
	}, storedColumns(func(b *contents.Bundle) *contents.Stored { return &b.Stored }), placeColumns(l.Bundles, func(b *contents.Bundle) (string, string) { return b.Place, b.Catalog })), wide, width)
}

// installs returns the answer whether OLM v1 installs something, with the reasons in a wide table.
func installs(i listing.Installable, wide bool) string {
	reasons := map[string]bool{}
	var all []string
	for _, r := range i.Reasons {
		if !reasons[string(r.Reason)] {
			reasons[string(r.Reason)] = true
			all = append(all, string(r.Reason))
		}
	}
	return string(i.Install) + textIf(wide && len(all) > 0, " (%s)", strings.Join(all, ", "))
}

func modes(b *listing.CatalogBundle) string { return strings.Join(b.InstallModes, ", ") }

func apis(b *listing.CatalogBundle) string {
	return strings.Join(elements.Map(b.APIs, listing.API.String), ", ")
}

func features(b *listing.CatalogBundle) string {
	if b.Features == nil {
		return ""
	}
	return Features(b.Features.Supported, b.Features.Unsupported)
}

// span returns the first and the last of versions, newest first.
func span(versions []string) string {
	if len(versions) == 0 {
		return ""
	}
	oldest, newest := versions[len(versions)-1], versions[0]
	return oldest + textIf(oldest != newest, " to %s", newest)
}

// placeColumns are the columns for places and catalogs, if there are several.
func placeColumns[R any](rows []R, of func(*R) (place, catalog string)) []listColumn[R] {
	places, catalogs := map[string]bool{}, map[string]bool{}
	for i := range rows {
		place, catalog := of(&rows[i])
		places[place], catalogs[catalog] = true, true
	}
	var columns []listColumn[R]
	if len(catalogs) > 1 {
		columns = append(columns, listColumn[R]{title: "CATALOG", drop: 8, text: func(r *R) string { _, c := of(r); return c }})
	}
	if len(places) > 1 {
		columns = append(columns, listColumn[R]{title: "PLACE", drop: 9, text: func(r *R) string { p, _ := of(r); return p }})
	}
	return columns
}

func catalogTable(l *contents.List, wide bool, width int) string {
	return list(l.Catalogs, slices.Concat([]listColumn[contents.Catalog]{
		{title: "CATALOG", text: func(c *contents.Catalog) string { return c.Name }},
		{title: "IMAGE", drop: 1, text: func(c *contents.Catalog) string { return c.Image }},
		{title: "PACKAGES", text: func(c *contents.Catalog) string { return strconv.Itoa(c.Packages) }},
		{title: "BUNDLES", drop: 3, text: func(c *contents.Catalog) string { return strconv.Itoa(c.Bundles) }},
		{title: "IMAGES", drop: 2, text: func(c *contents.Catalog) string { return strconv.Itoa(c.Images) }},
		{title: "DIGEST", wide: true, drop: 5, text: func(c *contents.Catalog) string { return string(c.Digest) }},
	}, storedColumns(func(c *contents.Catalog) *contents.Stored { return &c.Stored }), placeColumns(l.Catalogs, func(c *contents.Catalog) (string, string) { return c.Place, "" })), wide, width)
}

func imageTable(l *contents.List, wide bool, width int) string {
	return list(l.Images, slices.Concat([]listColumn[contents.Image]{
		{title: "IMAGE", text: func(i *contents.Image) string { return strings.Join(i.Names, ", ") }},
		{title: "KIND", drop: 5, text: func(i *contents.Image) string { return string(i.Kind) }},
		{title: "PACKAGES", drop: 3, text: func(i *contents.Image) string { return strings.Join(i.Packages, ", ") }},
		{title: "BUNDLES", wide: true, drop: 2, text: func(i *contents.Image) string { return strings.Join(i.Bundles, ", ") }},
		{title: "DIGEST", wide: true, drop: 1, text: func(i *contents.Image) string { return string(i.Digest) }},
		{title: "SOURCE", wide: true, drop: 1, text: func(i *contents.Image) string { return i.Source }},
	}, storedColumns(func(i *contents.Image) *contents.Stored { return &i.Stored }), placeColumns(l.Images, func(i *contents.Image) (string, string) { return i.Place, "" })), wide, width)
}

func fileTable(l *contents.List, wide bool, width int) string {
	columns := []listColumn[contents.File]{
		{title: "FILE", text: func(f *contents.File) string { return f.Name }},
		{title: "SIZE", text: func(f *contents.File) string { return progress.Bytes(f.Size) }},
		{title: "ORIGIN", drop: 2, text: func(f *contents.File) string { return f.Origin }},
		{title: "SHA256", wide: true, drop: 1, text: func(f *contents.File) string { return f.SHA256.Encoded() }},
	}
	stored := storedColumns(func(f *contents.File) *contents.Stored { return &f.Stored })[1:] // SIZE is the one of the file
	return list(l.Files, slices.Concat(columns, stored, placeColumns(l.Files, func(f *contents.File) (string, string) { return f.Place, "" })), wide, width)
}

func chartTable(l *contents.List, wide bool, width int) string {
	return list(l.Charts, slices.Concat([]listColumn[contents.Chart]{
		{title: "CHART", text: func(c *contents.Chart) string { return c.Name }},
		{title: "VERSION", text: func(c *contents.Chart) string { return c.Version }},
		{title: "ORIGIN", drop: 1, text: func(c *contents.Chart) string { return c.Origin }},
		{title: "IMAGE", wide: true, drop: 2, text: func(c *contents.Chart) string { return c.Image }},
		{title: "IMAGES", drop: 3, text: func(c *contents.Chart) string { return strconv.Itoa(c.Images) }},
	}, storedColumns(func(c *contents.Chart) *contents.Stored { return &c.Stored }), placeColumns(l.Charts, func(c *contents.Chart) (string, string) { return c.Place, "" })), wide, width)
}

func releaseTable(l *contents.List, wide bool, width int) string {
	return list(l.Releases, slices.Concat([]listColumn[contents.Release]{
		{title: "RELEASE", text: func(r *contents.Release) string { return r.Version }},
		{title: "ARCH", text: func(r *contents.Release) string { return string(r.Arch) }},
		{title: "SIGNED", text: func(r *contents.Release) string {
			switch {
			case r.Digest == "": // in a mirror without records
				return ""
			case r.Unverified:
				return NotVerified
			}
			return "yes"
		}},
		{title: "CHANNELS", drop: 1, text: func(r *contents.Release) string { return strings.Join(r.Channels, ", ") }},
		{title: "IMAGES", drop: 3, text: func(r *contents.Release) string { return textIf(r.Digest != "", "%d", r.Images) }},
		{title: "IMAGE", wide: true, drop: 2, text: func(r *contents.Release) string { return r.Image }},
	}, storedColumns(func(r *contents.Release) *contents.Stored { return &r.Stored }), placeColumns(l.Releases, func(r *contents.Release) (string, string) { return r.Place, "" })), wide, width)
}
