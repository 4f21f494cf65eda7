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
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path"
	"path/filepath"
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
