package page

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	_ "embed" // the style sheet and the script
	"encoding/base64"
	"fmt"
	"io"
	"strconv"

	"github.com/gantry-mirror/gantry/pkg/diagram"
	"github.com/gantry-mirror/gantry/pkg/file/durable"
)

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

// WriteFile writes a document to a file, which a reader never sees half written. What is not a regular file, such as a
// pipe, is written to.
func WriteFile(path string, d *Document) error {
	var b bytes.Buffer
	if err := Write(&b, d); err != nil {
		return err
	}
	if err := durable.WriteFile(path, b.Bytes()); err != nil {
		return fmt.Errorf("writing the page %s: %w", path, err)
	}
	return nil
}

// Write renders a document. Drawings that would make the page too large are left out, with a sentence in their place.
func Write(w io.Writer, d *Document) error {
	drawn, err := draw(d)
	if err != nil {
		return err
	}
	b := builder{bufio.NewWriter(w)}
	css := pageCSS + diagram.InlineStyle()
	b.raw("<!DOCTYPE html>\n")
	b.open("html", "lang", "en")
	b.open("head")
	b.open("meta", "charset", "utf-8")
	b.open("meta", "http-equiv", "Content-Security-Policy", "content", "default-src 'none'; base-uri 'none'; form-action 'none'; style-src "+hash(css)+"; script-src "+hash(pageJS))
	b.open("meta", "name", "viewport", "content", "width=device-width, initial-scale=1")
	b.open("meta", "name", "color-scheme", "content", "light dark")
	b.open("meta", "name", "referrer", "content", "no-referrer")
	b.element("title", d.Kind+" "+d.Title)
	b.raw("<style>" + css)
	b.end("style", "head")
	b.open("body")
	b.element("a", "Skip to the content", "class", "skip", "href", "#main")
	b.header(d)
	b.bar(d)
	b.open("main", "id", "main", "tabindex", "-1")
	for i := range d.Sections {
		if s := &d.Sections[i]; !s.Empty() {
			b.section(s, drawn)
		}
	}
	b.source(d.Source)
	b.element("p", "Nothing on this page matches.", "class", "none", "hidden", "hidden")
	b.end("main")
	b.open("footer")
	b.element("p", "Written by Gantry. The page needs no network.")
	b.end("footer")
	b.raw("<script>" + pageJS)
	b.end("script", "body", "html")
	return b.Flush()
}

// hash returns the source expression of a content security policy for a text.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// maxDrawings is the maximum size of all drawings of a page, in bytes, and maxDrawing of those of one item.
const (
	maxDrawings = 4 << 20
	maxDrawing  = 512 << 10
)

// draw returns the drawings of items, by their IDs, as far as they are not too large.
func draw(d *Document) (map[string]string, error) {
	all, size := map[string]string{}, 0
	for _, s := range d.Sections {
		for _, item := range s.Items {
			drawings := ""
			for _, drawing := range item.Drawings {
				svg, err := diagram.Inline(drawing)
				if err != nil {
					return nil, err
				}
				drawings += svg
			}
			if len(drawings) <= maxDrawing && size+len(drawings) <= maxDrawings {
				all[item.ID] = drawings
				size += len(drawings)
			}
		}
	}
	return all, nil
}

func (b builder) header(d *Document) {
	b.open("header", "class", "top")
	b.element("p", d.Kind, "class", "kind")
	b.element("h1", d.Title)
	b.element("p", d.Lead, "class", "lead")
	if len(d.Facts) > 0 {
		b.open("dl", "class", "facts")
		for _, f := range d.Facts {
			b.open("div")
			b.element("dt", f.Name)
			b.open("dd")
			b.text(f.Value)
			b.element("small", f.Note)
			b.end("dd", "div")
		}
		b.end("dl")
	}
	b.end("header")
}

// bar has the names of the sections, and the search, which the script shows.
func (b builder) bar(d *Document) {
	b.open("div", "class", "bar")
	b.open("nav", "aria-label", "Sections")
	b.open("ul")
	link := func(id, title string) {
		b.open("li")
		b.element("a", title, "href", "#"+id)
		b.end("li")
	}
	for i := range d.Sections {
		if s := &d.Sections[i]; !s.Empty() {
			link(s.ID, s.Title)
		}
	}
	if d.Source != nil {
		link("configuration", "Configuration")
	}
	b.end("ul", "nav")
	b.open("form", "class", "search", "role", "search", "hidden", "hidden")
	b.open("output", "for", "q", "aria-live", "polite")
	b.end("output")
	b.element("label", "Search", "for", "q")
	b.open("input", "id", "q", "type", "search", "autocomplete", "off", "spellcheck", "false", "placeholder", "name, image, reason", "aria-keyshortcuts", "/")
	b.end("form", "div")
}

