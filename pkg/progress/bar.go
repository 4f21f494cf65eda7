package progress

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
)

const (
	// maxItems is how many items have a row at the same time. An item gets a row after slow, so
	// that short ones do not flicker.
	maxItems = 5
	slow     = time.Second

	minBar = 10 // columns between the brackets
	maxBar = 40
)

// Bar is the View that draws a bar on s, the facts below it, and rows for items that take long. It
// uses no colors, only ASCII, and never the last column, so that no terminal wraps a row.
func Bar(s *Screen) View { return &bar{screen: s, since: map[string]time.Time{}} }

type bar struct {
	screen *Screen
	since  map[string]time.Time // when an item was seen first
}

func (b *bar) Clear() { b.screen.draw(nil) }

func (b *bar) Draw(f Frame) {
	columns, height := b.screen.Size()
	width := columns - 1
	var rows []string
	if _, total := f.position(); total > 0 {
		rows = append(rows, top(f, width))
		if text := facts(f, width); text != "" {
			rows = append(rows, text)
		}
		for _, it := range b.slow(f) {
			rows = append(rows, row(it, width))
		}
	}
	// The cursor has the line below the rows.
	b.screen.draw(rows[:min(len(rows), max(0, height-1))])
}

// slow returns the items that have been pending for a while.
func (b *bar) slow(f Frame) []Item {
	now := map[string]time.Time{}
	var long []Item
	for _, it := range f.Items {
		since, ok := b.since[it.Name]
		if !ok {
			since = f.At
		}
		now[it.Name] = since
		if f.At.Sub(since) >= slow && len(long) < maxItems {
			long = append(long, it)
		}
	}
	b.since = now
	return long
}

// top returns the first row: what is done, the bar, and as much of sizes, speed and time as leaves
// the bar its minimum width. On a narrower screen, there is no bar.
func top(f Frame, width int) string {
	done, total := f.position()
	var size, speed, left string
	if f.Total > 0 {
		size = "  " + of(min(f.Done, f.Total), f.Total)
		if f.PerSecond > 0 {
			speed = "  " + Bytes(int64(f.PerSecond)) + "/s"
		}
	} else {
		size = fmt.Sprintf("  %d of %d images", done, total)
	}
	if f.Left >= 0 {
		left = "  " + Duration(f.Left) + " left"
	}
	around := len(f.What) + len(" 100% [] ")
	for _, tail := range []string{size + speed + left, size + left, left, ""} {
		if room := width - around - len(tail); room >= minBar {
			return fit(drawn(f.What, done, total, min(room, maxBar))+tail, width)
		}
	}
	return fit(fmt.Sprintf("%s %3d%%", f.What, percent(done, total)), width)
}

// drawn draws the bar with progressbar, which receives only its position: its own speed and time
// would use another clock.
func drawn(what string, done, total int64, width int) string {
	b := progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(io.Discard),
		progressbar.OptionSetDescription(what),
		progressbar.OptionSetWidth(width),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionSetElapsedTime(false),
		progressbar.OptionSetTheme(progressbar.ThemeASCII),
	)
	_ = b.RenderBlank()
	_ = b.Set64(done)
	return strings.Trim(b.String(), "\r ")
}

// facts returns the second row, without the facts that do not fit.
func facts(f Frame, width int) string {
	all := f.Facts
	if f.Total > 0 {
		all = append(counts(f.Reading), all...)
	}
	text := ""
	for _, fact := range all {
		switch {
		case text == "":
			text = "  " + fact
		case len(text)+len(fact)+2 <= width:
			text += ", " + fact
		}
	}
	return fit(text, width)
}

// counts returns how many images and requests are finished.
func counts(r Reading) (facts []string) {
	if r.Images > 0 {
		facts = append(facts, fmt.Sprintf("%d of %d images", r.ImagesDone, r.Images))
	}
	if r.Requests > 0 {
		facts = append(facts, fmt.Sprintf("%d of %d requests", min(r.RequestsDone, r.Requests), r.Requests))
	}
	return facts
}

// row returns the row of an item: percentage, size, the first word of its name, and as much as fits
// of the end of the rest.
func row(it Item, width int) string {
	head := fmt.Sprintf("  %3d%%  %10s  ", percent(it.Done, it.Size), Bytes(it.Size))
	first, rest, _ := strings.Cut(printable(it.Name), " ")
	if over := len(head) + len(first) + 1 + len(rest) - width; over > 0 && over+3 < len(rest) {
		rest = "..." + rest[over+3:]
	}
	return fit(head+first+" "+rest, width)
}

// percent returns how much of total is done. It is 100 only if everything is done.
func percent(done, total int64) int {
	if done >= total {
		return 100
	}
	return int(100 * float64(max(0, done)) / float64(total))
}

// printable replaces characters that move the cursor or are wider than a column.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, s)
}

// fit shortens a row to the width.
func fit(s string, width int) string { return s[:max(0, min(len(s), width))] }
