package page

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/progress"
)

// A Treemap shows sizes as areas. Write shows the largest tiles, and the others as one.
type Treemap struct {
	// Caption says what the areas are.
	Caption string
	Tiles   []Tile
	// Groups are the names of the colors of tiles, at most 6.
	Groups []string
}

// A Tile is a part of a treemap.
type Tile struct {
	Name  string
	Value int64  // the area
	Text  string // the value for people
	Group int    // an index of Groups
	Link  string // the ID of an item, or ""
}

// The size of a treemap, in pixels.
const (
	mapWidth, mapHeight = 1080.0, 380.0
	maxTiles            = 640
	gap                 = 2.0
)

// A placedTile is a tile with its place.
type placedTile struct {
	Tile
	x, y, w, h float64
}

// place returns the tiles with their places, the largest first.
func (m *Treemap) place(text func(int64) string) []placedTile {
	tiles := slices.DeleteFunc(slices.Clone(m.Tiles), func(t Tile) bool { return t.Value <= 0 })
	elements.Sort(tiles, func(a, b Tile) int { return cmp.Or(cmp.Compare(b.Value, a.Value), cmp.Compare(a.Name, b.Name)) })
	if len(tiles) > maxTiles {
		rest := Tile{Name: fmt.Sprintf("%d more", len(tiles)-maxTiles+1), Group: -1}
		for _, t := range tiles[maxTiles-1:] {
			rest.Value += t.Value
		}
		rest.Text = text(rest.Value)
		tiles = append(tiles[:maxTiles-1], rest)
	}
	return squarify(tiles, 0, 0, mapWidth, mapHeight)
}

// squarify fills a rectangle with tiles whose areas are proportional to their values, and which are as square as rows allow
// (Bruls, Huizing, van Wijk: Squarified Treemaps).
func squarify(tiles []Tile, x, y, w, h float64) (placed []placedTile) {
	var left float64
	for _, t := range tiles {
		left += float64(t.Value)
	}
	for len(tiles) > 0 {
		scale, side := w*h/left, min(w, h)
		n, row := 1, float64(tiles[0].Value)
		for n < len(tiles) && worst(tiles[:n+1], row+float64(tiles[n].Value), scale, side) <= worst(tiles[:n], row, scale, side) {
			row += float64(tiles[n].Value)
			n++
		}
		thick, at := row*scale/side, 0.0
		for _, t := range tiles[:n] {
			long := float64(t.Value) * scale / thick
			if w >= h {
				placed = append(placed, placedTile{t, x, y + at, thick, long})
			} else {
				placed = append(placed, placedTile{t, x + at, y, long, thick})
			}
			at += long
		}
		if w >= h {
			x, w = x+thick, w-thick
		} else {
			y, h = y+thick, h-thick
		}
		left -= row
		tiles = tiles[n:]
	}
	return placed
}

// worst returns the highest ratio of the sides of tiles in a row whose values have a sum.
func worst(row []Tile, sum, scale, side float64) float64 {
	area := sum * scale
	ratio := func(v int64) float64 {
		a := float64(v) * scale * side * side / (area * area)
		return max(a, 1/a)
	}
	return max(ratio(row[0].Value), ratio(row[len(row)-1].Value))
}

// treemap writes a treemap, which the table below it repeats for readers who do not see it.
func (b builder) treemap(m *Treemap) {
	b.open("figure", "class", "map")
	b.open("svg", "viewBox", fmt.Sprintf("0 0 %g %g", mapWidth, mapHeight), "role", "img", "aria-label", m.Caption+". A table has the same sizes.")
	for _, t := range m.place(progress.Bytes) {
		b.open("g", "class", t.color(), "data-link", t.Link)
		b.element("title", t.Name+": "+t.Text)
		b.open("rect", "x", number(t.x+gap/2), "y", number(t.y+gap/2), "width", number(max(0.5, t.w-gap)), "height", number(max(0.5, t.h-gap)), "rx", "3")
		b.raw("</rect>")
		label := fit(t.Name, t.w, t.h, 26, nameWidth)
		b.element("text", label, "class", "name", "x", number(t.x+padding), "y", number(t.y+20))
		if label != "" && fit(t.Text, t.w, t.h, 44, textWidth) == t.Text {
			b.element("text", t.Text, "x", number(t.x+padding), "y", number(t.y+37))
		}
		b.end("g")
	}
	b.end("svg")
	b.open("figcaption")
	b.text(m.Caption)
	b.open("span", "class", "keys")
	for i, name := range m.Groups {
		if slices.ContainsFunc(m.Tiles, func(t Tile) bool { return t.Group == i && t.Value > 0 }) {
			b.element("span", name, "class", fmt.Sprintf("key c%d", i))
		}
	}
	b.end("span", "figcaption", "figure")
}

// color is the class of the tile.
func (t placedTile) color() string {
	if t.Group < 0 {
		return "more"
	}
	return fmt.Sprintf("c%d", t.Group)
}

// The widths of characters, and the distances of texts in a tile, in pixels.
const (
	nameWidth, textWidth = 7.4, 6.6
	padding              = 8.0
)

// enough is how many characters tell long names apart.
const enough = 8

// fit returns a text as far as it fits into a tile; "" if neither half of it nor enough characters do.
func fit(text string, w, h, least, char float64) string {
	n := int((w - 2*padding) / char)
	switch length := utf8.RuneCountInString(text); {
	case h < least || n < 3:
		return ""
	case length <= n:
		return text
	case n < min(length/2, enough):
		return ""
	}
	return string([]rune(text)[:n-1]) + "…"
}

// number formats a coordinate.
func number(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }
