package main

import (
	"bytes"
	"fmt"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
)

// render returns the text of [start, end) with all edits.
func (s *source) render(start, end int) string {
	type op struct {
		start, end int
		text       func() string
		order      int
	}
	var ops []op
	for i, e := range s.edits {
		if e.start >= start && e.end <= end {
			ops = append(ops, op{e.start, e.end, func() string { return e.text }, i})
		}
	}
	for i, m := range s.moves {
		if m.xs >= start && m.argEnd <= end {
			// from xs to argEnd
			ops = append(ops, op{m.xs, m.argEnd, func() string {
				x := s.renderIn(m.xs, m.xe, m)
				if m.plain {
					return m.name + x + m.suffix
				}
				args := s.renderIn(m.selEnd, m.argEnd, m)
				return m.name + args + ", " + m.prefix + x + m.suffix
			}, i})
		}
	}
	// outer first: remove what lies in another
	sort.SliceStable(ops, func(i, j int) bool {
		if ops[i].start != ops[j].start {
			return ops[i].start < ops[j].start
		}
		if ops[i].start == ops[i].end || ops[j].start == ops[j].end { // insertions first
			return ops[i].start == ops[i].end && ops[j].start != ops[j].end
		}
		return ops[i].end > ops[j].end
	})
	var b strings.Builder
	at := start
	for _, o := range ops {
		if o.start < at {
			continue // inside one that was rendered
		}
		b.Write(s.text[at:o.start])
		b.WriteString(o.text())
		at = o.end
	}
	b.Write(s.text[at:end])
	return b.String()
}

// renderIn renders a part of a move without the move itself.
func (s *source) renderIn(start, end int, m move) string {
	if start == m.xs { // an inner move may begin at the same place
		return s.render(start, end)
	}
	return s.render(start, end)
}

func (s *source) importsOf() map[string]string {
	out := map[string]string{} // name -> spec text
	for _, i := range s.file.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		name := ""
		if i.Name != nil {
			name = i.Name.Name
		}
		out[p] = name
	}
	return out
}

func (s *source) head() string {
	return string(s.text[:off(s.file.Package)])
}

func (s *source) write() {
	if !s.root {
		if len(s.edits) == 0 && len(s.moves) == 0 {
			return
		}
		body := s.render(off(s.file.Name.End()), len(s.text))
		text := s.head() + "package " + s.file.Name.Name + body
		s.emit(s.path, text, s.needFile)
		return
	}
	rooms := map[string][]*segment{}
	var order []string
	for _, g := range s.segs {
		if rooms[g.room] == nil {
			order = append(order, g.room)
		}
		rooms[g.room] = append(rooms[g.room], g)
	}
	for _, r := range order {
		if r == "." {
			body := s.render(off(s.file.Name.End()), len(s.text))
			s.emit(s.path, s.head()+"package "+s.file.Name.Name+body, s.needFile)
			return
		}
		var b strings.Builder
		head := s.head()
		if s.name == "gantry.go" {
			head = ""
		}
		pn := pkgName(r)
		if s.external {
			pn += "_test"
		}
		b.WriteString(head + "package " + pn + "\n\nimport (\n")
		for p, n := range s.importsOf() {
			fmt.Fprintf(&b, "%s %q\n", n, p)
		}
		b.WriteString(")\n\n")
		need := map[string]bool{}
		for _, g := range rooms[r] {
			b.WriteString(s.render(g.start, g.end))
			for q := range s.need[g] {
				need[q] = true
			}
		}
		dirOf := filepath.Join(*dir, r)
		os.MkdirAll(dirOf, 0o755)
		file := filepath.Join(dirOf, s.name)
		if _, err := os.Stat(file); err == nil {
			fmt.Println("EXISTS", file)
			file = strings.TrimSuffix(file, ".go") + "2.go"
		}
		s.emit(file, b.String(), need)
	}
	os.Remove(s.path)
}

// emit writes a file with the imports that it uses.
func (s *source) emit(file, text string, need map[string]bool) {
	fs := token.NewFileSet()
	f, err := parser.ParseFile(fs, file, text, parser.ParseComments)
	if err != nil {
		fmt.Println("PARSE", err)
		os.WriteFile(file, []byte(text), 0o644)
		return
	}
	used := usedNames(f)
	var std, ext, own []string
	seen := map[string]bool{}
	add := func(name, p string) {
		line := strconv.Quote(p)
		if name != "" {
			line = name + " " + line
		}
		if seen[line] {
			return
		}
		seen[line] = true
		switch {
		case strings.HasPrefix(p, module):
			own = append(own, line)
		case strings.Contains(strings.Split(p, "/")[0], "."):
			ext = append(ext, line)
		default:
			std = append(std, line)
		}
	}
	for _, i := range f.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		if p == module {
			continue
		}
		name := ""
		if i.Name != nil {
			name = i.Name.Name
		}
		base := name
		if base == "" {
			if ip := s.pkg.Imports[p]; ip != nil {
				base = ip.Name
			} else {
				base = filepath.Base(p)
			}
		}
		if base == "_" || base == "." || used[base] {
			add(name, p)
		}
	}
	for r := range need {
		add("", module+"/"+r)
	}
	sort.Strings(std)
	byPath := func(l []string) {
		sort.Slice(l, func(i, j int) bool { return l[i][strings.Index(l[i], `"`):] < l[j][strings.Index(l[j], `"`):] })
	}
	byPath(ext)
	byPath(own)
	var groups []string
	for _, g := range [][]string{std, ext, own} {
		if len(g) > 0 {
			groups = append(groups, "\t"+strings.Join(g, "\n\t"))
		}
	}
	// cut the import declarations
	type span struct{ a, b int }
	var cuts []span
	for _, d := range f.Decls {
		if g, ok := importDecl(d); ok {
			cuts = append(cuts, span{fs.Position(g.Pos()).Offset, fs.Position(g.End()).Offset})
		}
	}
	var b bytes.Buffer
	nameEnd := fs.Position(f.Name.End()).Offset
	b.WriteString(text[:nameEnd])
	if len(groups) > 0 {
		b.WriteString("\n\nimport (\n" + strings.Join(groups, "\n\n") + "\n)\n")
	}
	at := nameEnd
	for _, c := range cuts {
		b.WriteString(text[at:c.a])
		at = c.b
	}
	b.WriteString(text[at:])
	out, err := format.Source(b.Bytes())
	if err != nil {
		fmt.Println("FORMAT", file, err)
		out = b.Bytes()
	}
	if err := os.WriteFile(file, out, 0o644); err != nil {
		panic(err)
	}
}

// copyFiles copies the files below from, without their ending .txt.
func copyFiles(from, to string) error {
	return filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, strings.TrimSuffix(strings.TrimPrefix(path, from), ".txt"))
		return os.WriteFile(target, text, 0o644)
	})
}
