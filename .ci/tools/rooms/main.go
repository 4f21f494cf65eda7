// Command rooms divides the root package into a package for each verb. rooms.txt says which file or declaration goes where:
//
//	FILE ROOM     the declarations of a file
//	=NAME ROOM    one declaration, in place of its file's room; methods are written as Type.Method
//	~NAME NEW     the name of a declaration in its room
//	!NAME NEW     the name of local variables that hide the package NAME
//
// A method whose room is not the one of its receiver's type becomes a function, with the receiver as its
// first parameter after a context. What other rooms use is exported. Comments follow.
//
//	go run . -dir ROOT -check    # who uses whom; uses of rooms that stand later in order.txt
//	go run . -dir ROOT           # divide
//
// Files with the ending .txt below files are written to ROOT afterwards, without that ending.
package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"unicode"

	"golang.org/x/tools/go/packages"
)

const module = "github.com/gantry-mirror/gantry"

type entity struct {
	key      string // pos key of the name
	name     string // original
	room     string
	kind     string // func, type, value, method, field
	recvType *entity
	decl     *segment
	test     bool
	// cross: used from another room
	cross    bool
	asFunc   bool // a method that becomes a function
	newName  string
	obj      types.Object
	ctxFirst bool
}

type segment struct {
	start, end int // bytes in file
	room       string
	label      string
}

type source struct {
	name     string // base name
	path     string
	text     []byte
	file     *ast.File
	pkg      *packages.Package
	segs     []*segment
	root     bool // of the root package (also its tests)
	external bool // package gantry_test
	edits    []edit
	moves    []move
	need     map[*segment]map[string]bool // rooms imported by a segment
	needFile map[string]bool
}

type edit struct {
	start, end int
	text       string
}

var (
	dir       = flag.String("dir", "", "the folder of the root package, as an absolute path")
	roomsFile = flag.String("rooms", "rooms.txt", "the file that assigns rooms")
	orderFile = flag.String("order", "order.txt", "the rooms, from the bottom to the top")
	dry       = flag.Bool("n", false, "change nothing")
	onlyCheck = flag.Bool("check", false, "only print how rooms use each other")
	fset      = token.NewFileSet()
	entities  = map[string]*entity{}
	byFile    = map[string]string{}
	byDecl    = map[string]string{}
	renames   = map[string]string{}
	locals    = map[string]string{}
	shadowing = map[string]string{} // key of a local variable: its new name
	sources   = map[string]*source{}
	problems  int
)

func problem(pos token.Pos, f string, args ...any) {
	problems++
	p := fset.Position(pos)
	fmt.Printf("PROBLEM %s:%d: %s\n", filepath.Base(p.Filename), p.Line, fmt.Sprintf(f, args...))
}

func readRooms() {
	f, err := os.Open(*roomsFile)
	if err != nil {
		panic(err)
	}
	s := bufio.NewScanner(f)
	for s.Scan() {
		w := strings.Fields(s.Text())
		if len(w) < 2 || w[0][0] == '#' {
			continue
		}
		switch w[0][0] {
		case '=':
			byDecl[w[0][1:]] = w[1]
		case '!':
			locals[w[0][1:]] = w[1]
		case '~':
			renames[w[0][1:]] = w[1]
		default:
			byFile[w[0]] = w[1]
		}
	}
}

func key(p token.Pos) string {
	q := fset.Position(p)
	return fmt.Sprintf("%s:%d:%d", q.Filename, q.Line, q.Column)
}

func off(p token.Pos) int { return fset.Position(p).Offset }

func recvName(d *ast.FuncDecl) string {
	t := d.Recv.List[0].Type
	if s, ok := t.(*ast.StarExpr); ok {
		t = s.X
	}
	if x, ok := t.(*ast.IndexExpr); ok {
		t = x.X
	}
	return t.(*ast.Ident).Name
}

func roomOf(file, name string) string {
	if r := byDecl[name]; r != "" {
		return r
	}
	if r := byFile[file]; r != "" {
		return r
	}
	if f, ok := strings.CutSuffix(file, "_test.go"); ok {
		for _, suffix := range []string{"", "_unix"} {
			if r := byFile[strings.TrimSuffix(f, suffix)+".go"]; r != "" {
				return r
			}
		}
	}
	return ""
}

func export(s string) string {
	r := []rune(s)
	r[0] = unicode.ToUpper(r[0])
	return string(r)
}

func pkgName(room string) string { return path.Base(room) }

