package main

import (
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// A drawn terminal: the size of a character and of a line in pixels, the first baseline below the title bar, and where
// lines continue on the next.
const (
	charWidth       = 7.83
	lineHeight      = 18
	terminalAt      = 46
	terminalColumns = 100
)

// TestSession draws the transcript testdata/script/session.txtar, which TestScripts runs, as a terminal, and compares it
// with docs/session.svg.
func TestSession(t *testing.T) {
	t.Parallel()
	script, err := txtar.ParseFile(filepath.Join("..", "..", "testdata", "script", "session.txtar"))
	fail.On(t, err)
	printed := map[string]string{}
	for _, f := range script.Files {
		printed[f.Name] = string(f.Data)
	}
	var session strings.Builder
	for line := range strings.Lines(string(script.Comment)) {
		if strings.HasPrefix(line, "gantry ") {
			session.WriteString("$ " + line)
		}
		if name, ok := strings.CutPrefix(line, "cmp stdout "); ok {
			session.WriteString(printed[strings.TrimSpace(name)] + "\n")
		}
	}
	want := drawTerminal("gantry", strings.TrimRight(session.String(), "\n"))
	file := filepath.Join("..", "..", "docs", "session.svg")
	if os.Getenv(updateScripts) != "" {
		fail.On(t, os.WriteFile(file, []byte(want), 0o644))
	}
	got, err := os.ReadFile(file)
	fail.On(t, err)
	fail.Diff(t, want, string(got))
}

// drawTerminal returns a text as an SVG that looks like a terminal. Lines that begin with "$ " are prompts.
func drawTerminal(title, text string) string {
	var lines []string
	columns := 0
	for line := range strings.SplitSeq(text, "\n") {
		for utf8.RuneCountInString(line) > terminalColumns {
			at := strings.LastIndexByte(line[:terminalColumns], ' ')
			lines, line = append(lines, line[:at]), "      "+line[at+1:]
		}
		lines = append(lines, line)
	}
	for _, line := range lines {
		columns = max(columns, utf8.RuneCountInString(line))
	}
	width, height := int(float64(columns)*charWidth)+32, terminalAt+lineHeight*len(lines)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" role="img" aria-label="A terminal session with %s">`+"\n", width, height, title)
	b.WriteString("<style>text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#d5dbe3;white-space:pre}.p{fill:#7ee0a1;font-weight:bold}.t{fill:#8b97a7}</style>\n")
	fmt.Fprintf(&b, `<rect width="%d" height="%d" rx="8" fill="#161b22"/>`+"\n", width, height)
	for i, color := range []string{"#ff5f57", "#febc2e", "#28c840"} {
		fmt.Fprintf(&b, `<circle cx="%d" cy="16" r="5" fill="%s"/>`+"\n", 18+18*i, color)
	}
	fmt.Fprintf(&b, `<text class="t" x="%d" y="20" text-anchor="middle">%s</text>`+"\n", width/2, title)
	for i, line := range lines {
		if line == "" {
			continue
		}
		class := ""
		if strings.HasPrefix(line, "$ ") {
			class = ` class="p"`
		}
		fmt.Fprintf(&b, `<text%s x="16" y="%d" xml:space="preserve">`, class, terminalAt+lineHeight*i)
		_ = xml.EscapeText(&b, []byte(line)) // a Builder accepts everything
		b.WriteString("</text>\n")
	}
	b.WriteString("</svg>\n")
	return b.String()
}