func (b builder) section(s *Section, drawn map[string]string) {
	b.beginSection(s.ID, s.Title, s.Lead)
	if len(s.Messages) > 0 {
		b.open("ul", "class", "messages")
		for _, m := range s.Messages {
			b.open("li", "data-row", "1")
			b.element("span", string(m.Level), "class", "tag "+string(m.Level))
			b.open("div")
			b.open("p")
			b.text(m.Text)
			if m.Line > 0 {
				b.lines(m.Line)
			}
			b.end("p")
			b.element("p", m.More, "class", "more")
			b.end("div", "li")
		}
		b.end("ul")
	}
	if s.Map != nil {
		b.treemap(s.Map)
	}
	for i := range s.Tables {
		b.table(&s.Tables[i])
	}
	if len(s.Items) > 0 {
		b.open("div", "class", "items")
		for i := range s.Items {
			b.item(&s.Items[i], drawn[s.Items[i].ID])
		}
		b.end("div")
	}
	b.end("section")
}

func (b builder) beginSection(id, title, lead string) {
	b.open("section", "id", id, "aria-labelledby", id+"-title")
	b.element("h2", title, "id", id+"-title")
	b.element("p", lead, "class", "lead")
}

func (b builder) item(item *Item, drawings string) {
	b.open("details", "id", item.ID, "data-row", "1")
	b.open("summary")
	b.element("h3", item.Title)
	b.element("span", item.Note, "class", "note")
	b.tags(item.Tags)
	b.end("summary")
	// Browsers with scripts read this as a text until the item is opened: a page with 600 packages opens ten times faster.
	b.open("noscript")
	if len(item.Lines) > 0 {
		b.open("p", "class", "note")
		b.text("Asked for by")
		b.lines(item.Lines...)
		b.end("p")
	}
	switch {
	case drawings != "":
		b.open("div", "class", "scroll", "tabindex", "0", "role", "group", "aria-label", "Update graph of "+item.Title)
		b.raw(ascii(drawings)) // diagram.Inline escapes all names
		b.end("div")
	case len(item.Drawings) > 0:
		b.element("p", "The update graph is too large for this page; gantry catalog graph draws it.", "class", "note")
	}
	b.element("p", item.NotDrawn, "class", "note")
	for i := range item.Tables {
		b.table(&item.Tables[i])
	}
	b.end("noscript", "details")
}

func (b builder) table(t *Table) {
	b.open("div", "class", "scroll")
	b.open("table")
	b.element("caption", t.Caption)
	b.open("thead")
	b.open("tr")
	class := func(number bool) string {
		if number {
			return "n"
		}
		return ""
	}
	for _, c := range t.Columns {
		b.element("th", c.Name, "scope", "col", "class", class(c.Number))
	}
	b.end("tr", "thead")
	b.open("tbody")
	for _, r := range t.Rows {
		b.open("tr", "data-row", "1")
		for i, c := range t.Columns {
			var cell Cell
			if i < len(r.Cells) {
				cell = r.Cells[i]
			}
			element, scope, value := "td", "", ""
			if i == 0 {
				element, scope = "th", "row"
			}
			if c.Number && cell.Sort != 0 {
				value = strconv.FormatInt(cell.Sort, 10)
			}
			b.open(element, "scope", scope, "class", class(c.Number), "data-v", value)
			b.cell(&cell)
			fmt.Fprintf(b, "</%s>", element)
		}
		b.end("tr")
	}
	b.end("tbody", "table", "div")
}

func (b builder) cell(c *Cell) {
	switch {
	case c.Link != "":
		b.element("a", c.Text, "href", "#"+c.Link)
	case c.Code:
		b.element("code", c.Text)
	default:
		b.text(c.Text)
	}
	b.tags(c.Tags)
	b.lines(c.Lines...)
	b.element("small", c.Note)
}

func (b builder) tags(all []Tag) {
	for _, t := range all {
		b.raw(" ")
		b.element("span", t.Text, "class", "tag "+string(t.Look))
	}
}

// lines writes links to lines of the source.
func (b builder) lines(all ...int) {
	for _, n := range all {
		b.raw(" ")
		b.element("a", fmt.Sprintf("line %d", n), "class", "line", "href", fmt.Sprintf("#L%d", n))
	}
}

func (b builder) source(s *Source) {
	if s == nil {
		return
	}
	b.beginSection("configuration", "Configuration", s.Name)
	b.open("div", "class", "scroll source", "tabindex", "0", "role", "group", "aria-label", "Configuration with line numbers")
	b.open("ol")
	for i, l := range s.Lines {
		b.open("li", "id", fmt.Sprintf("L%d", i+1))
		b.open("code")
		b.text(l)
		b.end("code", "li")
	}
	b.end("ol", "div", "section")
}
