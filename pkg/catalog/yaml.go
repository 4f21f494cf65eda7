package catalog

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/gantry-mirror/gantry/pkg/file/density"
)

// yaml reads the rest of a file as YAML documents; the first begins on the given line. Like
// Kubernetes' decoder it splits documents at lines that begin with --- and contain at most a
// comment besides; one document is kept at a time.
//
// A document without content is an error, as in OLM.
func (p *parser) yaml(r io.Reader, line int) error {
	lines := bufio.NewReaderSize(r, 64<<10)
	var text []byte
	from := line // where text begins
	for {
		part, err := lines.ReadSlice('\n')
		for errors.Is(err, bufio.ErrBufferFull) && len(text)+len(part) <= maxObject {
			text = append(text, part...)
			part, err = lines.ReadSlice('\n')
		}
		if errors.Is(err, bufio.ErrBufferFull) || len(text)+len(part) > maxObject {
			if first, _, _ := bytes.Cut(text, []byte("\n")); separator(first) {
				from++
			}
			return p.stopped(errTooLong, from)
		}
		if err != nil && err != io.EOF {
			return p.stopped(err, from)
		}
		if bytes.HasPrefix(part, []byte("---")) && !separator(part) {
			p.problem(line, "a line that begins with --- may contain only a comment besides; put the document on the next line")
			return nil
		}
		if separator(part) && len(text) > 0 {
			if !p.document(text, from) || err == io.EOF {
				return nil
			}
			text = text[:0]
			line++
			from = line
			continue
		}
		text = append(text, part...)
		line++
		if err == io.EOF {
			if len(text) > 0 {
				p.document(text, from)
			}
			return nil
		}
	}
}

// separator reports whether a line ends a document.
func separator(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte("---"))
	rest = bytes.TrimSpace(rest)
	return ok && (len(rest) == 0 || rest[0] == '#')
}

// document adds one YAML document. It reports whether the rest of the file can be read.
func (p *parser) document(text []byte, line int) bool {
	if body, skipped := uncommented(text); len(body) > 0 && body[0] == '{' {
		if p.jsonObject(body, line+skipped) {
			return p.err == nil
		}
	}
	if err := density.Check(text); err != nil {
		p.problem(line, "%v; if the file is not part of the catalog, list it in %s", err, IgnoreFile)
		return false
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var node yaml.Node
	if err := decoder.Decode(&node); err == io.EOF {
		p.problem(line, "the YAML document is empty; remove the --- before it or after it")
		return true
	} else if err != nil {
		at, message := yamlError(err)
		if tab := tabFrom(text, at); tab == at || tab > at && strings.Contains(message, "tab character") {
			at = tab // the parser reports where the value before it begins
			message += "; YAML is indented with spaces"
		}
		p.problem(line+at, "invalid YAML: %s; fix the file, or list it in %s if it is not part of the catalog", message, IgnoreFile)
		return false
	}
	var second yaml.Node
	if err := decoder.Decode(&second); err != io.EOF {
		if marked, ok := bytes.CutPrefix(text, bom); ok && bytes.HasPrefix(bytes.TrimSpace(marked), []byte("{")) {
			p.problem(line, "the file begins with a byte order mark, so that OLM reads only its first JSON object; save it without the mark")
			return false
		}
		p.problem(line, "text after the end of the YAML document; separate documents with a line that contains only ---")
		return false
	}

	content := node.Content[0]
	begin := line
	line += content.Line - 1
	raw, err := yamlToJSON(content)
	if at := (*nodeError)(nil); errors.As(err, &at) {
		p.problem(begin+at.line-1, "%v", err)
		return true
	}
	if raw[0] != '{' {
		if string(raw) == "null" {
			p.problem(begin, "the YAML document is empty; remove the --- before it or after it")
		} else {
			p.problem(line, "not a JSON or YAML object with members such as schema: %s; fix the file, or list it in %s if it is not part of the catalog", SchemaPackage, IgnoreFile)
		}
		return true
	}
	id, err := p.scan.identity(raw)
	p.keep(id, err, line, raw)
	return p.err == nil
}

// bom is the byte order mark that some editors write before UTF-8 text.
var bom = []byte("\ufeff")

// jsonObject adds a document that is one JSON object, and reports whether it is.
func (p *parser) jsonObject(text []byte, line int) bool {
	f := &framer{buf: text, end: len(text), line: line, eof: true}
	object, line, err := f.object()
	if err != nil || foreignEscape(object) {
		return false
	}
	if rest, _ := uncommented(f.buf[f.start:f.end]); len(rest) > 0 {
		return false
	}
	if _, err := p.scan.object(object); err != nil {
		return false
	}
	p.object(object, line)
	return true
}

// foreignEscape reports whether JSON may have an escape that YAML does not: \/, or half of a
// character beyond 16 bits.
func foreignEscape(text []byte) bool {
	for {
		at := bytes.IndexByte(text, '\\')
		if at < 0 || at+2 >= len(text) {
			return false
		}
		switch next := text[at+1]; {
		case next == '/':
			return true
		case next == 'u' && (text[at+2] == 'd' || text[at+2] == 'D'):
			return true
		}
		text = text[at+2:]
	}
}

// uncommented skips blank lines, comments and a separator at the beginning of a document, and
// returns their number of lines.
func uncommented(text []byte) (rest []byte, lines int) {
	for len(text) > 0 {
		line, after, _ := bytes.Cut(text, []byte("\n"))
		trimmed := bytes.TrimSpace(line)
		if len(trimmed) > 0 && trimmed[0] != '#' && !separator(line) {
			return bytes.TrimLeft(text, " \t"), lines
		}
		text = after
		lines++
	}
	return nil, lines
}

// yamlError splits an error of the yaml package into the line, from 0, and the message.
func yamlError(err error) (line int, message string) {
	message = strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, ok := strings.CutPrefix(message, "line "); ok {
		if number, words, ok := strings.Cut(rest, ": "); ok {
			if n, err := strconv.Atoi(number); err == nil {
				return max(n-1, 0), words
			}
		}
	}
	return 0, message
}

// tabFrom returns the first line, starting at from, that is indented with a tab, or -1. Lines are
// counted from 0.
func tabFrom(text []byte, from int) int {
	for number := 0; len(text) > 0; number++ {
		var line []byte
		line, text, _ = bytes.Cut(text, []byte{'\n'})
		if number >= from && bytes.HasPrefix(bytes.TrimLeft(line, " "), []byte{'\t'}) {
			return number
		}
	}
	return -1
}

// A nodeError is a YAML node that JSON or OLM cannot represent.
type nodeError struct {
	line    int // in the document, from 1
	message string
}

func (e *nodeError) Error() string { return e.message }

func nodeErrorf(n *yaml.Node, format string, args ...any) error {
	return &nodeError{n.Line, fmt.Sprintf(format, args...)}
}
