package main

import (
	"go/ast"
	"regexp"
	"strings"
)

// comments renames what comments of a file call by an old name.
func (s *source) comments() {
	if !s.root {
		return
	}
	for _, g := range s.file.Comments {
		seg := s.segAt(off(g.Pos()))
		if seg == nil {
			continue
		}
		for _, c := range g.List {
			text := commentWord.ReplaceAllStringFunc(c.Text, func(w string) string {
				if r := commentNames[seg.room][w]; r != "" {
					return r
				}
				return w
			})
			if text != c.Text {
				s.replace(off(c.Pos()), off(c.End()), text)
			}
		}
	}
}

var (
	commentWord  = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)?`)
	commentNames = map[string]map[string]string{} // by room and old name
)

// nameComments decides what comments of a room call others.
func nameComments(es []*entity) {
	rooms := map[string]bool{}
	for _, e := range es {
		rooms[e.room] = true
	}
	for r := range rooms {
		m := map[string]string{}
		for _, e := range es {
			if e.kind == "field" || e.kind == "method" && !e.asFunc && e.newName == e.name {
				continue
			}
			name := e.newName
			if e.room != r {
				name = pkgName(e.room) + "." + name
			}
			// Words of plain English are not names.
			if name != e.name && (strings.ToLower(e.name) != e.name && (ast.IsExported(e.name) && strings.ToLower(e.name[1:]) != e.name[1:] || !ast.IsExported(e.name)) || e.room == r && e.kind != "method" && e.decl != nil && false) {
				m[e.name] = name
			}
			if e.kind == "method" {
				m[e.recvType.name+"."+e.name] = name
				if !e.asFunc {
					m[e.recvType.name+"."+e.name] = e.recvType.newName + "." + e.newName
				}
			}
		}
		for _, e := range es {
			if e.kind == "field" && e.recvType != nil {
				m[e.recvType.name+"."+e.name] = e.recvType.newName + "." + e.newName
			}
		}
		commentNames[r] = m
	}
}

// ownComment renames a declared name in its own doc comment.
func (s *source) ownComment(id *ast.Ident, e *entity, stack []ast.Node) {
	if e == nil || e.newName == e.name {
		return
	}
	var doc *ast.CommentGroup
	for i := len(stack) - 1; i >= 0 && doc == nil; i-- {
		switch d := stack[i].(type) {
		case *ast.FuncDecl:
			doc = d.Doc
			i = -1
		case *ast.TypeSpec:
			doc = d.Doc
		case *ast.ValueSpec:
			doc = d.Doc
		case *ast.Field:
			doc = d.Doc
			i = -1
		case *ast.GenDecl:
			doc = d.Doc
			i = -1
		}
	}
	if doc == nil || len(doc.List) == 0 {
		return
	}
	c := doc.List[0]
	re := regexp.MustCompile(`\b` + e.name + `\b`)
	loc := re.FindStringIndex(c.Text)
	if loc == nil || loc[0] > 8 {
		return
	}
	for i, x := range s.edits { // changed by comments
		if x.start == off(c.Pos()) && x.end == off(c.End()) {
			if l := re.FindStringIndex(x.text); l != nil && l[0] <= 8 {
				s.edits[i].text = x.text[:l[0]] + e.newName + x.text[l[1]:]
			}
			return
		}
	}
	s.replace(off(c.Pos()), off(c.End()), c.Text[:loc[0]]+e.newName+c.Text[loc[1]:])
}
