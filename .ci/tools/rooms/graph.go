package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"

	"golang.org/x/tools/go/packages"
)

// A node is a declaration of the root package, and what it uses.
type node struct {
	name, file string
	lines      int
	uses       map[*node]bool
	decl       ast.Node
}

// check prints which room uses which, and what would make a room import one above it.
func check(dir string) error {
	cfg := &packages.Config{Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports | packages.NeedDeps, Dir: dir}
	pkgs, err := packages.Load(cfg, ".")
	if err != nil {
		return err
	}
	p := pkgs[0]
	if len(p.Errors) > 0 {
		return p.Errors[0]
	}
	byObj := map[types.Object]*node{}
	var nodes []*node
	add := func(name string, d ast.Node, objs ...types.Object) {
		n := &node{name: name, file: filepath.Base(p.Fset.Position(d.Pos()).Filename), uses: map[*node]bool{}, decl: d}
		n.lines = p.Fset.Position(d.End()).Line - p.Fset.Position(d.Pos()).Line + 1
		nodes = append(nodes, n)
		for _, o := range objs {
			if o != nil {
				byObj[o] = n
			}
		}
	}
	for _, f := range p.Syntax {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				name := d.Name.Name
				if d.Recv != nil {
					name = recvName(d) + "." + name
				}
				add(name, d, p.TypesInfo.Defs[d.Name])
			case *ast.GenDecl:
				if d.Tok == token.IMPORT {
					continue
				}
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						add(s.Name.Name, s, p.TypesInfo.Defs[s.Name])
					case *ast.ValueSpec:
						var objs []types.Object
						for _, n := range s.Names {
							objs = append(objs, p.TypesInfo.Defs[n])
						}
						add(s.Names[0].Name, s, objs...)
					}
				}
			}
		}
	}
	for _, n := range nodes {
		ast.Inspect(n.decl, func(x ast.Node) bool {
			id, ok := x.(*ast.Ident)
			if !ok {
				return true
			}
			o := p.TypesInfo.Uses[id]
			if o == nil || o.Pkg() != p.Types {
				return true
			}
			if m, ok := byObj[o]; ok && m != n {
				n.uses[m] = true
			}
			return true
		})
	}
	checkRooms(nodes)
	return nil
}
