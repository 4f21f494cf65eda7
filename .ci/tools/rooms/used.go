package main

import (
	"go/ast"
	"go/token"
)

func importDecl(d ast.Decl) (*ast.GenDecl, bool) {
	g, ok := d.(*ast.GenDecl)
	return g, ok && g.Tok == token.IMPORT
}

func usedNames(f *ast.File) map[string]bool {
	used := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := s.X.(*ast.Ident); ok {
				used[id.Name] = true
			}
		}
		return true
	})
	return used
}
