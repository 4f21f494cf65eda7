package page

import "github.com/gantry-mirror/gantry/pkg/diagram"

// A Document is the content of a page.
type Document struct {
	// Kind is what the page is about, in a word or two: "Plan". Title is its name, Lead a sentence below it.
	Kind, Title, Lead string
	// Facts are the numbers at the top.
	Facts []Fact
	// Sections are shown in this order. Empty ones are left out.
	Sections []Section
	// Source is the configuration; nil if it is unknown.
	Source *Source
}

// A Fact is a number with its name, and a note about it.
type Fact struct{ Name, Value, Note string }

// A Source is the text that Lines of rows refer to.
type Source struct {
	Name  string
	Lines []string
}

// A Section is a part of a page. It is empty without messages, tables, items and treemap.
type Section struct {
	ID, Title, Lead string // ID is unique, and made of letters, digits and dashes
	Messages        []Message
	Map             *Treemap
	Tables          []Table
	Items           []Item
}

// Empty reports whether the section shows nothing.
func (s *Section) Empty() bool {
	return len(s.Messages)+len(s.Tables)+len(s.Items) == 0 && s.Map == nil
}

// A Level is how much a message matters.
type Level string

// The levels.
const (
	Error   Level = "error"
	Warning Level = "warning"
	Note    Level = "note"
)

// A Message is a sentence about something that the reader should know. More is a hint or a detail.
type Message struct {
	Level      Level
	Text, More string
	Line       int // of the source; 0 if it is about none
}

// A Table has a caption, columns and rows. A row with fewer cells than columns ends with empty cells.
type Table struct {
	Caption string
	Columns []Column
	Rows    []Row
}

// A Column is a column of a table. Numbers are aligned to the right.
type Column struct {
	Name   string
	Number bool
}

// A Row is a row of a table. Its first cell is its heading.
type Row struct{ Cells []Cell }

// A Cell is a text, with a note in a second line and tags behind it.
type Cell struct {
	Text, Note string
	Tags       []Tag
	// Link is the ID of an item, or "".
	Link string
	// Sort is the value of a number; texts are compared as they are.
	Sort int64
	// Lines are lines of the source, which the cell links to.
	Lines []int
	// Code is a text of a computer: a name, a digest, a query.
	Code bool
}

// A Tag is a word with a color.
type Tag struct {
	Text string
	Look Look
}

// A Look is the color of a tag.
type Look string

// The looks.
const (
	Plain Look = "plain"
	Good  Look = "good"
	Warn  Look = "warn"
	Bad   Look = "bad"
)

// An Item is something with details, which readers open.
type Item struct {
	ID, Title, Note string
	Tags            []Tag
	Lines           []int // of the source
	Drawings        []diagram.Drawing
	// NotDrawn is the reason why there is no drawing, or "".
	NotDrawn string
	Tables   []Table
}
