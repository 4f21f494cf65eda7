package main

import (
	"go/ast"
	"go/token"
	"go/types"
)

// qualify returns the name of an entity as the file at pos writes it.
func (s *source) qualify(e *entity, pos token.Pos, seg *segment) string {
	if s.root && seg != nil && seg.room == e.room {
		return e.newName
	}
	p := pkgName(e.room)
	if seg != nil {
		if s.need[seg] == nil {
			s.need[seg] = map[string]bool{}
		}
		s.need[seg][e.room] = true
	}
	s.needFile[e.room] = true
	if sc := s.pkg.Types.Scope().Innermost(pos); sc != nil {
		if _, o := sc.LookupParent(p, pos); o != nil {
			if pn, ok := o.(*types.PkgName); !ok {
				if _, v := o.(*types.Var); v && o.Parent() != s.pkg.Types.Scope() && locals[p] != "" {
					if _, other := sc.LookupParent(locals[p], pos); other != nil {
						problem(pos, "%s: %s is taken", p, locals[p])
					}
					shadowing[key(o.Pos())] = locals[p]
				} else if o.Parent() != types.Universe && find(o) == nil || o.Parent() == types.Universe {
					problem(pos, "%s is shadowed by %v", p, o)
				}
			} else if pn.Imported().Path() != module+"/"+e.room {
				problem(pos, "%s is the import %s", p, pn.Imported().Path())
			}
		}
	}
	return p + "." + e.newName
}

