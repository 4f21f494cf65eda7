package imageset

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

var (
	yamlLine   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^line (\d+): (.*)$`) })
	yamlAnchor = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^unknown anchor '(.*)' referenced$`) })
)

// syntax reports an error of the YAML parser, which had read the given number of lines.
func (r *reader) syntax(text []byte, lines int, err error) {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	pos := Position{File: r.file, Line: 1}
	if m := yamlLine().FindStringSubmatch(message); m != nil {
		if line, err := strconv.Atoi(m[1]); err == nil {
			pos.Line, message = line, m[2]
		}
	}
	if line := firstBadLine(text, lines); line > 0 {
		pos.Line = line
	}
	all := bytes.SplitAfter(text, []byte("\n"))
	bad := all[min(pos.Line, len(all))-1]
	indent := bad[:len(bad)-len(bytes.TrimLeft(bad, " \t"))]
	hint := "check the indentation, quotes and brackets of this line and the one before"
	switch m := yamlAnchor().FindStringSubmatch(message); {
	case m != nil:
		hint = fmt.Sprintf("define the anchor &%s above this line", bare(m[1]))
	case bytes.Contains(indent, []byte("\t")):
		hint = "indent with spaces: YAML does not allow tabs"
	case strings.Contains(message, "control characters") || strings.Contains(message, "UTF-"):
		hint = "is it an ImageSetConfiguration? if so, save it as plain UTF-8 text"
	}
	r.faultAt(pos, "", "not YAML: "+bare(message), hint)
}

// firstBadLine returns the first line that is not valid YAML, or 0. The parser reports the
// beginning of the mapping or list around the mistake, which may be far above. But the lines that
// it has read end near the mistake, and the text before the wrong line parses.
func firstBadLine(text []byte, lines int) int {
	const back = 8 // lines that the parser may have read ahead
	all := bytes.SplitAfter(text, []byte("\n"))
	lines = min(lines, len(all))
	for n := lines - 1; n >= max(0, lines-back); n-- {
		decoder := yaml.NewDecoder(bytes.NewReader(bytes.Join(all[:n], nil)))
		var err error
		for err == nil {
			err = decoder.Decode(new(yaml.Node))
		}
		if errors.Is(err, io.EOF) {
			return n + 1
		}
	}
	return 0
}

// A lineReader returns one line per Read and counts lines.
type lineReader struct {
	rest  []byte
	lines int
}

func (l *lineReader) Read(p []byte) (int, error) {
	if len(l.rest) == 0 {
		return 0, io.EOF
	}
	n := len(l.rest)
	if i := bytes.IndexByte(l.rest, '\n'); i >= 0 {
		n = i + 1
	}
	n = copy(p, l.rest[:n])
	if l.rest = l.rest[n:]; p[n-1] == '\n' || len(l.rest) == 0 {
		l.lines++
	}
	return n, nil
}
