package main

import (
	"bytes"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// declare finds the entities of a root file.
func (s *source) declare() {
	info := s.pkg.TypesInfo
	last := 0
	var segs []*segment
	headEnd := off(s.file.Name.End())
	for _, d := range s.file.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			headEnd = off(g.End())
			continue
		}
		label, test := "", strings.HasSuffix(s.name, "_test.go")
		var names []*ast.Ident
		var kind string
		switch d := d.(type) {
		case *ast.FuncDecl:
			names, kind, label = []*ast.Ident{d.Name}, "func", d.Name.Name
			if d.Recv != nil {
				kind, label = "method", recvName(d)+"."+d.Name.Name
			}
		case *ast.GenDecl:
			kind = "value"
			for _, sp := range d.Specs {
				switch sp := sp.(type) {
				case *ast.TypeSpec:
					kind = "type"
					names = append(names, sp.Name)
				case *ast.ValueSpec:
					names = append(names, sp.Names...)
				}
			}
			label = names[0].Name
		}
		room := roomOf(s.name, label)
		if room == "" {
			problem(d.Pos(), "no room for %s", label)
		}
		start := max(last, headEnd)
		seg := &segment{start: start, end: lineEnd(s.text, off(d.End())), room: room, label: label}
		last = seg.end
		segs = append(segs, seg)
		for _, n := range names {
			obj := info.Defs[n]
			if obj == nil {
				continue
			}
			e := &entity{key: key(n.Pos()), name: n.Name, room: room, kind: kind, decl: seg, obj: obj, test: test}
			if f, ok := obj.(*types.Func); ok {
				sig := f.Signature()
				e.ctxFirst = sig.Params().Len() > 0 && sig.Params().At(0).Type().String() == "context.Context"
				if r := sig.Recv(); r != nil {
					t := r.Type()
					if p, ok := t.(*types.Pointer); ok {
						t = p.Elem()
					}
					e.recvType = nil
					pendingRecv = append(pendingRecv, pending{e, key(t.(*types.Named).Obj().Pos())})
				}
			}
			entities[e.key] = e
			if n.Name == "init" && kind == "func" {
				problem(n.Pos(), "init")
			}
		}
		// fields
		ast.Inspect(d, func(x ast.Node) bool {
			st, ok := x.(*ast.StructType)
			if !ok {
				return true
			}
			for _, f := range st.Fields.List {
				ids := f.Names
				if len(ids) == 0 {
					t := f.Type
					if p, ok := t.(*ast.StarExpr); ok {
						t = p.X
					}
					switch t := t.(type) {
					case *ast.Ident:
						ids = []*ast.Ident{t}
					case *ast.SelectorExpr:
						ids = []*ast.Ident{t.Sel}
					}
				}
				for _, n := range ids {
					if obj := info.Defs[n]; obj != nil {
						k := "F" + key(n.Pos())
						entities[k] = &entity{key: k, name: n.Name, room: room, kind: "field", decl: seg, obj: obj, test: test}
					}
				}
			}
			return true
		})
		// methods of interfaces that are not exported
		ast.Inspect(d, func(x ast.Node) bool {
			it, ok := x.(*ast.InterfaceType)
			if !ok {
				return true
			}
			for _, f := range it.Methods.List {
				for _, n := range f.Names {
					if obj := info.Defs[n]; obj != nil {
						k := key(n.Pos())
						entities[k] = &entity{key: k, name: n.Name, room: room, kind: "field", decl: seg, obj: obj, test: test}
					}
				}
			}
			return true
		})
	}
	if len(segs) > 0 {
		segs[len(segs)-1].end = len(s.text)
	}
	s.segs = segs
	for _, p := range pendingRecv {
		if e := entities[p.recv]; e != nil {
			p.e.recvType = e
		} else {
			left = append(left, p)
		}
	}
	pendingRecv, left = left, nil
}

type pending struct {
	e    *entity
	recv string
}

var pendingRecv, left []pending

func lineEnd(text []byte, i int) int {
	if j := bytes.IndexByte(text[i:], '\n'); j >= 0 {
		return i + j + 1
	}
	return len(text)
}

func (s *source) segAt(o int) *segment {
	for _, g := range s.segs {
		if o >= g.start && o < g.end {
			return g
		}
	}
	return nil
}

// find returns the entity of an object.
func find(o types.Object) *entity {
	if o == nil || !o.Pos().IsValid() {
		return nil
	}
	if v, ok := o.(*types.Var); ok && v.IsField() {
		return entities["F"+key(v.Origin().Pos())]
	}
	if f, ok := o.(*types.Func); ok {
		return entities[key(f.Origin().Pos())]
	}
	return entities[key(o.Pos())]
}

func (s *source) replace(start, end int, text string) {
	s.edits = append(s.edits, edit{start, end, text})
}