func (s *source) uses(rewrite bool) {
	info := s.pkg.TypesInfo
	skip := map[*ast.Ident]bool{}
	inRoom := func(pos token.Pos) (string, *segment) {
		if !s.root {
			return "", nil
		}
		g := s.segAt(off(pos))
		if g == nil {
			return "", nil
		}
		return g.room, g
	}
	mark := func(e *entity, pos token.Pos) {
		r, _ := inRoom(pos)
		if r != e.room {
			e.cross = true
		}
	}
	var stack []ast.Node
	ast.Inspect(s.file, func(n ast.Node) bool {
		if n == nil {
			stack = stack[:len(stack)-1]
			return true
		}
		stack = append(stack, n)
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Recv == nil || !s.root {
				return true
			}
			e := entities[key(n.Name.Pos())]
			if e == nil || !e.asFunc || !rewrite {
				return true
			}
			// func (r T) name(params) -> func name(ctx, r T, params)
			recv := n.Recv.List[0]
			rname := "_"
			if len(recv.Names) > 0 {
				rname = recv.Names[0].Name
			}
			tid := recv.Type
			star := ""
			if st, ok := tid.(*ast.StarExpr); ok {
				tid, star = st.X, "*"
			}
			id := tid.(*ast.Ident)
			skip[id] = true
			_, seg := inRoom(n.Pos())
			tname := s.qualify(e.recvType, id.Pos(), seg)
			skip[n.Name] = true
			s.ownComment(n.Name, e, stack)
			s.replace(off(n.Recv.Pos()), off(n.Name.End()), e.newName)
			param := rname + " " + star + tname
			ps := n.Type.Params
			if e.ctxFirst {
				first := ps.List[0]
				if len(first.Names) > 1 {
					problem(n.Pos(), "ctx shares its type")
				}
				s.replace(off(first.End()), off(first.End()), ", "+param)
			} else {
				if len(ps.List) > 0 {
					param += ", "
				}
				s.replace(off(ps.Opening)+1, off(ps.Opening)+1, param)
			}
		case *ast.CallExpr:
			sel, ok := ast.Unparen(n.Fun).(*ast.SelectorExpr)
			if !ok {
				return true
			}
			e := find(info.Uses[sel.Sel])
			if e == nil || e.kind != "method" || !e.asFunc {
				return true
			}
			selection := info.Selections[sel]
			if selection == nil {
				problem(n.Pos(), "method expression %s", e.name)
				return true
			}
			skip[sel.Sel] = true
			mark(e, sel.Sel.Pos())
			_, seg := inRoom(sel.Pos())
			name := s.qualify(e, sel.Pos(), seg)
			if !rewrite {
				return true
			}
			// receiver: path through embedded fields
			suffix := ""
			t := selection.Recv()
			index := selection.Index()
			ptr := false
			if p, ok := t.Underlying().(*types.Pointer); ok {
				t, ptr = p.Elem(), true
			}
			for _, i := range index[:len(index)-1] {
				st := t.Underlying().(*types.Struct)
				f := st.Field(i)
				fn := f.Name()
				if fe := find(f); fe != nil {
					fn = fe.newName
				}
				suffix += "." + fn
				t = f.Type()
				ptr = false
				if p, ok := t.Underlying().(*types.Pointer); ok {
					t, ptr = p.Elem(), true
				}
			}
			_, wantPtr := e.obj.(*types.Func).Signature().Recv().Type().(*types.Pointer)
			prefix := ""
			switch {
			case wantPtr && !ptr:
				prefix = "&"
			case !wantPtr && ptr:
				prefix = "*"
			}
			// `X.name(` -> `name(prefix X suffix, `; with ctx first the receiver comes after it
			xs, xe := off(sel.X.Pos()), off(sel.X.End())
			if e.ctxFirst && len(n.Args) > 0 {
				// keep the text of X with its own edits: move it by a marker
				s.move(xs, xe, off(sel.End()), off(n.Args[0].End()), name, prefix, suffix)
			} else {
				sep := ""
				if len(n.Args) > 0 {
					sep = ", "
				}
				s.moves = append(s.moves, move{xs: xs, xe: xe, argEnd: off(n.Lparen) + 1, name: name + "(" + prefix, suffix: suffix + sep, plain: true})
			}
		case *ast.CompositeLit:
			if rewrite || len(n.Elts) == 0 {
				return true
			}
			if _, keyed := n.Elts[0].(*ast.KeyValueExpr); keyed {
				return true
			}
			t := info.TypeOf(n)
			if p, ok := t.Underlying().(*types.Pointer); ok {
				t = p.Elem()
			}
			if st, ok := t.Underlying().(*types.Struct); ok {
				for i := range st.NumFields() {
					if e := find(st.Field(i)); e != nil {
						mark(e, n.Pos())
					}
				}
			}
		case *ast.SelectorExpr:
			if id, ok := n.X.(*ast.Ident); ok {
				if pn, ok := info.Uses[id].(*types.PkgName); ok && pn.Imported().Path() == module {
					e := find(info.Uses[n.Sel])
					skip[n.Sel], skip[id] = true, true
					if e == nil {
						problem(n.Pos(), "unknown %s", n.Sel.Name)
						return true
					}
					mark(e, n.Pos())
					_, seg := inRoom(n.Pos())
					if text := s.qualify(e, n.Pos(), seg); rewrite {
						s.replace(off(n.Pos()), off(n.End()), text)
					}
				}
			}
		case *ast.Ident:
			if skip[n] {
				return true
			}
			if rewrite {
				lo := info.Defs[n]
				if lo == nil {
					lo = info.Uses[n]
				}
				if v, ok := lo.(*types.Var); ok && !v.IsField() {
					if text := shadowing[key(v.Pos())]; text != "" {
						s.replace(off(n.Pos()), off(n.End()), text)
						return true
					}
				}
			}
			if o := info.Defs[n]; o != nil && s.root {
				if rewrite {
					s.ownComment(n, find(o), stack)
				}
				if v, ok := o.(*types.Var); ok && v.IsField() && v.Embedded() {
					// handled as a use of the type
				} else if e := find(o); e != nil {
					if rewrite && e.newName != e.name {
						s.replace(off(n.Pos()), off(n.End()), e.newName)
					}
					return true
				}
			}
			o := info.Uses[n]
			if o == nil {
				return true
			}
			e := find(o)
			if e == nil {
				return true
			}
			mark(e, n.Pos())
			if !rewrite && s.root && !s.external && e.kind != "field" && e.kind != "method" {
				_, seg := inRoom(n.Pos())
				_ = s.qualify(e, n.Pos(), seg)
			}
			if e.kind == "method" && e.asFunc {
				parent := stack[len(stack)-2]
				if sel, ok := parent.(*ast.SelectorExpr); ok && sel.Sel == n {
					problem(n.Pos(), "method value %s of %s", e.name, e.recvType.name)
				}
				return true
			}
			if !rewrite {
				return true
			}
			if e.kind == "field" || e.kind == "method" {
				if e.newName != e.name {
					s.replace(off(n.Pos()), off(n.End()), e.newName)
				}
				return true
			}
			// package-level; generic or not
			if s.root && !s.external {
				_, seg := inRoom(n.Pos())
				t := s.qualify(e, n.Pos(), seg)
				if t != n.Name {
					s.replace(off(n.Pos()), off(n.End()), t)
				}
			} else if e.newName != e.name {
				s.replace(off(n.Pos()), off(n.End()), e.newName)
			}
		}
		return true
	})
}

// move records a call whose receiver becomes the second argument.
func (s *source) move(xs, xe, selEnd, argEnd int, name, prefix, suffix string) {
	// edits: name at xs, cut X, insert after the first argument. X's own edits are applied when it is inserted.
	s.moves = append(s.moves, move{xs, xe, selEnd, argEnd, name, prefix, suffix, false})
}

type move struct {
	xs, xe, selEnd, argEnd int
	name, prefix, suffix   string
	plain                  bool // name + X + suffix, with no first argument before X
}