func main() {
	flag.Parse()
	readRooms()
	if *onlyCheck {
		if err := check(*dir); err != nil {
			panic(err)
		}
		return
	}
	cfg := &packages.Config{Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports | packages.NeedDeps | packages.NeedCompiledGoFiles, Dir: *dir, Tests: true, Fset: fset,
		ParseFile: func(fset *token.FileSet, filename string, src []byte) (*ast.File, error) {
			mode := parser.SkipObjectResolution
			if strings.HasPrefix(filename, *dir) {
				mode |= parser.ParseComments
			}
			f, err := parser.ParseFile(fset, filename, src, mode)
			if !strings.HasPrefix(filename, *dir) && f != nil { // bodies of others are not needed
				for _, d := range f.Decls {
					if fd, ok := d.(*ast.FuncDecl); ok {
						fd.Body = nil
					}
				}
			}
			return f, err
		}}
	pkgs, err := packages.Load(cfg, ".", "./cmd/...")
	if err != nil {
		panic(err)
	}
	var use []*packages.Package
	for _, p := range pkgs {
		for _, e := range p.Errors {
			if strings.HasPrefix(p.PkgPath, module) && !strings.HasSuffix(p.ID, ".test") {
				fmt.Println("LOAD", p.ID, e)
			}
		}
		use = append(use, p)
	}
	// The richest variant of each file wins: those with tests come last.
	sort.SliceStable(use, func(i, j int) bool { return len(use[i].Syntax) < len(use[j].Syntax) })
	for _, p := range use {
		if strings.HasSuffix(p.ID, ".test") {
			continue
		}
		for _, f := range p.Syntax {
			name := fset.Position(f.Package).Filename
			if !strings.HasPrefix(name, *dir) {
				continue
			}
			text, err := os.ReadFile(name)
			if err != nil {
				panic(err)
			}
			s := &source{name: filepath.Base(name), path: name, text: text, file: f, pkg: p, need: map[*segment]map[string]bool{}, needFile: map[string]bool{}}
			s.root = filepath.Dir(name) == *dir
			s.external = strings.HasSuffix(f.Name.Name, "_test")
			sources[name] = s
		}
	}
	for _, s := range sources {
		if s.root {
			s.declare()
		}
	}
	// methods: receivers
	for _, e := range entities {
		if e.kind == "method" && e.recvType == nil {
			panic(e.name)
		}
		if e.kind == "method" && e.recvType.room != e.room {
			e.asFunc = true
		}
	}
	// find cross uses
	for _, s := range sources {
		s.uses(false)
	}
	// names
	taken := map[string]*entity{}
	var es []*entity
	for _, e := range entities {
		es = append(es, e)
	}
	sort.Slice(es, func(i, j int) bool { return es[i].key < es[j].key })
	for _, e := range es {
		e.newName = e.name
		full := e.name
		if e.kind == "method" {
			full = e.recvType.name + "." + e.name
		}
		if r, ok := renames[full]; ok && e.kind != "field" {
			e.newName = r
			if e.cross && !ast.IsExported(r) {
				e.newName = export(r)
			}
		} else if e.cross && !ast.IsExported(e.name) {
			e.newName = export(e.name)
		} else if e.asFunc && !e.cross && ast.IsExported(e.name) && !e.test {
			e.newName = e.name
		}
		if e.kind == "field" || e.kind == "method" && !e.asFunc || e.name == "_" {
			continue
		}
		k := e.room + "." + e.newName
		if o := taken[k]; o != nil && o != e {
			problem(e.obj.Pos(), "%s in %s collides with %s (%s and %s)", e.newName, e.room, key(o.obj.Pos()), full, o.name)
		}
		taken[k] = e
	}
	// embedded fields follow their types
	for _, e := range es {
		if e.kind == "field" {
			if v, ok := e.obj.(*types.Var); ok && v.Embedded() {
				t := v.Type()
				if p, ok := t.(*types.Pointer); ok {
					t = p.Elem()
				}
				if n, ok := t.(*types.Named); ok {
					if te := entities[key(n.Obj().Pos())]; te != nil {
						e.newName = te.newName
					}
				}
			}
		}
	}
	nameComments(es)
	for _, s := range sources {
		s.comments()
	}
	for _, s := range sources {
		s.need, s.needFile = map[*segment]map[string]bool{}, map[string]bool{}
		s.uses(true)
	}
	fmt.Println("problems:", problems)
	if *dry {
		return
	}
	for _, s := range sources {
		s.write()
	}
	if err := copyFiles("files", *dir); err != nil {
		panic(err)
	}
}

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
