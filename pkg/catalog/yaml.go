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
)

// yaml reads the rest of a file as YAML documents, the first of which begins on
// the given line. Documents are told apart as Kubernetes' decoder does it, by
// lines that begin with --- and hold at most a comment beside it; one document
// is held at a time. after says that something stands before, which a --- at the
// beginning ends.
//
// A document without content is an error, as it is for OLM.
func (p *parser) yaml(r io.Reader, line int, after bool) error {
	lines := bufio.NewReaderSize(r, 64<<10)
	var text []byte
	from := line // where text begins
	for {
		part, err := lines.ReadSlice('\n')
		whole := err == nil
		for errors.Is(err, bufio.ErrBufferFull) && len(text)+len(part) <= maxObject {
			text = append(text, part...)
			part, err = lines.ReadSlice('\n')
		}
		if errors.Is(err, bufio.ErrBufferFull) || len(text)+len(part) > maxObject {
			return p.stopped(errTooLong, from)
		}
		if err != nil && err != io.EOF {
			return p.stopped(err, from)
		}
		if whole && separator(part) && (len(text) > 0 || after) {
			if len(text) > 0 && !p.document(text, from) {
				return nil
			}
			text, after = text[:0], false
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

// document takes one YAML document, and reports whether what follows it can be
// read.
func (p *parser) document(text []byte, line int) bool {
	if body, skipped := uncommented(text); len(body) > 0 && body[0] == '{' {
		if p.objects(body, line+skipped) {
			return p.err == nil
		}
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var node yaml.Node
	if err := decoder.Decode(&node); err == io.EOF {
		p.problem(line, "the YAML document is empty; remove the --- before it or after it")
		return true
	} else if err != nil {
		at, message := yamlError(err)
		if tab := tabFrom(text, at); tab == at || tab > at && strings.Contains(message, "tab character") {
			at = tab // the parser says where the value before it begins
			message += "; YAML is indented with spaces"
		}
		p.problem(line+at, "the YAML is broken: %s; mend the file, or name it in %s if it is not part of the catalog", message, IgnoreFile)
		return false
	}
	var second yaml.Node
	if err := decoder.Decode(&second); err != io.EOF {
		p.problem(line, "something stands behind the end of the YAML document; put a line with nothing but --- between two documents")
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
			p.problem(line, "neither JSON nor YAML with members such as schema: %s; mend the file, or name it in %s if it is not part of the catalog", SchemaPackage, IgnoreFile)
		}
		return true
	}
	id, err := p.scan.identity(raw)
	p.keep(id, err, line, raw)
	return p.err == nil
}

// objects takes a document that is made of JSON objects, and reports whether it
// was.
func (p *parser) objects(text []byte, line int) bool {
	f := &framer{buf: text, end: len(text), line: line, eof: true}
	type frame struct {
		text []byte
		line int
	}
	var frames []frame
	for {
		c, err := f.next()
		if err == io.EOF || c == '#' && len(frames) > 0 {
			break
		}
		if c != '{' {
			return false
		}
		object, line, err := f.object()
		if err != nil {
			return false
		}
		if _, err := p.scan.object(object); err != nil {
			return false
		}
		frames = append(frames, frame{object, line})
	}
	if rest, _ := uncommented(f.buf[f.start:f.end]); len(rest) > 0 {
		return false
	}
	for _, o := range frames {
		if !p.object(o.text, o.line) {
			break
		}
	}
	return true
}

// uncommented steps over blank lines, comments and a separator at the beginning
// of a document, and says how many lines these are.
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

// yamlError takes yaml's own words and the line that it gives apart; the line
// counts from 0.
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

// tabFrom is the first line of a text, from a line on, that is indented with a
// tab, or -1. Lines are counted from 0.
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

// A nodeError is what a YAML node has that JSON or OLM cannot have.
type nodeError struct {
	line    int // in the document, from 1
	message string
}

func (e *nodeError) Error() string { return e.message }

func nodeErrorf(n *yaml.Node, format string, args ...any) error {
	return &nodeError{n.Line, fmt.Sprintf(format, args...)}
}
